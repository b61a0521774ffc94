"""Results of passes, for tests of what follows a pass."""

from dataclasses import dataclass

from kit.kube.protocol import ResourceType
from kit.repeats import Repeated

WIDGETS = ResourceType(api_version="example.org/v1", kind="Widget", plural="widgets")


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The result of a pass."""

    gone: bool = False
    again: bool = False
    requeue_s: float = 10.0
    failed: bool = False
    urgent: bool = False
    silent: bool = False
    repeated: Repeated | None = None
