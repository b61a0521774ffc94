"""One sentence for several controllers with the same message."""

from tests.golden.facts import facts
from tests.model.values import key

from kafka_quorum.status.together import together


def messages(*said: tuple[int | None, str]) -> list[str]:
    """The resulting sentences."""
    return [one.message for one in together(said)]


def test_ten_controllers_are_one_sentence() -> None:
    """Ten waits that differ only in the controller's id become one sentence with all ids."""
    ids = range(3000, 3010)
    (one,) = together((node, f"pod demo-{node}-g1 is starting") for node in ids)
    assert facts(one.message) == facts(", ".join(map(str, ids)))
    assert one.node_ids == tuple(ids)


def test_one_controller_speaks_for_itself() -> None:
    """A single sentence does not change."""
    assert messages((3000, "pod demo-3000-g1 is starting")) == ["pod demo-3000-g1 is starting"]


def test_different_sentences_stay_apart() -> None:
    """Sentences with different reasons are not combined."""
    said = ((3000, "controller 3000 waits for a node"), (3001, "controller 3001 waits for an image"))
    assert messages(*said) == [text for _, text in said]


def test_replica_keys_are_ids_too() -> None:
    """A controller's replica key is treated like its id."""
    said = [(node, f"controller {node} lost voter {key(node)}") for node in (3000, 3001)]
    assert messages(*said) == ["controllers 3000, 3001: controller <id> lost voter <id>"]


def test_other_numbers_are_no_ids() -> None:
    """A number that contains an id, or equals one by chance, is not replaced."""
    said = [(node, f"controller {node} has 50 bytes, and is tried again in 5 s on worker-5") for node in (5, 6)]
    (one,) = messages(*said)
    assert facts(one) == facts(5, 6, 50, 5, "worker-5")


def test_a_controllers_names_are_its_id() -> None:
    """Pod, formatter, claim, host and replica key of a controller are grouped, whatever its id is."""
    said = [
        (node, f"Pod demo-{node}-g1-format, claim demo-{node}-g2, voter {key(node)} at demo-{node}.demo-controllers.x")
        for node in (0, 7, 3000)
    ]
    (one,) = messages(*said)
    assert one.endswith("Pod demo-<id>-format, claim demo-<id>, voter <id> at demo-<id>.demo-controllers.x")


def test_the_quorum_and_a_controller_are_not_grouped() -> None:
    """A sentence about the quorum names no controller, and appears once."""
    assert messages((None, "no leader"), (3000, "no leader"), (None, "no leader")) == ["no leader", "no leader"]
