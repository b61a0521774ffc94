"""`python -m kraftlog dump`: the lines, the complaints, and the exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kraftlog import logs

from kraftlog.__main__ import main

_KEYS = ["offset", "timestamp", "leader_epoch", "base_offset", "control", "crc_valid", "type", "version", "data"]


def test_a_line_per_record(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """One JSON object a line, with these keys in this order, of all files in order."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    assert main(["dump", str(path), str(path), "--json"]) == 0
    lines = [json.loads(line) for line in capfdbinary.readouterr().out.decode().splitlines()]
    assert [list(line) for line in lines] == [_KEYS] * 10
    assert lines[2] == {
        "offset": 2, "timestamp": 0, "leader_epoch": 1, "base_offset": 2, "control": False, "crc_valid": True,
        "type": "TOPIC_RECORD", "version": 0, "data": {"name": "c", "topicId": "AAAAAAAAAAAAAAAAAAAAAA"},
    }  # fmt: skip


def test_damage_is_told_and_the_rest_printed(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Exit code 1, the fault on standard error with file and position, the good records on standard output."""
    content = b"".join(logs.three_batches())
    path = logs.write(tmp_path, content[:-1])
    assert main(["dump", str(path)]) == 1
    out, err = capfdbinary.readouterr()
    assert len(out.splitlines()) == 3
    assert f"{path}: position {len(content) - len(logs.three_batches()[2])}: torn-tail".encode() in err


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "empty"), (b"text", "not a log"), (bytes(range(256)) * 9, "not a log")]
)
def test_what_is_no_log(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], content: bytes, said: str) -> None:
    """Exit code 1 and a sentence, no traceback."""
    path = logs.write(tmp_path, content)
    assert main(["dump", str(path)]) == 1
    out, err = capfdbinary.readouterr()
    assert not out
    assert said in err.decode()
    assert str(path) in err.decode()


@pytest.mark.parametrize("options", [["--types", "TOPIC"], ["--release", "2.8"]])
def test_wrong_requests(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], options: list[str]) -> None:
    """Exit code 2 and what there is instead."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    assert main(["dump", str(path), *options]) == 2
    assert b"there are" in capfdbinary.readouterr().err


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    """`… | head` ends it without a complaint."""
    path = logs.write(tmp_path, b"".join(logs.batch(number, "x" * 200) for number in range(3000)))
    command = f"{sys.executable} -m kraftlog dump {path} | head -1"
    operator = Path(__file__).resolve().parents[2] / "operator"
    done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=operator, timeout=60, check=True)
    assert len(done.stdout.splitlines()) == 1
    assert not done.stderr
