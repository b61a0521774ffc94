"""Whether one certificate has room for the names of all brokers of a pool, present and future."""

from collections.abc import Collection
from dataclasses import dataclass

from kafka_quorum.model.pools import lowest_free, wanted_names
from kit.pki.certificate import NAMES_MAX, NAMES_MAX_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The brokers of a pool, as far as its certificate is concerned.

    `recorded` are their node ids; those of brokers that leave come last. `taken` are ids of others. `hosts` are those
    of the listeners with TLS in the last accepted spec; None if there is no such spec.
    """

    recorded: tuple[int, ...] = ()
    taken: frozenset[int] = frozenset()
    hosts: frozenset[str] | None = None

    def certified(self, exact: Collection[int], first: int, replicas: int, hosts: Collection[str]) -> tuple[int, ...]:
        """The node ids whose names must fit together, for a spec with exact ids, or with a number from the first one.

        Brokers that leave have names until they are gone. A spec that adds neither brokers nor hosts is judged without
        these names: otherwise a pool that has grown too large could not be made smaller.
        """
        taken = self.taken | set(self.recorded)
        coming = exact or lowest_free(first, replicas - len(self.recorded), taken)
        added = set(coming) - set(self.recorded)
        if added or not set(hosts) <= (set(hosts) if self.hosts is None else self.hosts):
            return tuple(sorted({*self.recorded, *added}))
        return tuple(sorted(exact or self.recorded[:replicas]))


def why_no_room(namespace: str, pool: str, hosts: Collection[str], ids: Collection[int]) -> str:
    """Why one certificate cannot have the names of these brokers, with the way out; empty if it can."""
    names = wanted_names(namespace, pool, hosts, ids)
    chars = sum(map(len, names))
    if len(names) >= NAMES_MAX:
        much = f"{len(names)} names, and fewer than {NAMES_MAX} have room in one"
    elif chars > NAMES_MAX_CHARS:
        much = f"{chars} characters, and {NAMES_MAX_CHARS} have room in one"
    else:
        return ""
    way = "use shorter hosts, fewer listeners with {id}, or fewer brokers (those that leave count until they are gone)"
    return f"the names of {len(ids)} brokers in the certificate of this pool would be {much}: {way}"
