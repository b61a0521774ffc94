"""The schema numbers of what the operator stores for a pool. `kafka_quorum.model.formats` says what they mean."""

from typing import Final

RECORD: Final = 1
"""`disks.json` in the ConfigMap of the record."""
REVISION: Final = 1
"""The data of a ControllerRevision."""
