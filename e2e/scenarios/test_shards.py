"""Three operators divide the quorums among them: each serves its own, and the end of one leaves the others alone."""

import pytest

from harness import operator, shards
from harness.quorum import Quorum
from harness.shell import holds_for, wait_until
from scenarios.conftest import Make
from scenarios.expectations import assert_one_quorum, assert_untouched
from scenarios.test_scaling import ALL
from scenarios.test_wiped_disk import lose_disk, wait_cured

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(1500)]

_HANDED_OVER_S = 120.0
"""More than `status.lastLook` takes to be renewed, which is 75 seconds at most."""
_UNSERVED_S = 90.0
"""As long as that: an operator that served the quorum would have renewed it."""


def test_a_shard_dies(quorums: Make, serving: str) -> None:
    """Three operators serve a share each; while one is gone, the others cure, and its quorum can be given away."""
    with shards.shards(serving, ("a", "b")) as served:
        mine = {name: quorums(name) for name in ("a", "b", "rest")}
        for name, quorum in mine.items():
            quorum.apply(labels=shards.labels(name) if name in served else {})
        for name, quorum in mine.items():
            quorum.wait_ready(240)
            assert_one_quorum(quorum, initial=ALL, voters=ALL)
            pods = served[name].pods() if name in served else [pod["metadata"]["name"] for pod in operator.pods()]
            assert shards.reporters(quorum) <= set(pods)
        # A crash: the standby of the same shard takes over.
        served["a"].crash()
        wait_cured(mine["a"], lose_disk(mine["a"], 3001))
        # The whole shard is gone: its quorum runs and waits, and the others are cured.
        running = mine["a"].running()
        served["a"].scale(0)
        seen = mine["a"].status()["lastLook"]
        for name in ("b", "rest"):
            wait_cured(mine[name], lose_disk(mine[name], 3001))
        holds_for("nobody looks at the quorum", lambda: mine["a"].status()["lastLook"] == seen, _UNSERVED_S)
        assert_untouched(mine["a"], running, ALL)
        # Its label changes: the other shard looks after it, and nothing restarts.
        shards.label(mine["a"], "b")
        wait_until("shard b looks at it", lambda: mine["a"].status()["lastLook"] != seen, _HANDED_OVER_S)
        assert_untouched(mine["a"], running, ALL)
        wait_cured(mine["a"], lose_disk(mine["a"], 3002))
        # The first shard is back: the quorum is not its own any more.
        served["a"].scale(operator.REPLICAS)
        back = served["a"].wait_acting()
        running = mine["a"].running()
        _not_touched_by(mine["a"], served["a"])
        assert_untouched(mine["a"], running, ALL)
        assert back not in shards.reporters(mine["a"])
        assert_one_quorum(mine["a"], initial=ALL, voters=ALL)
    # One operator again serves all of them.
    for quorum in mine.values():
        _looked_at(quorum)


def _not_touched_by(quorum: Quorum, shard: shards.Shard) -> None:
    """For long enough, no pod of the shard writes about the quorum."""
    pods = set(shard.pods())
    holds_for("the quorum belongs to the other shard", lambda: not pods & shards.reporters(quorum), _UNSERVED_S)


def _looked_at(quorum: Quorum) -> None:
    """Wait for a look that is new."""
    seen = quorum.status()["lastLook"]
    wait_until(f"an operator looks at {quorum.name}", lambda: quorum.status()["lastLook"] != seen, _HANDED_OVER_S)
