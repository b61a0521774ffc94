"""The facts of a sentence: ids, names, numbers and fields, whatever its words are.

Tests compare these, and the rule or the reason of a value. The words are in `sentences.txt`.
"""

import re
from typing import Final

_FACT: Final = re.compile(r"[\w./@-]*\d[\w./@-]*|\b[\w-]{22}\b|\b[a-z]+(?:\.[A-Za-z]\w*)+")


def facts(*said: object) -> list[str]:
    """Every id, name with a digit, number and dotted field in these, sorted."""
    return sorted(found.rstrip(".,:;)") for each in said for found in _FACT.findall(str(each)))


def mentions(said: str, *objects: object) -> bool:
    """Whether a sentence has all of these."""
    return set(facts(*objects)) <= set(facts(said))
