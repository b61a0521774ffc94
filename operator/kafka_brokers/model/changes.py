"""What a new record of a pool says that the one before did not. The reason of its event is the value."""

from enum import Enum


class RecordChange(Enum):
    """What a new record says that the one before did not."""

    MINTED = "PoolRecordMade"
    BROKERS_ADDED = "BrokersAdded"
    CLAIM_BOUND = "ClaimBound"
    FORMATTED = "DisksFormatted"
    STARTED = "BrokerStarted"
    REVISION = "RevisionChosen"
    VOLUME_ADDED = "VolumeAdded"
    STOP_BEGUN = "StopBegun"
    STOP_CALLED_OFF = "StopCalledOff"
    BACK = "BrokersBack"
    DISK_LOST = "DiskGivenUp"
    NODE_LOST = "NodeGivenUp"
    LEAVING = "BrokersLeave"
    STAYING = "BrokersStay"
    KEPT = "MovesEnded"
    EMPTY = "BrokerEmpty"
    REMOVED = "BrokerRemoved"
    THROTTLED = "DrainLimited"
