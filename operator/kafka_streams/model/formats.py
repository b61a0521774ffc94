"""The versions of what is stored for an application (docs/stored-formats.md)."""

from typing import Final

RECORD: Final = 1
REVISION: Final = 1
