"""Kafka releases: `X.Y.Z`, from 3.9, the first one with dynamic quorums (KIP-853)."""

import re
from typing import TypeAlias

Release: TypeAlias = tuple[int, int, int]

OLDEST: Release = (3, 9, 0)
FORM = r"(0|[1-9][0-9]{0,2})[.](0|[1-9][0-9]{0,2})[.](0|[1-9][0-9]{0,2})"


def parse_release(text: str) -> Release | None:
    """The three numbers of a release; None if the text does not have this form."""
    match = re.fullmatch(FORM, text)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))
