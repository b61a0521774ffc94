"""The Prometheus JMX agent: what it shows, and how it gets into a pod."""

from pathlib import Path

import pytest
import yaml

from kafka_quorum import agent
from kafka_quorum.resources import jmx
from kafka_quorum.resources.agent import (
    ACTIVE,
    AGENT_CONFIG,
    AGENT_JAR,
    FILTER_OPTION,
    JAVA_OPTION,
    KAFKAS,
    KAFKAS_CONFIG,
    METRICS,
)


def test_the_configuration_names_four_beans_and_nothing_else() -> None:
    """The agent reads exactly the named beans, and each has one rule with its metric's name."""
    config = yaml.safe_load(AGENT_CONFIG)
    beans = [f"kafka.controller:type=KafkaController,name={name}" for name in METRICS]
    assert config["includeObjectNames"] == beans
    assert [rule["name"] for rule in config["rules"]] == list(METRICS.values())
    assert all(name == name.lower() for name in METRICS.values())


def test_the_union() -> None:
    """With Kafka's own metrics the agent shows them and the migration's, each bean once; the activity has one name."""
    config = yaml.safe_load(KAFKAS_CONFIG)
    names = [rule["name"] for rule in config["rules"]]
    assert sorted(names) == sorted({*(each.name for each in jmx.SHOWN), *METRICS.values()} - {ACTIVE})
    beans = config["includeObjectNames"]
    assert len(set(beans)) == len(beans)
    assert {*yaml.safe_load(AGENT_CONFIG)["includeObjectNames"], *(each.bean for each in jmx.SHOWN)} == set(beans)


def test_the_options_of_java() -> None:
    """The options name the jar, the port and the configuration's file, and what stays on a page; each is one word."""
    assert f"-javaagent:{AGENT_JAR}=9404:/opt/agent/agent.yaml" == JAVA_OPTION
    assert FILTER_OPTION.partition("=")[2].split(",") == ["kafka_", *jmx.OF_JAVA]
    assert len(f"{JAVA_OPTION} {FILTER_OPTION}".split()) == 2


@pytest.mark.parametrize(("arguments", "config"), [([], AGENT_CONFIG), ([KAFKAS], KAFKAS_CONFIG)])
def test_the_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], config: str) -> None:
    """The jar is copied whole, readable for everyone, with its configuration; a second copy replaces it."""
    source, target = tmp_path / "agent.jar", tmp_path / "volume"
    source.write_bytes(b"jar")
    target.mkdir()
    assert agent.main([str(target), *arguments], source) == 0
    source.write_bytes(b"newer")
    assert agent.main([str(target), *arguments], source) == 0
    found = {path.name: (path.read_bytes(), path.stat().st_mode & 0o777) for path in target.iterdir()}
    assert found.pop("agent.jar") == (b"newer", 0o444)
    assert {name: content for name, (content, _) in found.items()} == {"agent.yaml": config.encode()}
    assert capsys.readouterr().err == ""


def test_a_copy_that_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing jar or directory ends with 1 and a sentence, other arguments with 2."""
    assert agent.main([str(tmp_path)], tmp_path / "none.jar") == 1
    assert "was not copied" in capsys.readouterr().err
    for arguments in ([], [""], [str(tmp_path), "other"], [str(tmp_path), KAFKAS, KAFKAS]):
        assert agent.main(arguments, tmp_path) == 2
        assert "expected the directory to copy the agent into, and kafka or nothing" in capsys.readouterr().err
