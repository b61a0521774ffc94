"""Who leads the quorum, by the controllers' answers, and which brokers are caught up with its metadata log. Pure."""

from collections.abc import Mapping
from typing import Final

from kafka_brokers.model.observed import Leader
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint, QuorumAnswer, Replica

LIVE_WITHIN_MS: Final = 2_000
"""A follower fetches at least twice a second: one that did not for this long is not in contact (Kafka's default)."""
CAUGHT_UP_WITHIN_MS: Final = 2_000
"""How recent a catch-up stamp has to be; measured in tests/live/test_catching_up.py."""


def leader_of(
    answers: Mapping[NodeID, Knowable[QuorumAnswer]], endpoints: Mapping[NodeID, Endpoint]
) -> Knowable[Leader]:
    """The highest-epoch answer with a majority of live voters behind it."""
    known = [answer.value for answer in answers.values() if isinstance(answer, Known)]
    if not known:
        said = "; ".join(
            f"{node_id}: {answer.reason}" for node_id, answer in sorted(answers.items()) if isinstance(answer, Unknown)
        )
        return Unknown(reason=f"no controller answers as the leader ({said})" if said else "no controller is known")
    answer = max(known, key=lambda one: one.leader_epoch)
    endpoint = endpoints.get(answer.leader_id)
    if endpoint is None:
        return Unknown(reason=f"controller {answer.leader_id} leads, and its address is not known")
    now_ms = next((row.last_fetch_ms for row in answer.voters if row.key.node_id == answer.leader_id), -1)
    live = [row for row in answer.voters if _recent(row.last_fetch_ms, now_ms, LIVE_WITHIN_MS)]
    if 2 * len(live) <= len(answer.voters):
        alive = f"{len(live)} of {len(answer.voters)} voters are in contact with it"
        return Unknown(reason=f"controller {answer.leader_id} reports that it leads, but {alive}: no majority")
    caught_up = [row for row in live if row.key.node_id == answer.leader_id or _caught_up(row, now_ms)]
    return Known(
        value=Leader(
            endpoint=endpoint,
            epoch=answer.leader_epoch,
            observers=frozenset(row.key.node_id for row in answer.observers),
            observers_caught_up=frozenset(row.key.node_id for row in answer.observers if _caught_up(row, now_ms)),
            settled=len(caught_up) == len(answer.voters),
            voters=len(answer.voters),
            voters_caught_up=len(caught_up),
        )
    )


def _caught_up(row: Replica, now_ms: int) -> bool:
    return _recent(row.last_fetch_ms, now_ms, LIVE_WITHIN_MS) and _recent(
        row.last_caught_up_ms, now_ms, CAUGHT_UP_WITHIN_MS
    )


def _recent(stamp_ms: int, now_ms: int, within_ms: int) -> bool:
    """Whether a stamp of the leader's clock is recent; one from the future is not."""
    return stamp_ms >= 0 and now_ms >= 0 and 0 <= now_ms - stamp_ms <= within_ms
