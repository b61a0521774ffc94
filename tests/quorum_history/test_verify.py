"""`quorum-history verify` compares every column of both sides."""

import json
import sys
import tarfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.kraftlog import logs

from quorum_history.verify import VerifyError, _running, verify

_TOOL = """#!{python}
import sys, time
from pathlib import Path
for line in Path({script!r}).read_text().splitlines():
    if line == "WAIT":
        for _ in range(600):
            if Path({flag!r}).exists():
                break
            time.sleep(0.1)
        else:
            sys.exit("nothing was read meanwhile")
    else:
        print(line, flush=True)
sys.exit({code})
"""


class _Tool:
    """A `java` on the path that prints what a script gives, and can fail."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.script, self.flag = home, home / "script", home / "flag"
        (home / "libs").mkdir()
        (home / "bin").mkdir()
        monkeypatch.setenv("PATH", str(home / "bin"))

    def says(self, lines: list[str], code: int = 0) -> None:
        """Sets the lines that it prints."""
        java = self.home / "bin" / "java"
        self.script.write_text("\n".join(lines))
        text = _TOOL.format(python=sys.executable, script=str(self.script), flag=str(self.flag), code=code)
        java.write_text(text)
        java.chmod(0o755)


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Tool:
    """The tool of an installation in `tmp_path`."""
    return _Tool(tmp_path, monkeypatch)


def _printed(records: list[dict[str, Any]], **changed: Any) -> list[str]:  # noqa: ANN401 -- a column's value
    """The output of kafka-dump-log for these records, with `changed` columns in the last one."""
    lines = []
    for place, record in enumerate(records):
        row = record | (changed if place == len(records) - 1 else {})
        flags = {name: str(row[name]).lower() for name in ("control", "crc_valid")}
        lines.append(
            f"baseOffset: {row['base_offset']} lastOffset: 9 partitionLeaderEpoch: {row['leader_epoch']}"
            f" isTransactional: false isControl: {flags['control']} position: 0 isvalid: {flags['crc_valid']}"
        )
        payload = json.dumps({"type": row["type"], "version": row["version"], "data": row["data"]})
        lines.append(
            f"| offset: {row['offset']} CreateTime: {row['timestamp']} keySize: -1 valueSize: 9 sequence: -1"
            f" headerKeys: [] payload: {payload}"
        )
    return lines


def test_equal_records_are_counted(tmp_path: Path, tool: _Tool) -> None:
    """If every record is the same in every column, all are counted as equal."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    tool.says(_printed(logs.read(path)[0]))
    verdict = verify(path, tmp_path)
    assert (verdict.records, verdict.equal, verdict.first_difference) == (5, 5, "")


@pytest.mark.parametrize("way", ["url", "archive"])
def test_a_file_that_is_not_on_a_disk_is_copied_for_the_tool(
    tmp_path: Path, tool: _Tool, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """A file that is not on a disk is copied under its own name, and the copy deleted; the verdict names the place."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    place = f"file://{path}"
    if way == "archive":
        with tarfile.open(tmp_path / "a.tar", "w") as tar:
            tar.add(path, arcname=path.name)
        place = f"{tmp_path}/a.tar!/{path.name}"
    seen: list[Path] = []

    def running(copy: Path, home: Path) -> AbstractContextManager[Iterator[str]]:
        assert copy.read_bytes() == path.read_bytes()
        seen.append(copy)
        return _running(copy, home)

    monkeypatch.setattr("quorum_history.verify._running", running)
    tool.says(_printed(logs.read(path)[0]))
    verdict = verify(place, tmp_path)
    assert (verdict.path, verdict.records, verdict.equal) == (place, 5, 5)
    assert [copy.name for copy in seen] == [path.name]
    assert not seen[0].exists()


@pytest.mark.parametrize(
    ("column", "value"),
    [("timestamp", 7), ("leader_epoch", 9), ("base_offset", 1), ("crc_valid", False), ("type", "CONFIG_RECORD"),
     ("version", 3), ("offset", 77), ("data", {})],
)  # fmt: skip
def test_a_difference_in_any_column_is_found(tmp_path: Path, tool: _Tool, column: str, value: object) -> None:
    """The verdict names offset, column and both values."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    tool.says(_printed(logs.read(path)[0], **{column: value}))
    verdict = verify(path, tmp_path)
    assert (verdict.records, verdict.equal) == (5, 4)
    assert f"offset 4: {column}: " in verdict.first_difference


@pytest.mark.parametrize(("cut", "said"), [(-2, "only here"), (None, "only there")])
def test_records_of_one_side_only_are_differences(tmp_path: Path, tool: _Tool, cut: int | None, said: str) -> None:
    """A record that only one side has is a difference."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    lines = _printed(logs.read(path)[0])
    tool.says(lines[:cut] if cut else [*lines, lines[-1].replace("offset: 4", "offset: 5")])
    assert said in verify(path, tmp_path).first_difference


def test_records_are_compared_while_the_tool_prints(tmp_path: Path, tool: _Tool) -> None:
    """Records are compared while the tool prints, and not only at its end."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    lines = _printed(logs.read(path)[0])
    tool.says([*lines[:4], "WAIT", *lines[4:]])
    verdict = verify(path, tmp_path, lambda count: tool.flag.touch() if count == 1 else None)
    assert verdict.equal == 5


def test_a_tool_that_fails_is_an_error(tmp_path: Path, tool: _Tool) -> None:
    """A tool that fails is an error, whatever it printed before."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    tool.says(_printed(logs.read(path)[0]), code=3)
    with pytest.raises(VerifyError, match="kafka-dump-log failed"):
        verify(path, tmp_path)
