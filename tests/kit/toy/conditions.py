"""The conditions of a widget. Pure."""

from kit.conditions.finding import Finding, Truth
from kit.crd.rule import Wrong


def ready(missing: int) -> Finding:
    """Whether every part exists."""
    if missing:
        return Finding(type="Ready", truth=Truth.FALSE, reason="Making", message=f"{missing} parts change")
    return Finding(type="Ready", truth=Truth.TRUE, reason="Complete", message="every part is there")


def accepted(faults: tuple[Wrong, ...]) -> Finding:
    """Whether the spec is valid."""
    if faults:
        said = "; ".join(f"{one.place}: {one.message}" for one in faults)
        return Finding(type="SpecAccepted", truth=Truth.FALSE, reason="Invalid", message=said)
    return Finding(type="SpecAccepted", truth=Truth.TRUE, reason="Valid", message="the spec is followed")
