"""What a rewrite is allowed to do: the disk that a person looked at and approved, and what is to be written on it.

A plan names the state of the disk exactly. If the disk is in any other state, nothing is written.
"""

from dataclasses import dataclass
from typing import Final

from kraftlog.disk.control import voters_value
from kraftlog.disk.errors import DiskError
from kraftlog.disk.form import FormError, from_json
from kraftlog.disk.identity import is_uuid
from kraftlog.disk.model import BEHIND_MAX, DiskLook, Endpoint, Voter
from kraftlog.values import MalformedError

PLAN_SCHEMA: Final = 1
EPOCH_GAP: Final = 1000
"""Old disks may return while the survivor is down, and elect leaders among themselves. With this distance their epochs
stay below the survivor's, so they give way when it returns. A distance of 1 lets both logs go on in the same epochs."""
EPOCH_LATER_MAX: Final = EPOCH_GAP // 2
"""So many epochs above the plan's the disk's `quorum-state` may be: its controller may have asked for votes after the
plan was fixed, in a pod that came late.

It is safe, because the log decides. If the survivor had led in such an epoch, its log would have the record with which
every leader begins, and would not end where the plan says. It may have voted for another controller. That one could
commit records with this vote only if the survivor fetched them, and then its log would end elsewhere as well. If it led
with other voters, which the plan has given up, it is like any other old leader: its epoch stays at least half of
`EPOCH_GAP` below the one that is written, so it gives way. When Kafka starts, it takes the higher one of the epochs of
`quorum-state` and of the last batch, and a vote in a lower epoch does not count (`QuorumState.initialize`)."""
EPOCH_MAX: Final = 2**31 - 1
KRAFT_VERSION_MAX: Final = 1
VOTERS_MAX: Final = 100
RECORDS_MAX_BYTES: Final = 1 << 20
"""Kafka reads batches of up to 8 MiB (`KafkaRaftClient.MAX_BATCH_SIZE_BYTES`)."""
_PORT_MAX = 65_535
_INT32_MAX = 2**31 - 1

