"""A Kafka Streams release, as the image has it: `0.10.2.2`, `2.3.1`, `4.3.1`."""

import re
from dataclasses import dataclass
from typing import Final

_OLD: Final = re.compile(r"0\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})")
_NEW: Final = re.compile(r"([1-9]\d{0,2})\.(\d{1,3})\.(\d{1,3})")


@dataclass(frozen=True, slots=True, order=True)
class StreamsRelease:
    """A line of releases, and the patch in it. The line has three numbers before 1.0 (`0.10.2`), and two since (`2.3`).

    Lines and releases compare as Kafka orders them: 0.11.0 < 1.0 < 2.10.
    """

    line: tuple[int, ...]
    patch: int

    @property
    def line_text(self) -> str:
        """The line, as `upgrade.from` names it: `0.10.2`, `2.3`."""
        return ".".join(map(str, self.line))

    def __str__(self) -> str:
        """The whole release."""
        return f"{self.line_text}.{self.patch}"


def parse_release(text: object) -> StreamsRelease | None:
    """A release of which every number is written in decimal ASCII digits; None if the text is none."""
    if not isinstance(text, str) or not text.isascii():
        return None
    if found := _OLD.fullmatch(text):
        second, third, patch = map(int, found.groups())
        return StreamsRelease((0, second, third), patch)
    if found := _NEW.fullmatch(text):
        major, minor, patch = map(int, found.groups())
        return StreamsRelease((major, minor), patch)
    return None
