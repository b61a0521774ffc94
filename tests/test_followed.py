"""The spec is read where the Situation is made: it does not travel to and fro between the planner's modules."""

from pathlib import Path

from tests.followed import Source

import kafka_quorum

OPERATOR = Path(kafka_quorum.__file__).parents[1]
BEFORE = 18
"""How often `desired` returned at commit 069cd00, before there was a Situation."""


def test_the_spec_returns_into_no_module_that_it_has_left() -> None:
    """`desired` returns at most a third as often as before, and the documents have the measured figures."""
    journey = Source(OPERATOR).follow("desired")
    assert journey.steps > 10
    assert journey.returns * 3 <= BEFORE
    page = (OPERATOR.parent / "docs" / "decisions" / "0007-situation-in-the-model.md").read_text()
    assert f"| `desired` | 18 in 76 | {journey.returns} in {journey.steps} |" in page


def test_what_is_counted(tmp_path: Path) -> None:
    """A value is followed through functions, modules and tables; only an entry into a module that was left returns."""
    modules = {
        "a": "from kafka_quorum import b\nfrom kafka_quorum.c import last\n"
        "TABLE = (Row(part=last), Row(part=own))\n"
        "def start(x):\n    own(x)\n    b.one(x)\n    for row in TABLE:\n        row.part(x)\n"
        "def own(y):\n    return y\n",
        "b": "from kafka_quorum.c import last\n"
        "def one(x):\n    last(1, of=x)\n    two(x)\n    other(y)\n"
        "def two(x):\n    one(x)\n"
        "def other(x):\n    pass\n",
        "c": "def last(of):\n    pass\n",
    }
    (tmp_path / "kafka_quorum").mkdir()
    for name, text in modules.items():
        (tmp_path / "kafka_quorum" / f"{name}.py").write_text(text)
    journey = Source(tmp_path).follow("x", ("kafka_quorum.a", "start"))
    assert [name for _, name in journey.places] == ["start", "own", "one", "last", "two"]
    assert (journey.steps, journey.returns) == (4, 1)
