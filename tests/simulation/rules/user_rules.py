"""Rule 13 for the brokers' users: those of others stay as they are, and passwords are in Secrets only."""

import base64
from collections.abc import Callable, Iterator
from typing import Final

from tests.simulation.model.happened import ScramSent
from tests.simulation.model.kubernetes.kube_model import Written, seen
from tests.simulation.model.world import World

from kafka_quorum.model.names import USED_BY
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan
from kafka_quorum.model.scram import ScramCredential
from kit.kube.secrets import SECRETS

_LEAST: Final = 8
"""The shortest text that is looked for: a shorter one may be anywhere by chance."""

_PUBLIC = frozenset({"ca.crt", "tls.crt"})
"""Keys of certificates, which everybody may see."""


class UserRules:
    """What every request, every write and every plan must keep."""

    def __init__(self, world: World, fail: Callable[[str, str], None]) -> None:
        """Listen to each write."""
        self._world, self._fail = world, fail
        self._sent: set[bytes] = set()
        """The salts of all credentials that operators have sent."""
        self._words: set[str] = set()
        world.kube.watchers.append(self._written)

    def sent(self, event: ScramSent) -> None:
        """A user of others is not changed."""
        change = event.change
        process = self._world.kraft.at(event.endpoint.host, event.endpoint.port)
        held = () if process is None else process.disk.image.users
        for one in held:
            if one.user == change.user and one.mechanism is change.mechanism and one.salt not in self._sent:
                self._fail("13, user", f"user {change.user} of somebody else is changed")
        if isinstance(change, ScramCredential):
            self._sent.add(change.salt)
            self._words |= {base64.b64encode(each).decode() for each in (change.salt, change.salted_password)}

    def _written(self, written: Written) -> None:
        if written.after is None:
            return
        if written.key[0] != SECRETS.plural:
            self._search(written.after.decode("latin-1"), f"{written.key[0]} {written.key[2]}")
            return
        body = seen(written.after) or {}
        if USED_BY in ((body.get("metadata") or {}).get("annotations") or {}):
            data = body.get("data") or {}
            self._words.update(_texts({key: value for key, value in data.items() if key not in _PUBLIC}))

    def planned(self, plan: Plan | None) -> None:
        """No plan has a password."""
        if plan is not None and self._words:
            self._search(repr(plan), "a plan")

    def saw(self, observed: Observed) -> None:
        """No look has a password."""
        if observed.scram is not None:
            self._search(repr(observed), "a look")

    def _search(self, text: str, where: str) -> None:
        if any(word in text for word in self._words):
            self._fail("13, secret", f"{where} has a password")


def _texts(data: dict[str, str]) -> Iterator[str]:
    for value in data.values():
        text = base64.b64decode(value).decode("latin-1")
        if len(text) >= _LEAST:
            yield text
            yield value
