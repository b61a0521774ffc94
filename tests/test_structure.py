"""The shape of the operator's source: no module is too long to be read at once."""

from pathlib import Path

import kafka_quorum

OPERATOR = Path(kafka_quorum.__file__).parents[1]
LINES_MAX = 400


def test_no_module_is_longer_than_it_can_be_read() -> None:
    """Each module of `operator/` has at most 400 lines."""
    long = {
        str(path.relative_to(OPERATOR)): lines
        for path in OPERATOR.rglob("*.py")
        if (lines := path.read_text().count("\n")) > LINES_MAX
    }
    assert long == {}
