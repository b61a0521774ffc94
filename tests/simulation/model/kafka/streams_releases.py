"""What is true of releases of Kafka Streams: what runs together, what `upgrade.from` accepts, which state is readable.

It is written down from KIP-268, the upgrade guide and measurements, and reads nothing of the operator's own table.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

Line: TypeAlias = tuple[int, ...]

_VERSIONS: Final[dict[Line, int]] = {
    (1, 1): 2,
    (2, 0): 3,
    (2, 1): 4,
    (2, 3): 4,
    (2, 4): 5,
    (2, 8): 9,
    (3, 2): 11,
    (3, 4): 11,
    (3, 9): 11,
    (4, 2): 11,
    (4, 3): 11,
}
"""The version of the subscription that a release sends."""
_FIRST_WITH_PROBING: Final = (2, 4)
_FIRST_WITHOUT_EAGER: Final = (4, 0)
_LAST_EAGER: Final = (2, 3)
_OLDER_FORMAT: Final = 2
"""Only values of `upgrade.from` up to 1.1 make an instance send an older version (measured)."""
_TWO_BOUNCES: Final[tuple[tuple[Line, Line], ...]] = (((3, 5), (3, 4)), ((3, 3), (3, 2)), ((2, 4), (2, 3)))
"""From this line on (the first) `upgrade.from` is needed beside instances up to that line (the second)."""
_CHECKPOINTS: Final[tuple[Line, Line]] = ((2, 4), (2, 8))
_LATEST_ACCEPTED: Final[tuple[tuple[Line, Line, Line], ...]] = (
    ((4, 2), (2, 4), (4, 0)),
    ((3, 3), (0, 10, 0), (3, 0)),
    ((2, 4), (0, 10, 0), (2, 3)),
    ((2, 0), (0, 10, 0), (1, 1)),
    ((0, 0), (0, 10, 0), (0, 10, 0)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What an image is. `crashes`: it ends as it starts. `mute`: it joins the group, and processes nothing."""

    line: Line
    patch: int
    streams: bool = False
    crashes: bool = False
    mute: bool = False

    def __str__(self) -> str:
        """The release, and the protocol if it is not the classic one."""
        return f"{text_of(self.line)}.{self.patch}{'-streams' if self.streams else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """A program with its `upgrade.from`, empty for none."""

    program: Program
    upgrade_from: str = ""

    @property
    def sends(self) -> int:
        """The version that it sends if nothing is probed."""
        own = _VERSIONS[self.program.line]
        value = line_of(self.upgrade_from) if self.upgrade_from else self.program.line
        if value == (0, 10, 0):
            return 1
        return min(own, _OLDER_FORMAT) if value <= (1, 1) else own

    def __str__(self) -> str:
        """For a sentence."""
        return f"{self.program}{f' with upgrade.from={self.upgrade_from}' if self.upgrade_from else ''}"


def program_of(image: str) -> Program:
    """What is in an image, by its name: `app:3.9.1`, `app:4.3.1-streams`, `app:4.3.1-bad`, `app:4.3.1-mute.2`."""
    release, *words = image.partition(":")[2].partition(".b")[0].split("-")
    *line, patch = map(int, release.split("."))
    return Program(
        line=tuple(line), patch=patch, streams="streams" in words, crashes="bad" in words, mute="mute" in words
    )


def line_of(text: str) -> Line:
    """A line, as `upgrade.from` names it."""
    return tuple(map(int, text.split(".")))


def text_of(line: Line) -> str:
    """The inverse of `line_of`."""
    return ".".join(map(str, line))


def supports(program: Program) -> int:
    """The latest version of the subscription that it can read."""
    return _VERSIONS[program.line]


def refuses(runs: Runs) -> str:
    """Why a program ends as it starts; empty if it does not."""
    if runs.program.crashes:
        return "java.lang.NoClassDefFoundError: counts"
    if not runs.upgrade_from:
        return ""
    value, line = line_of(runs.upgrade_from), runs.program.line
    first, last = next((first, last) for since, first, last in _LATEST_ACCEPTED if line >= since)
    newest = (line[0], line[1] - 1) if last in ((4, 0), (3, 0)) and line[1] else last
    if first <= value <= newest:
        return ""
    return f"ConfigException: Invalid value {runs.upgrade_from} for configuration upgrade.from"


def forbidden(one: Runs, other: Runs) -> str:
    """Why these two must not be in one group; empty if they may."""
    low, high = sorted((one, other), key=lambda runs: runs.program.line)
    if low.program.streams != high.program.streams:
        return f"{low} and {high} use different protocols"
    a, b = low.program.line, high.program.line
    if a == b or low.program.streams:
        return ""
    if a <= _LAST_EAGER and b >= _FIRST_WITHOUT_EAGER:
        return f"{high} does not know the eager protocol of {low}"
    if b < _FIRST_WITH_PROBING:
        return "" if high.sends <= supports(low.program) else f"{low} cannot read what {high} sends"
    last = next(until for since, until in _TWO_BOUNCES if b >= since)
    if a > last or (high.upgrade_from and line_of(high.upgrade_from) <= a):
        return ""
    return f"{high} needs upgrade.from beside {low}"


def unreadable(wrote: Program, reads: Program) -> str:
    """Why a release must not start on local state of another one; empty if it may."""
    if reads.line == wrote.line:
        return ""
    if reads.line < wrote.line:
        return f"{reads} does not open the stores of {wrote}"
    early, late = _CHECKPOINTS
    if wrote.line < late and reads.line > early:
        return f"{reads} reads the checkpoints of {wrote} differently, and loses records"
    return ""
