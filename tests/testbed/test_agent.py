"""The JMX agent: only the pinned file is used."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from testbed import agent, packages, process
from testbed.config import Paths


def _maven(text: str, calls: list[str]) -> object:
    """A Maven that copies a file with this text in the place of the jar."""

    def run(command: Sequence[object], *_: object, **__: object) -> None:
        calls.append(" ".join(map(str, command)))
        (target,) = (str(word).partition("=")[2] for word in command if str(word).startswith("-DoutputDirectory"))
        Path(target).mkdir(parents=True)
        Path(target, "jmx_prometheus_javaagent-1.0.1.jar").write_text(text)

    return run


def test_another_jar_than_the_pinned_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a repository answers with another file, it is deleted and not used."""
    monkeypatch.setattr(packages, "ensure", lambda *_: None)
    monkeypatch.setattr(agent, "run", _maven("other", []))
    with pytest.raises(process.TestbedError, match=r"\bjmx_prometheus_javaagent-1\.0\.1\.jar\b"):
        agent.ensure_agent(Paths(tmp_path))
    assert list(tmp_path.rglob("*.jar")) == []


def test_the_pinned_jar_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A jar with the pinned digest is kept, and a second call fetches nothing."""
    calls: list[str] = []
    monkeypatch.setattr(packages, "ensure", lambda *_: None)
    monkeypatch.setattr(agent, "run", _maven("agent", calls))
    monkeypatch.setattr(agent, "SHA256", hashlib.sha256(b"agent").hexdigest())
    first = agent.ensure_agent(Paths(tmp_path))
    assert first.read_text() == "agent"
    assert agent.ensure_agent(Paths(tmp_path)) == first
    assert len(calls) == 1
