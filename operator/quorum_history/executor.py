"""Where the tasks of `ingest` run: in threads of this process, or on a Spark cluster.

The compiled decoder and Arrow release the interpreter lock, so threads use every core; nothing needs to be started.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Protocol, TypeVar

from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs one function over many items."""

    parallelism: int

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """The results, in any order, as they come."""


class Threads:
    """In this process."""

    def __init__(self) -> None:
        """As many threads as there are cores for this process."""
        self.parallelism = len(os.sched_getaffinity(0))

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """The results as they come; the first error ends the run."""
        with ThreadPoolExecutor(self.parallelism) as pool:
            waiting = [pool.submit(function, item) for item in items]
            try:
                for done in as_completed(waiting):
                    yield done.result()
            finally:
                for each in waiting:
                    each.cancel()


class OnSpark:
    """As tasks of a Spark job; the workers must reach the files that the tasks read and write."""

    def __init__(self, spark: SparkSession) -> None:
        """Use the cores of the session."""
        self._context = spark.sparkContext
        self.parallelism = self._context.defaultParallelism

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """The results, which are small, after all tasks have ended."""
        if items:
            yield from self._context.parallelize(items, len(items)).map(function).collect()
