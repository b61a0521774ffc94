"""The bytes of real requests and answers, with the truth at their recording (tests/live/record_captures.py)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DIRECTORY = Path(__file__).parent / "captures"
NAMES = tuple(sorted(path.stem for path in _DIRECTORY.glob("*.json")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One request and its answer, both without the length in front; `truth` comes from the servers' disks."""

    name: str
    request: bytes
    answer: bytes
    truth: dict[str, Any]

    @property
    def api_key(self) -> int:
        """Of the request."""
        return int.from_bytes(self.request[:2], "big")

    @property
    def version(self) -> int:
        """Of the request."""
        return int.from_bytes(self.request[2:4], "big")

    @property
    def correlation_id(self) -> int:
        """Of the request and the answer."""
        return int.from_bytes(self.request[4:8], "big")


def capture(name: str) -> Capture:
    """By file name."""
    raw = json.loads((_DIRECTORY / f"{name}.json").read_text())
    return Capture(
        name=name,
        request=bytes.fromhex(raw["request"]),
        answer=bytes.fromhex(raw["answer"]),
        truth=raw["truth"],
    )