STATIC: Final = (
    "its voters are those of controller.quorum.voters (kraft.version 0), not of a record, so a new voter set in the log"
    " would do nothing. Copy every disk, make the disks of the other voters unmountable, and start this controller with"
    " itself as the only entry of controller.quorum.voters. If it leads and accepts a write, give the others new disks"
)
"""Why a static quorum is not rewritten, and the way out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """A checkpoint by its name: where it ends, and in which leader epoch."""

    offset: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePlan:
    """One disk as it must be, and the voter that its log gets.

    `last_epoch`, `end_offset`, `checkpoint` and `voters` are those of its look; `voters` is empty if it has no set, and
    None stands for those of the disk, whichever they are: its end says already which log it is.
    `leader_epoch` is the highest that any disk has seen, that of this disk's `quorum-state` included; a later one there
    is accepted up to `EPOCH_LATER_MAX`. `cut_damage`: everything behind damage in the last segment may be cut, valid
    batches too.
    """

    schema: int
    cluster_id: str
    node_id: int
    directory_id: str
    last_epoch: int
    end_offset: int
    checkpoint: At | None
    voters: tuple[Voter, ...] | None
    leader_epoch: int
    endpoints: tuple[Endpoint, ...]
    cut_damage: bool

    @property
    def epoch(self) -> int:
        """The leader epoch of the new batch."""
        return max(self.last_epoch, self.leader_epoch) + EPOCH_GAP

    @property
    def survivor(self) -> Voter:
        """The only voter of the new set."""
        return Voter(
            node_id=self.node_id,
            directory_id=self.directory_id,
            endpoints=self.endpoints,
            min_kraft_version=0,
            max_kraft_version=KRAFT_VERSION_MAX,
        )

    @property
    def voter_sets(self) -> tuple[tuple[Voter, ...], ...]:
        """The sets from the voters of the disk to the survivor alone, each one voter away from the one before.

        Kafka 3.9.0 does not start if two sets in a row differ by more. Later releases only log it (Kafka's
        `VoterSetHistory.addAt`, `VoterSet.hasOverlappingMajority`). The survivor in place of another disk of its own
        controller is one change. The other voters keep their endpoints.
        """
        survivor = self.survivor
        found: list[tuple[Voter, ...]] = []
        others = tuple(each for each in self.voters or () if each.node_id != self.node_id)
        if others and not any(_key(each) == _key(survivor) for each in self.voters or ()):
            found.append((survivor, *others))
        found += [(survivor, *others[:left]) for left in reversed(range(len(others)))]
        return tuple(found) or ((survivor,),)

    @property
    def last_offset(self) -> int:
        """The offset of the record that has the survivor alone."""
        return self.end_offset + len(self.voter_sets) - 1

    @property
    def records(self) -> tuple[bytes, ...]:
        """The values of the VotersRecords that are written (MalformedError: a voter that does not fit)."""
        return tuple(voters_value(each) for each in self.voter_sets)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPlan:
    """The disk of a broker whose log is copied, and the plan for the new disk that gets it.

    The state in `target` is the one of the source: its log is what is rewritten.
    """

    schema: int
    source_node_id: int
    source_directory_id: str | None
    target: RewritePlan


def plan_of(
    look: DiskLook, endpoints: tuple[Endpoint, ...] = (), *, leader_epoch: int = 0, cut_damage: bool = False
) -> RewritePlan:
    """The plan that rewrites a disk in the state of its look (`DiskError`: it cannot be rewritten; `FormError`).

    `endpoints` of the survivor are those of the last voter set if none are given. `leader_epoch`: the highest one that
    was seen on other disks. `cut_damage`: a person accepts the loss of what is behind damage in the last segment.
    """
    if look.directory_id is None:
        raise DiskError(f"controller {look.node_id}: meta.properties has no directory.id: use another disk")
    voter = look.voters.of(look.node_id, look.directory_id) if look.voters else None
    known = endpoints or (voter.endpoints if voter else ())
    if not known:
        raise DiskError(f"controller {look.node_id}: it is not in the last voter set of its log: give its endpoints")
    newest = look.checkpoint
    plan = RewritePlan(
        schema=PLAN_SCHEMA,
        cluster_id=look.cluster_id,
        node_id=look.node_id,
        directory_id=look.directory_id,
        last_epoch=look.last_epoch,
        end_offset=look.end_offset,
        checkpoint=At(offset=newest.offset, epoch=newest.epoch) if newest else None,
        voters=look.voters.voters if look.voters else (),
        leader_epoch=max(look.leader_epoch, leader_epoch),
        endpoints=known,
        cut_damage=cut_damage,
    )
    refuse_look(look, plan, f"controller {look.node_id}")
    return checked(plan)


def read_plan(text: str) -> RewritePlan:
    """A plan from JSON (`FormError`)."""
    return checked(from_json(RewritePlan, text, schema=PLAN_SCHEMA))


def read_seed_plan(text: str) -> SeedPlan:
    """A plan for a seed from JSON (`FormError`)."""
    plan = from_json(SeedPlan, text, schema=PLAN_SCHEMA)
    checked(plan.target)
    return plan


def checked(plan: RewritePlan) -> RewritePlan:
    """The plan, if a voter set can be written by it (`FormError`)."""
    voters = plan.voters or ()
    for wrong, sentence in (
        (plan.schema != PLAN_SCHEMA, f"schema must be {PLAN_SCHEMA}"),
        (plan.node_id > _INT32_MAX, f"node_id must be at most {_INT32_MAX}"),
        (not is_uuid(plan.directory_id), "directory_id must be 16 bytes in URL-safe base64, without padding"),
        (plan.epoch >= EPOCH_MAX, f"the new leader epoch {plan.epoch} must stay below {EPOCH_MAX}"),
        (plan.end_offset >= 2**63 - 2 - VOTERS_MAX, "end_offset leaves no room for records"),
        (len(voters) > VOTERS_MAX, f"voters must be at most {VOTERS_MAX}"),
        (len({each.node_id for each in voters}) < len(voters), "voters must not have a node id twice"),
        (not plan.endpoints, "endpoints must have at least one listener"),
        (len({each.name for each in plan.endpoints}) < len(plan.endpoints), "endpoints must not have a name twice"),
        (any(not each.name or not each.host for each in plan.endpoints), "endpoints must have names and hosts"),
        (any(not 0 < each.port <= _PORT_MAX for each in plan.endpoints), f"ports must be from 1 to {_PORT_MAX}"),
    ):
        if wrong:
            raise FormError(f"RewritePlan: {sentence}")
    try:
        size_bytes = sum(map(len, plan.records))
    except MalformedError as error:
        raise FormError(f"RewritePlan: no VotersRecord can be made from it: {error}") from error
    if size_bytes > RECORDS_MAX_BYTES:
        raise FormError(
            f"RewritePlan: its VotersRecords have {size_bytes} bytes, at most {RECORDS_MAX_BYTES} are written"
        )
    return plan


def differences(look: DiskLook, plan: RewritePlan) -> list[str]:
    """How a disk differs from what its plan names."""
    newest, has_voters = look.checkpoint, listed(look.voters.voters if look.voters else ())
    seen = At(offset=newest.offset, epoch=newest.epoch) if newest else None
    pairs: tuple[tuple[str, object, object], ...] = (
        ("cluster id", look.cluster_id, plan.cluster_id),
        ("node id", look.node_id, plan.node_id),
        ("directory id", look.directory_id, plan.directory_id),
        ("last leader epoch", look.last_epoch, plan.last_epoch),
        ("end offset", look.end_offset, plan.end_offset),
        ("newest checkpoint", _named(seen), _named(plan.checkpoint)),
        ("last voter set", has_voters, has_voters if plan.voters is None else listed(plan.voters)),
    )
    found = [f"its {name} is {has}, not {wants}" for name, has, wants in pairs if has != wants]
    highest = plan.leader_epoch + EPOCH_LATER_MAX
    if look.quorum_state and look.quorum_state.leader_epoch > highest:
        found.append(f"its quorum-state has leader epoch {look.quorum_state.leader_epoch}, above {highest}")
    return found


def refuse_look(look: DiskLook, plan: RewritePlan, where: str) -> None:
    """Refuse a disk from which no quorum can continue (`DiskError`). `where` names the disk."""
    if not look.segments:
        raise DiskError(f"{where}: not rewritten: the log has no segment, so no server has run here: use another disk")
    if look.checkpoint and not look.checkpoint.whole:
        raise DiskError(
            f"{where}: not rewritten: the newest checkpoint, of offset {look.checkpoint.offset}, is damaged"
            f" ({look.checkpoint.reason}), and Kafka could not start from it: use another disk"
        )
    if look.kraft_version < 1:
        raise DiskError(f"{where}: not rewritten: {STATIC}")
    if look.kraft_version > KRAFT_VERSION_MAX:
        raise DiskError(
            f"{where}: not rewritten: kraft.version is {look.kraft_version}, and this program writes voter sets of"
            f" {KRAFT_VERSION_MAX}: use a later version of it"
        )
    damage = look.damage
    if damage is None:
        return
    last = look.segments[-1]
    in_last = (damage.segment_base, damage.offset) == (last.base_offset, last.end_offset)
    if not (in_last and plan.cut_damage):
        way = "approve the loss with cut_damage, or use another disk" if in_last else "use another disk"
        least = "at least " if damage.batches_behind >= BEHIND_MAX else ""
        raise DiskError(
            f"{where}: not rewritten: the log is damaged at offset {damage.offset} ({damage.reason}), and {least}"
            f"{damage.batches_behind} valid batches up to offset {damage.last_offset_behind} are behind it: {way}"
        )


def _named(at: At | None) -> str:
    return f"offset {at.offset} of leader epoch {at.epoch}" if at else "none"


def _key(voter: Voter) -> tuple[int, str]:
    return voter.node_id, voter.directory_id


def listed(voters: tuple[Voter, ...]) -> str:
    """Voters with everything that a record has of them, as a text."""
    found = []
    for voter in voters:
        endpoints = " ".join(f"{each.name}={each.host}:{each.port}" for each in voter.endpoints)
        levels = f"kraft.version {voter.min_kraft_version} to {voter.max_kraft_version}"
        found.append(f"{voter.node_id} ({voter.directory_id}, {endpoints}, {levels})")
    return ", ".join(found) or "none"
