"""The end-to-end cases of the preflight: each code of the source has one, and each is one of the documentation."""

import re
from pathlib import Path
from typing import Final

from scenarios.preflight_cases import CASES
from scenarios.test_preflight import codes

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "zookeeper.md"


def test_every_code_has_a_case() -> None:
    """No code of the preflight is without a real cause there, and no case expects a code that there is not."""
    assert len(codes()) > 15
    assert codes() == {code for case in CASES for code in case.named}


def test_every_code_has_a_row() -> None:
    """The table of blockers has a row for every code, and no row for another one."""
    table = PAGE.read_text().partition("### Blockers")[2].partition("\n## ")[0]
    assert codes() == set(re.findall(r"^\| `([A-Za-z]+)` \|", table, flags=re.MULTILINE))
