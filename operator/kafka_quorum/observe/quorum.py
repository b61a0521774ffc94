"""Judge the controllers' answers: which one leads, which replicas are live and caught up, what is committed. Pure.

The words are those of the glossary. Both stamps of a row are of the leader's clock, and the operator's clock decides
nothing. A leader counts only with a majority of live voters behind it. A voter change counts when the high watermark
has passed the log end of the first look that showed it, in the same epoch.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from kafka_quorum.model.actions import RemoveRaftVoter, StepFeature
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.memory import FirstSeen, Memory, VoterSetLook
from kafka_quorum.model.observed import QuorumView, Tenure
from kafka_quorum.model.plan import Outcome
from kafka_quorum.model.quorum import QuorumAnswer, Replica
from kafka_quorum.model.voters import majority_of
from kafka_quorum.observe.instances import NOBODY, FetchTimeouts, Instances

CAUGHT_UP_WITHIN_MS: Final = 2000
"""How recent a catch-up stamp has to be, whatever the fetch timeout is.

A follower asks again at most 0.5 s after the last answer, and each answer at the log's end moves the stamp. Measured on
4.4.0, on a machine with twenty times the load that it has cores (tests/live/test_catching_up.py): at most 0.74 s old.
"""

STEP_LATE_S: Final = 30.0
"""So long a feature step may still come: Kafka works on one for the 5 s that its request allows, and paths delay it."""
SETTLING_TIMEOUTS: Final = 5
"""For this number of fetch timeouts a leader must have led before the voters change.

A leader writes on for 1.5 fetch timeouts after its followers have left it, and that tail of its log is lost. Kafka
reads voter sets from each offset once, also after a truncation: a process that had this tail misses every voter change
which comes to lie below its end (tests/live/test_removals.py). In five timeouts the next leader writes more, unless
the earlier one wrote more than three times as fast. No request shows where such a tail ended.
"""

_Stamp = Callable[[Replica], int]


def leader_of(answers: Mapping[NodeID, Knowable[QuorumAnswer]], timeouts: FetchTimeouts) -> Knowable[QuorumAnswer]:
    """The highest-epoch answer for which a majority of voters, the leader included, is live."""
    if not answers:
        return Unknown(reason="no controller runs yet")
    known = sorted(
        (answer.value for answer in answers.values() if isinstance(answer, Known)),
        key=lambda answer: answer.leader_epoch,
        reverse=True,
    )
    for answer in known[:1]:
        live = live_voters(answer, timeouts.of(answer.leader_id).least_ms)
        if len(live) >= majority_of(len(answer.voters)):
            return Known(value=answer)
        alive = f"only {len(live)} of {len(answer.voters)} voters, itself included, are in contact with it"
        return Unknown(reason=f"controller {answer.leader_id} reports that it leads, but {alive}: no majority")
    said = "; ".join(
        f"{node_id}: {answer.reason}" for node_id, answer in answers.items() if isinstance(answer, Unknown)
    )
    return Unknown(reason=f"no controller answers as the leader ({said})")


def settles_after_s(timeouts: FetchTimeouts) -> float:
    """For how many seconds a leader must have led before the voters change: any controller may be an earlier leader."""
    return SETTLING_TIMEOUTS * timeouts.longest_ms / 1000


def live_voters(answer: QuorumAnswer, within_ms: int) -> frozenset[ReplicaKey]:
    """Voters whose last fetch is at most this old, compared with the leader's own row."""
    return frozenset(_recent(answer, answer.voters, within_ms, lambda row: row.last_fetch_ms))


def _recent(answer: QuorumAnswer, rows: Iterable[Replica], within_ms: int, stamp: _Stamp) -> Iterable[ReplicaKey]:
    """Replicas whose stamp is recent by the leader's clock; the leader itself always is.

    A stamp from the future counts as old: the leader's clock was set back since, and the replica has not fetched since.
    """
    now_ms = _leader_now_ms(answer)
    leaders = frozenset(row.key for row in answer.voters if row.key.node_id == answer.leader_id)
    for row in rows:
        leads = row.key in leaders
        recent = now_ms >= 0 and stamp(row) >= 0 and abs(now_ms - stamp(row)) <= within_ms
        if leads or recent:
            yield row.key


def _leader_now_ms(answer: QuorumAnswer) -> int:
    own = next((row for row in answer.voters if row.key.node_id == answer.leader_id), None)
    return own.last_fetch_ms if own is not None else -1


