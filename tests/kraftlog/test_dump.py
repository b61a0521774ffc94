"""`python -m kraftlog dump`: the lines, the errors, and the exit codes."""

import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from tests.kraftlog import logs

from kit.text import clean
from kraftlog.__main__ import main
from kraftlog.errors import STEERING
from kraftlog.values import unsigned_varint
from kraftlog.writer import NewBatch, batch_of

_OPERATOR = Path(__file__).resolve().parents[2] / "operator"
_KEYS = ["offset", "timestamp", "leader_epoch", "base_offset", "control", "crc_valid", "type", "version", "data"]


def test_a_line_per_record(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Each record is one JSON object in a line, with these keys in this order, for all files in order."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    assert main(["dump", str(path), str(path), "--json"]) == 0
    lines = [json.loads(line) for line in capfdbinary.readouterr().out.decode().splitlines()]
    assert [list(line) for line in lines] == [_KEYS] * 10
    assert lines[2] == {
        "offset": 2, "timestamp": 0, "leader_epoch": 1, "base_offset": 2, "control": False, "crc_valid": True,
        "type": "TOPIC_RECORD", "version": 0, "data": {"name": "c", "topicId": "AAAAAAAAAAAAAAAAAAAAAA"},
    }  # fmt: skip


def test_damage_is_told_and_the_rest_printed(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """After damage the exit code is 1, standard error has the fault, and standard output the good records."""
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
    """For a file that is no log the exit code is 1, with a sentence and no traceback."""
    path = logs.write(tmp_path, content)
    assert main(["dump", str(path)]) == 1
    out, err = capfdbinary.readouterr()
    assert not out
    assert said in err.decode()
    assert str(path) in err.decode()


@pytest.mark.parametrize("options", [["--types", "TOPIC"], ["--release", "2.8"]])
def test_wrong_requests(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], options: list[str]) -> None:
    """For a wrong option the exit code is 2, and the error lists the valid values."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    assert main(["dump", str(path), *options]) == 2
    assert b"there are" in capfdbinary.readouterr().err


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    """If the reader of a pipe ends, as in `… | head`, the command ends without an error."""
    path = logs.write(tmp_path, b"".join(logs.batch(number, "x" * 200) for number in range(3000)))
    command = f"{sys.executable} -m kraftlog dump {path} | head -1"
    operator = Path(__file__).resolve().parents[2] / "operator"
    done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=operator, timeout=60, check=True)
    assert len(done.stdout.splitlines()) == 1
    assert not done.stderr


_UNSEEN = (
    "\x7f\x80\x85\x9f\xad\u034f\u061c\u115f\u180e\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069\u2800\u3164"
    "\ufe0f\ufeff\ufffc\U000e0001\U000e0041\U000e0100"
)


@pytest.mark.parametrize("more", ["", "\ud800"], ids=["compiled", "reference"])
def test_characters_that_steer_a_terminal_are_escaped(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], more: str
) -> None:
    """Characters that control a terminal or hide text are escaped; the text around them stays."""
    name = f"a{_UNSEEN}ä漢\xa0🚀z"
    value = b"\1\2\0" + unsigned_varint(len((name + more).encode("utf-8", "surrogatepass")) + 1)
    value += (name + more).encode("utf-8", "surrogatepass") + bytes(16) + b"\0"
    path = logs.write(tmp_path, batch_of(NewBatch(base_offset=0), [logs.NewRecord(value)]))
    assert main(["dump", str(path)]) == 0
    out = capfdbinary.readouterr().out.decode()
    assert not set(out) & set(_UNSEEN)
    assert json.loads(out)["data"]["name"].startswith(name)
    assert "ä漢\xa0🚀z" in out


def test_what_the_operator_removes_from_text_is_escaped() -> None:
    """The escaped characters are those that the operator removes from any text; spaces of any width stay."""
    unclear = {"Cn", "Co", "Cs"}  # unassigned, for private use, and half of a pair
    for character in map(chr, range(0x7F, 0x110000)):
        if (category := unicodedata.category(character)) not in unclear:
            removed = category != "Zs" and not clean(character, max_chars=2)
            assert bool(STEERING.match(character)) == removed, f"U+{ord(character):04X}"


def test_a_file_name_cannot_steer_a_terminal(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Control characters in a file name are quoted in messages."""
    path = logs.write(tmp_path, b"no log", "\x1b[2J\x9b\u202e.log")
    assert main(["dump", str(path)]) == 1
    said = capfdbinary.readouterr().err.decode()
    assert not {"\x1b", "\x9b", "\u202e"} & set(said)
    assert "\\x1b[2J\\x9b\\u202e.log" in said


@pytest.mark.parametrize("package", ["numba", "numpy", "pyarrow"])
def test_a_missing_package_is_named(package: str) -> None:
    """Without the extra `history`, the command prints what to install, and no traceback."""
    hidden = f"import sys, runpy; sys.modules[{package!r}] = None; sys.argv = ['kraftlog', 'dump', 'x.log']"
    code = f"{hidden}; runpy.run_module('kraftlog', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=_OPERATOR)
    assert done.returncode == 1
    assert "pip install 'kafka-quorum-operator[history]'" in done.stderr
    assert f"the Python package {package} is missing" in done.stderr
    assert "Traceback" not in done.stderr
