"""An event before it is written: what a person should read about one pass, and with what it is counted."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A CamelCase reason and a sentence. `subject` is equal for notices that are repetitions of each other.

    `subject` may be empty: then only the same sentence is a repetition.
    """

    reason: str
    message: str
    warning: bool = False
    subject: str = ""

    @property
    def series(self) -> tuple[bool, str, str]:
        """Notices with the same value are one event, counted."""
        return self.warning, self.reason, self.subject or self.message