def keyed(answer: QuorumAnswer, own: Mapping[NodeID, ReplicaKey]) -> QuorumAnswer:
    """A static quorum's voters have no directory ids: those of our controllers get the ids of their disks."""
    voters = tuple(
        replace(row, key=own[row.key.node_id]) if row.key.directory_id is None and row.key.node_id in own else row
        for row in answer.voters
    )
    return replace(answer, voters=voters)


def is_static(answer: QuorumAnswer) -> bool:
    """Whether Kafka reports the voters without directory ids: then kraft.version 0 is used, whatever is finalized."""
    return any(row.key.directory_id is None for row in answer.voters)


def view(
    answer: QuorumAnswer,
    memory: Memory,
    *,
    live_within_ms: int,
    taken_at_s: float,
    settles_s: float,
    asked: ReplicaKey | None = None,
    static: bool = False,
    instances: Instances = NOBODY,
) -> tuple[QuorumView, Memory]:
    """The judged view, and what to remember of it for the next look. `answer` has keys for all voters (`keyed`).

    `live_within_ms` is the leader's fetch timeout, `instances` are the containers that the pods of this look show.
    `settles_s` is for how many seconds a leader must have led before the voters change. `asked` is the replica that an
    open operation makes a voter.
    """
    rows = (*answer.voters, *answer.observers)
    live = frozenset(_recent(answer, rows, live_within_ms, lambda row: row.last_fetch_ms))
    first_seen = _first_seen(answer, memory, instances)
    caught_up, unproven = _caught_up(answer, instances, first_seen)
    look = _voter_set_look(answer, memory.voter_set, static=static)
    committed_voters = look.voters if look.committed else memory.committed_voters
    led_since_s = min(memory.led_since_s, taken_at_s) if _same_leader(answer, memory) else taken_at_s
    settled = taken_at_s - led_since_s >= settles_s
    unsettled_since_s = math.inf if settled else min(memory.unsettled_since_s, taken_at_s)
    may_vote = _may_vote(look, memory, asked)
    judged = QuorumView(
        answer=answer,
        live=live,
        caught_up=caught_up & live,
        committed=look.committed,
        committed_voters=committed_voters,
        taken_at_s=taken_at_s,
        tenure=Tenure(
            for_s=taken_at_s - led_since_s,
            settles_after_s=settles_s,
            unsettled_s=max(0.0, taken_at_s - unsettled_since_s),
        ),
        unsure=may_vote - look.voters,
        unproven=unproven & live,
        static=static,
    )
    remembered = replace(
        memory,
        voter_set=look,
        committed_voters=committed_voters,
        caught_up_looks=_counted(answer, memory, judged.caught_up),
        leader_now_ms=_leader_now_ms(answer),
        leader=(answer.leader_id, answer.leader_epoch),
        led_since_s=led_since_s,
        unsettled_since_s=unsettled_since_s,
        may_vote=may_vote,
        unknown_looks=0,
        first_seen=first_seen,
    )
    return judged, remembered


def _first_seen(answer: QuorumAnswer, memory: Memory, instances: Instances) -> tuple[FirstSeen, ...]:
    """For each voter, and each replica of ours, since when its container exists, always by this leader's clock.

    Another leader has another clock, and may have been elected before the last look at its predecessor. So the first
    look at a leader starts again for every replica. The same holds for a look that finds the clock set back.
    """
    now_ms, same = _leader_now_ms(answer), _same_leader(answer, memory)
    before = {seen.key: seen for seen in memory.first_seen}
    voters = {row.key for row in answer.voters}
    found = []
    for row in (*answer.voters, *answer.observers):
        instance = instances.of(row.key)
        if instance is None or (row.key not in voters and row.key.node_id not in instances.own):
            continue
        old = before.get(row.key)
        if old is not None and old.instance == instance:
            kept = same and old.at_ms <= now_ms
            found.append(old if kept else replace(old, at_ms=now_ms, assumed=old.assumed or not same))
        else:
            assumed = memory.leader is None
            found.append(FirstSeen(key=row.key, instance=instance, at_ms=now_ms, assumed=assumed))
    return tuple(found)


