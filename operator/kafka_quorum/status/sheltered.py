"""A status that a later version of this operator wrote: only the fields that report this are changed in it."""

from typing import Any, Final, TypeAlias

from kafka_quorum.model import formats

Json: TypeAlias = dict[str, Any]

_REPORTS: Final = ("observedGeneration", "doing", "message", "conditions")


def sheltered(old: Json, new: Json) -> Json:
    """`new`; if this version cannot read `old`, all of `old` with only the reporting fields of `new`."""
    try:
        formats.check(old.get("schemaVersion"), formats.STATUS, "the status")
    except formats.Unreadable:
        return {**old, **{name: new[name] for name in _REPORTS if name in new}}
    return new
