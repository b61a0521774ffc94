"""What a status must never contain: the simulation's rules for every status, and additions from the spec. Pure."""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from tests.status.contradictions import contradictions as of_status

Json: TypeAlias = dict[str, Any]

_VOTES: Final = ("Leader", "Voter")


def contradictions(resource: Json) -> tuple[str, ...]:
    """Each contradiction of a resource's status as one sentence; none if the resource has no status yet."""
    status: Json = resource.get("status") or {}
    if not status.get("conditions"):
        return ()
    return (*of_status(status), *_generations(resource, status), *_ready(resource, status), *_rows(status))


def _generations(resource: Json, status: Json) -> Iterator[str]:
    """A status names an existing generation."""
    generation, judged = int(resource["metadata"].get("generation", 0)), int(status.get("observedGeneration") or 0)
    if judged > generation:
        yield f"the status is of a generation that does not exist: {judged} of {generation}"


def _ready(resource: Json, status: Json) -> Iterator[str]:
    """Compares the claim of Ready with the spec and the rows of the same status."""
    rows = {row["type"]: row for row in status["conditions"]}
    if rows.get("Ready", {}).get("status") != "True":
        return
    voters = (status.get("quorum") or {}).get("voters")
    current = status.get("observedGeneration") == resource["metadata"].get("generation")
    wanted = resource["spec"].get("controllers", {}).get("replicas")
    if current and wanted is not None and voters != wanted:
        yield f"Ready with other voters than the spec asks for: {voters}, not {wanted}"
    for row in status.get("controllers") or ():
        if row.get("role") not in _VOTES or not row.get("caughtUp"):
            yield f"Ready with a controller that is no caught-up voter: {row}"
    if any(row.get("kind") in ("Voter", "ForeignVoter") for row in status.get("staleReplicas") or ()):
        yield f"Ready with a stale voter: {status['staleReplicas']}"


def _rows(status: Json) -> Iterator[str]:
    """Compares the rows of the controllers with the quorum's."""
    leader = (status.get("quorum") or {}).get("leaderID")
    leading = [row["nodeID"] for row in status.get("controllers") or () if row.get("role") == "Leader"]
    if len(leading) > 1:
        yield f"two controllers are the leader: {leading}"
    if leading and leader is not None and leading != [leader]:
        yield f"the leader's row is another's: {leading[0]}, and quorum.leaderID is {leader}"
