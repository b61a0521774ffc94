"""The place of the quorum in every run."""

from typing import Final

NAMESPACE: Final = "kafka"
NAME: Final = "demo"
