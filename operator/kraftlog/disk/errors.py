"""Why a disk is refused. Each message is one sentence: what is wrong, where, and what to do."""

from kraftlog.errors import KraftLogError


class DiskError(KraftLogError):
    """The disk is not as it must be, or it cannot be decided whether it is. Nothing was changed after that."""


class UnreadableDiskError(DiskError):
    """The system did not open, read or write a file. The same command may work later."""

    @classmethod
    def of(cls, error: OSError, path: object) -> "UnreadableDiskError":
        """The error for a file, or for the one that the system named."""
        return cls(f"{path}: {error.strerror or error}: repeat the command when the volume can be used")
