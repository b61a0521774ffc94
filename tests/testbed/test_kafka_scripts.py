"""The scripts of the test-bed's Kafka image treat a pod's settings like those of the public image."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.config import SOURCE


@pytest.fixture
def kafka_home(tmp_path: Path) -> Path:
    """Kafka's directory as in the image, with a `java` that prints its arguments."""
    home = tmp_path / "kafka"
    shutil.copytree(SOURCE / "kafka" / "bin", home / "bin")
    shutil.copytree(SOURCE / "kafka" / "config", home / "config")
    java = tmp_path / "java-home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    return home


def _run(home: Path, script: str, *arguments: str, **settings: str) -> list[str]:
    """The arguments that a script gives to Java."""
    env = {"PATH": os.environ["PATH"], "JAVA_HOME": str(home.parent / "java-home"), **settings}
    command = [str(home / "bin" / script), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_server_honours_the_settings_of_its_pod(kafka_home: Path, tmp_path: Path) -> None:
    """Heap, options, performance options and the directory for logs come from the environment."""
    logs = tmp_path / "logs"
    given = _run(
        kafka_home,
        "kafka-server-start.sh",
        "server.properties",
        KAFKA_HEAP_OPTS="-Xms64m -Xmx64m",
        KAFKA_JVM_PERFORMANCE_OPTS="-XX:+UseZGC",
        KAFKA_OPTS="-Da=b",
        KAFKA_LOG4J_OPTS="-Dlog4j2.configurationFile=/c.yaml",
        LOG_DIR=str(logs),
    )
    assert given[:3] == ["-Xms64m", "-Xmx64m", "-XX:+UseZGC"]
    assert f"-Xlog:gc*:file={logs}/kafkaServer-gc.log:time,tags:filecount=10,filesize=100M" in given
    assert f"-Dkafka.logs.dir={logs}" in given
    assert given[-3:] == ["-Da=b", "kafka.Kafka", "server.properties"]
    assert "-Dlog4j2.configurationFile=/c.yaml" in given
    assert logs.is_dir()


def test_a_server_can_be_told_not_to_log_collections(kafka_home: Path) -> None:
    """With an empty EXTRA_ARGS there is no log of the garbage collector, and no directory for it."""
    given = _run(kafka_home, "kafka-server-start.sh", "server.properties", EXTRA_ARGS="")
    assert not [argument for argument in given if argument.startswith("-Xlog")]
    assert not (kafka_home / "logs").exists()


def test_a_server_alone_has_the_options_in_its_extra_arguments(kafka_home: Path) -> None:
    """Options of Java in EXTRA_ARGS come before the main class of a server, and no tool has them."""
    extra = "-name kafkaServer -javaagent:/a.jar=1:/a.yaml -Da=b,c"
    given = _run(kafka_home, "kafka-server-start.sh", "server.properties", EXTRA_ARGS=extra)
    assert given[-4:] == ["-javaagent:/a.jar=1:/a.yaml", "-Da=b,c", "kafka.Kafka", "server.properties"]
    assert "-Da=b,c" not in _run(kafka_home, "kafka-storage.sh", "info", EXTRA_ARGS=extra)


def test_a_server_has_a_gigabyte_unless_told_otherwise(kafka_home: Path) -> None:
    """The defaults are the distribution's: 1 GiB for a server, 256 MiB for a tool."""
    assert _run(kafka_home, "kafka-server-start.sh", "server.properties")[:2] == ["-Xmx1G", "-Xms1G"]
    assert _run(kafka_home, "kafka-storage.sh", "info")[0] == "-Xmx256M"


@pytest.mark.parametrize(
    ("script", "main_class", "tools_first"),
    [
        ("kafka-storage.sh", "kafka.tools.StorageTool", False),
        ("kafka-features.sh", "org.apache.kafka.tools.FeatureCommand", True),
        ("kafka-metadata-quorum.sh", "org.apache.kafka.tools.MetadataQuorumCommand", True),
    ],
)
def test_a_tool_speaks_to_stderr_alone(kafka_home: Path, script: str, main_class: str, *, tools_first: bool) -> None:
    """Tools log with the tools' settings, and only tools that may be borrowed see the borrowed jars."""
    given = _run(kafka_home, script, "describe")
    assert given[-2:] == [main_class, "describe"]
    assert f"-Dlog4j2.configurationFile={kafka_home}/config/tools-log4j2.yaml" in given
    class_path = given[given.index("-cp") + 1]
    assert ("tools-libs" in class_path) is tools_first
