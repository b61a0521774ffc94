"""One sentence where several controllers have the same to say."""

from tests.model.values import key

from kafka_quorum.status.together import together


def messages(*said: tuple[int | None, str]) -> list[str]:
    """The sentences that come out."""
    return [one.message for one in together(said)]


def test_ten_controllers_are_one_sentence() -> None:
    """A wait of ten controllers that differs in nothing but their ids is one sentence with all of them."""
    ids = range(3000, 3010)
    (one,) = together((node, f"pod demo-{node}-g1 is starting") for node in ids)
    assert one.message == f"controllers {', '.join(map(str, ids))}: pod demo-<id> is starting"
    assert one.node_ids == tuple(ids)


def test_one_controller_speaks_for_itself() -> None:
    """A single sentence stays as it is."""
    assert messages((3000, "pod demo-3000-g1 is starting")) == ["pod demo-3000-g1 is starting"]


def test_different_sentences_stay_apart() -> None:
    """Controllers with different reasons are not mixed up."""
    said = ((3000, "controller 3000 waits for a node"), (3001, "controller 3001 waits for an image"))
    assert messages(*said) == [text for _, text in said]


def test_replica_keys_are_ids_too() -> None:
    """A controller's replica key names it as its id does."""
    said = [(node, f"controller {node} lost voter {key(node)}") for node in (3000, 3001)]
    assert messages(*said) == ["controllers 3000, 3001: controller <id> lost voter <id>"]


def test_other_numbers_are_no_ids() -> None:
    """A number that only contains an id is not replaced."""
    assert messages((300, "3000 bytes of 300"), (301, "3000 bytes of 301")) == [
        "controllers 300, 301: 3000 bytes of <id>"
    ]


def test_the_quorum_and_a_controller_are_not_grouped() -> None:
    """A sentence about the quorum is about no controller, and is said once."""
    assert messages((None, "no leader"), (3000, "no leader"), (None, "no leader")) == ["no leader", "no leader"]
