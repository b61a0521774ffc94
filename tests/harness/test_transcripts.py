"""Transcripts: what is replaced, where it is written, and which differences of two runs count."""

from pathlib import Path

import pytest

from harness.transcripts import MARK, Typed, block, placeholders, shape, stored, tidy, written

PAGE = Path(__file__).resolve().parents[2] / "docs" / "transcript-recovery.md"
EMPTY = f"# A page\n\n{MARK}```console\n```\nThe end.\n"
STATUS = """\
Namespace   kafka
Ready       False
Doing       LostDisk
Message     the disk of controller 3001 is gone, and no leader answers: 10.0.0.1
            does not
Looked      12s ago

Waits
  SEVERITY  REASON    CONTROLLERS  SINCE
  Degraded  LostDisk  3001, 3002   2m ago
      the log ends at offset 120
      Rule: 2, a controller runs on its own disk only

Controllers
  ID    ROLE     CAUGHT UP  RELEASE  POD           KUBERNETES NODE
  3000  Unknown  -          4.4.0    demo-3000-g1  testbed-worker2

Acts of one pass
  ACT     CONTROLLER  ALLOWED BY  RESULT
  Create  3001        x           Done
"""


def typed(printed: str = STATUS, command: str = "kubectl kq status demo -n kafka") -> Typed:
    """A command with what it printed."""
    return Typed(command=command, printed=printed)


def test_the_page_has_a_place() -> None:
    """The page of the documentation has one block, and what is stored there is what was written."""
    page = PAGE.read_text()
    assert stored(written(page, [typed(), typed()])) == block([typed(), typed()])
    assert written(written(page, [typed()]), []) == written(page, [])


def test_a_page_without_a_place_is_noticed() -> None:
    """A page that has lost its mark is an error, and no empty transcript."""
    assert stored(EMPTY) == ""
    for act in (stored, lambda page: written(page, [typed()])):
        with pytest.raises(AssertionError, match="no block"):
            act("# A page\n")


def test_names_of_one_run_are_replaced() -> None:
    """Placeholders of ids are as long as ids, so columns stay aligned; a shorter name within a longer one waits."""
    first, second, cluster = "A" * 22, "B" * 22, "C" * 22
    names = placeholders(
        namespace="scenario-1", cluster_id=cluster, directories=[(3000, first), (3000, second)], plan="feedbeef01"
    )
    text = tidy(f"scenario-1 {cluster} {first} {second} feedbeef01 10.244.3.7:9093 2026-11-27T20:25:21Z  \n", names)
    assert text == (
        "kafka cluster-id-AAAAAAAAAAA directory-3000-1-AAAAA directory-3000-2-AAAAA 0123456789 10.0.0.1:9093 "
        "2026-01-01T12:00:00Z\n"
    )
    assert {len(names[each]) for each in (first, second, cluster)} == {22}
    assert placeholders(namespace="x", cluster_id="", directories=[], plan="") == {"x": "kafka"}


def test_the_shape_has_labels_and_rows() -> None:
    """Ages, numbers, nodes, sentences and tables of a moment are left out; node ids and words of rows stay."""
    assert shape(block([typed()])) == [
        "$ kubectl kq status demo -n kafka",
        "Namespace",
        "Ready: False",
        "Doing: LostDisk",
        "Message",
        "Looked",
        "Waits",
        "  SEVERITY | REASON | CONTROLLERS | SINCE",
        "  Degraded | LostDisk | 3001, 3002 | AGE",
        "      Rule",
        "Controllers",
        "  ID | ROLE | CAUGHT UP | RELEASE | POD | KUBERNETES NODE",
        "  3000 | Unknown | # | 4.4.0 | demo-3000-g1 | NODE",
    ]


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("12s ago", "1m5s ago", True),
        ("offset 120", "offset 7", True),
        ("testbed-worker2", "testbed-worker3", True),
        ("does not\n", "does not\n            answer\n", True),
        ("Create ", "Delete ", True),
        ("LostDisk  3001", "LostNode  3001", False),
        ("Doing       LostDisk", "Doing       NoLeader", False),
        ("      Rule: 2, a controller runs on its own disk only\n", "", False),
        ("3001, 3002", "3001", False),
    ],
)
def test_which_differences_count(old: str, new: str, *, same: bool) -> None:
    """What differs in each run does not; another reason, label or row does."""
    assert old in STATUS
    assert (shape(block([typed(STATUS.replace(old, new))])) == shape(block([typed()]))) == same


def test_a_command_that_acts_is_compared_by_itself() -> None:
    """What it shows depends on how soon the operator acted."""
    acts = "kubectl kq recover demo --approve 0123456789 -n kafka"
    assert shape(block([typed(STATUS, acts), typed("Ready  True\n")])) == [
        "$ kubectl kq recover demo --approve HASH -n kafka",
        "$ kubectl kq status demo -n kafka",
        "Ready: True",
    ]
