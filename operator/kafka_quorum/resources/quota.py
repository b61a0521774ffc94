"""A quota counts the pod that is to be deleted while its successor is checked: whether the new one fits in its place.

The API server answers `exceeded quota: NAME, requested: K=V,…, used: K=V,…, limited: K=V,…`, with the resources that do
not fit (measured on 1.34; the words have been the same since 1.2).
"""

import re
from fractions import Fraction
from typing import Final

from kafka_quorum.resources.meta import Json
from kit.kube.quantities import parse_quantity

_WORDS: Final = re.compile(
    r"exceeded quota: [^,]*, requested: (?P<requested>.*), used: (?P<used>.*), limited: (?P<limited>.*)"
)
_COUNTED: Final = frozenset({"pods", "count/pods"})


def fits_instead(words: str, old: Json, new: Json) -> bool:
    """Whether a quota that refuses `new` in these words has room for it without `old`; False if it is no quota.

    Resources that the pods do not name themselves count as they are: then there is room only without the old pod's.
    """
    match = _WORDS.search(words)
    if match is None:
        return False
    requested, used, limited = (_amounts(match[part]) for part in ("requested", "used", "limited"))
    if not requested or None in (*requested.values(), *used.values(), *limited.values()):
        return False
    return all(
        name in used
        and name in limited
        and (used[name] or 0) - _amount(old, name) + max(_amount(new, name), requested[name] or 0)
        <= (limited[name] or 0)
        for name in requested
    )


def _amounts(text: str) -> dict[str, Fraction | None]:
    rows = (row.partition("=") for row in text.split(","))
    return {name.strip(): parse_quantity(value.strip()) for name, _, value in rows}


def _amount(pod: Json, name: str) -> Fraction:
    """The amount of one pod, of a resource by the quota's name for it: `requests.memory`, `cpu`, `pods`."""
    if name in _COUNTED:
        return Fraction(1)
    part, dot, resource = name.partition(".")
    part, resource = (part, resource) if dot and part in ("requests", "limits") else ("requests", name)
    main = [_of(container, part, resource) for container in pod["spec"]["containers"]]
    first = [_of(container, part, resource) for container in pod["spec"].get("initContainers", [])]
    return max(sum(main, Fraction(0)), max(first, default=Fraction(0)))


def _of(container: Json, part: str, resource: str) -> Fraction:
    amounts = container.get("resources", {})
    amount = amounts.get(part, {}).get(resource) or (
        amounts.get("limits", {}).get(resource) if part == "requests" else 0
    )
    return parse_quantity(str(amount or 0)) or Fraction(0)
