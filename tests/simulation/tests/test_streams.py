"""Storms of a Streams application: no rule is broken, and every one ends Ready, which is true.

A person goes between releases and turns round, while pods, threads, machines, brokers and operators are struck. `make
soak` performs many more; a failure names the run that replays it.
"""

import pytest
from tests.simulation.runs.explore import any_replay, explore
from tests.simulation.runs.scenarios.streams_scenarios import STREAMS_SCENES
from tests.simulation.runs.streams_scenes import KIND
from tests.simulation.runs.tally import Tally
from tests.simulation.tests.conftest import Shows

pytestmark = [pytest.mark.simulation, pytest.mark.timeout(900)]
STORMS = 12
"""About half a minute of CPU time: seeds 0 to 11."""
RIVALS = 3
"""Storms in which two operators act at once: seeds 0 to 2."""


@pytest.fixture(scope="module")
def tally() -> Tally:
    """Every storm, counted once."""
    return explore([], streams=STORMS, streams_rivals=RIVALS)


def test_no_rule_is_broken_and_every_end_is_ready(tally: Tally, shows: Shows) -> None:
    """In the end the application runs what the spec says, and says so."""
    shows(tally)
    assert not tally.failures, "\n".join(tally.failures[:10])
    assert tally.storms == STORMS + RIVALS
    assert set(tally.endings) == {"Ready"}


def test_changes_were_really_made(tally: Tally) -> None:
    """Instances were stopped and came back, steps ended, local state was dropped, and every guard was asked."""
    assert tally.actions["StopPod"] > STORMS
    assert tally.actions["DeleteClaim"] > 0
    assert tally.verdicts["12-next-step yes"] > 0
    assert tally.verdicts["12-stop-instance no"] > 0
    assert tally.verdicts["12-turn-round yes"] > 0


@pytest.mark.parametrize("name", STREAMS_SCENES)
def test_a_scene(name: str) -> None:
    """What storms found, told turn by turn: every turn happens, no rule is broken, and it ends Ready."""
    run = any_replay(f"{KIND}/{name}")
    assert (run.violations, run.ending.why) == ([], "")
