"""Kafka's names of feature levels as columns: the text of `level_name` beside the number."""

from itertools import chain

from pyspark.sql import Column
from pyspark.sql import functions as f

from quorum_history.downgrade import LEVELS, level_name

_NAMES = {level: level_name("metadata.version", level) for level in LEVELS}


def named(level: str, feature: str = "feature") -> Column:
    """The text of the level in this column: `4.3-IV0 (30)` of metadata.version, only the number of all others."""
    names = f.create_map(*(f.lit(each) for each in chain.from_iterable(_NAMES.items())))
    number = f.col(level).cast("string")
    kafkas = f.coalesce(f.try_element_at(names, f.col(level)), number)
    return f.when(f.col(feature) == "metadata.version", kafkas).otherwise(number)
