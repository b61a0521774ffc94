"""Stages of a change of listeners or of authorities, on ground truth: none begins before the one before it is complete.

The record in the ConfigMap says which stage the operator has decided on. Whether that was right, the processes say: by
which listeners they have, and by what they have loaded.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from tests.simulation.model.happened import Fail
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.tls import trust_in, why_refused
from tests.simulation.model.world import World
from tests.simulation.rules.glances import RECENT_S

from kit.kube.protocol import Json
from kit.pki.certificate import Certificate

MIGRATION: Final = "7, migration"
LISTENERS: Final = "Listeners"
AUTHORITY: Final = "Authority"
_NONE: Final = ""
Judge: TypeAlias = Callable[[Process, Json], bool]
"""Whether a controller has what a stage needs, by the stored change."""


class StageRules:
    """Judges each step from one stage to another."""

    def __init__(self, world: World, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`."""
        self._world, self._fail = world, fail

    def moved(self, before: Json, after: Json) -> None:
        """The operator wrote another stage into a record, or none any more."""
        was, is_ = before.get("migration") or {}, after.get("migration") or {}
        kind = (was or is_).get("kind")
        step = was.get("stage", _NONE), is_.get("stage", _NONE)
        judge = _NEEDS.get((kind, *step))
        change = (is_ or was).get("listeners" if kind == LISTENERS else "trust")
        if judge is None or not change:
            return
        wrong = [one.meta.node_id for one in self._controllers(after) if not judge(one, change)]
        if wrong:
            text = f"a change of {kind} goes from {step[0] or 'its beginning'} to {step[1] or 'its end'}"
            self._fail(MIGRATION, f"{text}, and controllers {wrong} do not have what that needs")

    def _controllers(self, record: Json) -> list[Process]:
        """Those that a look can have shown."""
        now_s = self._world.clock.elapsed_s
        return [
            one
            for one in self._world.kraft.processes
            if one.cluster_id == record["cluster_id"] and not one.broker and now_s - one.started_s > RECENT_S
        ]


def _names(one: Process) -> list[str]:
    return [name for name, _ in one.listens]


def _has_old_alone(one: Process, change: Json) -> bool:
    return _names(one) == [change["old"]["name"]]


def _has_both(one: Process, change: Json) -> bool:
    return set(_names(one)) == {change["old"]["name"], change["new"]["name"]}


def _uses_old(one: Process, change: Json) -> bool:
    return bool(one.listener == change["old"]["name"])


def _prefers_new(one: Process, change: Json) -> bool:
    return _has_both(one, change) and one.listener == change["new"]["name"]


def _has_new_alone(one: Process, change: Json) -> bool:
    return _names(one) == [change["new"]["name"]]


def _trusts_both(one: Process, change: Json) -> bool:
    wanted = (*trust_in(change["before"]).authorities, *trust_in(change["after"]).authorities)
    return one.tls is not None and set(wanted) <= set(one.tls.trust.authorities)


def _shows_new(one: Process, change: Json) -> bool:
    return one.tls is not None and all(_by(each, change["after"]) for each in (one.tls.served, one.tls.shown))


def _trusts_new_alone(one: Process, change: Json) -> bool:
    return one.tls is not None and set(one.tls.trust.authorities) == set(trust_in(change["after"]).authorities)


def _by(leaf: Certificate, trust: str) -> bool:
    return not why_refused(leaf, trust_in(trust), leaf.not_before)


_NEEDS: Final[dict[tuple[object, str, str], Judge]] = {
    (LISTENERS, _NONE, "Both"): _has_old_alone,
    (LISTENERS, "Both", "Brokers"): _has_both,
    (LISTENERS, "Brokers", "Prefer"): _has_both,
    (LISTENERS, "Prefer", "OnlyNew"): _prefers_new,
    (LISTENERS, "OnlyNew", _NONE): _has_new_alone,
    (LISTENERS, "Both", _NONE): _uses_old,
    (LISTENERS, "Brokers", "Both"): _uses_old,
    (LISTENERS, "Prefer", "Brokers"): _has_both,
    (AUTHORITY, "TrustBoth", "NewLeafs"): _trusts_both,
    (AUTHORITY, "NewLeafs", "DropOld"): _shows_new,
    (AUTHORITY, "DropOld", _NONE): _trusts_new_alone,
}
"""By kind, and the stages before and after a step."""
