"""The entry point of the history's image: commands of the history, and the commands of Spark on Kubernetes."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

from quorum_history.container import NotSparkError, command

_OPERATOR = Path(__file__).resolve().parents[2] / "operator"
_JARS = Path(pyspark.__file__).parent / "jars"
_EXECUTOR = {
    "SPARK_HOME": "/spark",
    "SPARK_JAVA_OPT_0": "-Da=b c",
    "SPARK_JAVA_OPT_10": "-Dlast",
    "SPARK_JAVA_OPT_2": "-Dsecond",
    "SPARK_EXECUTOR_MEMORY": "1g",
    "SPARK_DRIVER_URL": "spark://d:7078",
    "SPARK_EXECUTOR_ID": "1",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_APPLICATION_ID": "app",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.1",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "pod",
}


def test_arguments_are_a_command_of_the_history() -> None:
    """Arguments that are not Spark's, or none, are passed to `quorum-history`."""
    own = [sys.executable, "-m", "quorum_history"]
    assert command(["ingest", "--target", "x"], {}) == [*own, "ingest", "--target", "x"]
    assert command([], {}) == own


def test_a_driver_is_submitted_in_its_own_pod() -> None:
    """A driver is submitted with Spark's arguments, and binds to the address of its pod."""
    environment = {"SPARK_HOME": "/spark", "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.1"}
    assert command(["driver", "--properties-file", "p", "local:///x.py", "refresh"], environment) == [
        "/spark/bin/spark-submit", "--conf", "spark.driver.bindAddress=10.0.0.1", "--deploy-mode", "client",
        "--properties-file", "p", "local:///x.py", "refresh",
    ]  # fmt: skip


def test_an_executor_gets_what_its_variables_say() -> None:
    """An executor gets Java's options in order, the memory, the class path, and one option per variable."""
    made = command(["executor"], _EXECUTOR | {"SPARK_CONF_DIR": "/conf", "SPARK_EXTRA_CLASSPATH": "/more/*"})
    assert made[:8] == [
        "java", "-Da=b c", "-Dsecond", "-Dlast", "-Xms1g", "-Xmx1g", "-cp", "/conf:/spark/jars/*:/more/*",
    ]  # fmt: skip
    told = dict(zip(made[9::2], made[10::2], strict=True))
    assert told["--executor-id"] == "1"
    assert told["--podName"] == "pod"


def test_spark_knows_the_executors_class_and_its_options() -> None:
    """The executor's class is in the jars of the locked release, and the class file has each option."""
    made = command(["executor"], _EXECUTOR)
    name = made[8].replace(".", "/")
    with zipfile.ZipFile(next(_JARS.glob("spark-kubernetes_*.jar"))) as jar:
        inside = b"".join(jar.read(entry) for entry in jar.namelist() if entry.startswith(name))
    with zipfile.ZipFile(next(_JARS.glob("spark-core_*.jar"))) as jar:
        shared = "org/apache/spark/executor/CoarseGrainedExecutorBackend"
        inside += b"".join(jar.read(entry) for entry in jar.namelist() if entry.startswith(shared))
    assert [option for option in made[9::2] if option.encode() not in inside] == []


@pytest.mark.parametrize("name", ["SPARK_DRIVER_URL", "SPARK_EXECUTOR_MEMORY", "SPARK_HOME"])
def test_a_missing_variable_is_named(name: str) -> None:
    """If a variable is missing, for example after a start by hand, the error names it."""
    with pytest.raises(NotSparkError, match=name):
        command(["executor"], {key: value for key, value in _EXECUTOR.items() if key != name})


def test_the_entry_point_becomes_the_command() -> None:
    """The entry point ends with the exit code and the messages of the command."""
    environment = {**os.environ, "PYTHONPATH": str(_OPERATOR), "PYTHONSAFEPATH": "1"}
    start = [sys.executable, "-m", "quorum_history.container"]
    wrong = subprocess.run([*start, "ingest"], env=environment, capture_output=True, text=True, check=False)
    assert (wrong.returncode, "--target" in wrong.stderr) == (2, True)
    environment.pop("SPARK_HOME", None)
    alone = subprocess.run([*start, "executor"], env=environment, capture_output=True, text=True, check=False)
    assert alone.returncode == 1
    assert alone.stderr.startswith("quorum-history: the variable SPARK_")
    assert "Traceback" not in alone.stderr
