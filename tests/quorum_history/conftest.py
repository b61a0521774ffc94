"""One Spark session for all tests of the history, as small as possible."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from quorum_history.session import session

_OPERATOR = Path(__file__).resolve().parents[2] / "operator"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """An embedded session whose workers find this checkout."""
    os.environ["PYTHONPATH"] = f"{_OPERATOR}:{os.environ.get('PYTHONPATH', '')}"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = session(
        "local[2]",
        **{
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.driver.memory": "1g",
        },
    )
    yield made
    made.stop()