def _caught_up(
    answer: QuorumAnswer, instances: Instances, first_seen: tuple[FirstSeen, ...]
) -> tuple[frozenset[ReplicaKey], frozenset[ReplicaKey]]:
    """Replicas that are caught up, and those that only their stamps show as caught up.

    A stamp outlives the process that earned it: a killed voter keeps it, and so does its successor until its first
    fetch. So the stamp must be recent, and newer than the first look at the container that runs now. A stamp from the
    future proves nothing: the leader's clock was set back, and Kafka never sets a stamp back.
    """
    now_ms, since = _leader_now_ms(answer), {seen.key: seen for seen in first_seen}
    caught_up, unproven = set(), set()
    for row in (*answer.voters, *answer.observers):
        stamp_ms, seen = row.last_caught_up_ms, since.get(row.key)
        recent = now_ms >= 0 and stamp_ms >= 0 and abs(now_ms - stamp_ms) <= CAUGHT_UP_WITHIN_MS
        if instances.of(row.key) is None:
            continue
        if row.key.node_id == answer.leader_id and row in answer.voters:
            caught_up.add(row.key)
        elif not recent:
            continue
        elif seen is None or seen.at_ms < stamp_ms <= now_ms:
            caught_up.add(row.key)
        elif seen.assumed:
            unproven.add(row.key)
    return frozenset(caught_up), frozenset(unproven)


def without_answer(memory: Memory) -> Memory:
    """Remember a look that found no leader: in it, nothing was caught up."""
    return replace(memory, caught_up_looks=(), unknown_looks=memory.unknown_looks + 1)


def _voter_set_look(answer: QuorumAnswer, earlier: VoterSetLook | None, *, static: bool) -> VoterSetLook:
    """The voter set, committed when the high watermark reaches the log end of the set's first look in this epoch.

    A step of kraft.version writes the configured set into the log: the same voters, and a record that is not committed.
    """
    voters, epoch = frozenset(row.key for row in answer.voters), answer.leader_epoch
    if earlier is None or (earlier.voters, earlier.epoch, earlier.static) != (voters, epoch, static):
        end = max((row.log_end_offset for row in answer.voters), default=0)
        changed = earlier is not None and earlier.epoch == epoch and (earlier.voters != voters or earlier.changed)
        earlier = VoterSetLook(
            voters=voters, epoch=epoch, log_end_offset=end, committed=False, static=static, changed=changed
        )
    reached = answer.high_watermark >= 0 and answer.high_watermark >= earlier.log_end_offset
    return replace(earlier, committed=earlier.committed or reached)


def _may_vote(look: VoterSetLook, memory: Memory, asked: ReplicaKey | None) -> frozenset[ReplicaKey]:
    """Every replica that the log may list as a voter.

    A leader whose voter set changes has read that set, which is the newest one of its log. Any other leader may miss
    what an earlier one wrote. So what that one showed, or was asked for, may be in the log too.
    """
    shown = look.voters if asked is None else look.voters | {asked}
    return shown if look.changed and look.committed else memory.may_vote | shown


def acknowledged(memory: Memory, outcomes: Sequence[Outcome], now_s: float) -> Memory:
    """The memory after these acts: a removal that a leader has acknowledged is committed, whatever it shows.

    A feature step that got no answer may still come.
    """
    if any(outcome.unknown and isinstance(outcome.action, StepFeature) for outcome in outcomes):
        memory = replace(memory, step_until_s=now_s + STEP_LATE_S)
    done = (outcome.action for outcome in outcomes if outcome.done)
    gone = frozenset(action.request.voter for action in done if isinstance(action, RemoveRaftVoter))
    return replace(memory, may_vote=memory.may_vote - gone) if gone else memory


def step_until_s(memory: Memory, now_s: float) -> float:
    """Until when a feature step may still come. The operator before this one may just have sent one."""
    return now_s + STEP_LATE_S if memory.step_until_s is None else memory.step_until_s


def _same_leader(answer: QuorumAnswer, memory: Memory) -> bool:
    return memory.leader == (answer.leader_id, answer.leader_epoch)


def _counted(
    answer: QuorumAnswer, memory: Memory, caught_up: frozenset[ReplicaKey]
) -> tuple[tuple[ReplicaKey, int], ...]:
    """Consecutive looks; two looks at the same moment of the leader's clock are one look."""
    same = _same_leader(answer, memory)
    moved = not same or _leader_now_ms(answer) > memory.leader_now_ms
    step, before = 1 if moved else 0, dict(memory.caught_up_looks) if same else {}
    return tuple((key, max(1, before.get(key, 0) + step)) for key in sorted(caught_up, key=str))


def standing(memory: Memory, stopped: Iterable[NodeID]) -> Memory:
    """The memory without the looks of stopped controllers: for seconds Kafka still reports these as running."""
    gone = frozenset(stopped)
    return replace(memory, caught_up_looks=tuple(row for row in memory.caught_up_looks if row[0].node_id not in gone))
