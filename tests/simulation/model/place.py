"""Where the quorum of every run lives."""

from typing import Final

NAMESPACE: Final = "kafka"
NAME: Final = "demo"
