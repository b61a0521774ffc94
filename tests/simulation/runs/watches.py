"""What the operator's watches report of a quorum, as `kafka_quorum.handlers` does."""

from typing import Final

from tests.simulation.model.kubernetes.kube_model import Written, seen
from tests.simulation.model.place import NAME

from kafka_brokers.resources.stored import RECORD_ROLE
from kafka_quorum.kind import POOLS, QUORUMS
from kafka_quorum.model.names import LABEL_QUORUM, LABEL_ROLE
from kit.kube.protocol import BUDGETS, CONFIG_MAPS
from kit.kube.secrets import SECRETS

_UNWATCHED: Final = frozenset({SECRETS.plural, BUDGETS.plural})
"""What no watch reports: the next look finds it."""


def concerns_quorum(written: Written) -> bool:
    """Whether a watch wakes the passes of the quorum: itself, what has its label, and the pools beside it."""
    plural = written.key[0]
    if plural in _UNWATCHED:
        return False
    if plural == POOLS.plural:
        before, after = seen(written.before), seen(written.after)
        if before is None or after is None:
            return True
        return bool(before["metadata"].get("generation") != after["metadata"].get("generation"))
    of_pool = plural == CONFIG_MAPS.plural and written.labels.get(LABEL_ROLE) == RECORD_ROLE
    return plural == QUORUMS.plural or written.labels.get(LABEL_QUORUM) == NAME or of_pool
