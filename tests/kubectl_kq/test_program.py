"""The commands from the command line to the exit code, with a kubectl that hangs, refuses or answers nonsense."""

import json
import tarfile
import time
from pathlib import Path

import pytest
import yaml
from tests.kubectl_kq.fake_kubectl import Fake, Prepared, fails, forbidden, gives, hangs
from tests.kubectl_kq.worlds import HOSTILE, PATHS, ago, listed, prepared, quorum, saying

from kubectl_kq import program
from kubectl_kq.page import CRIT, DONE, MISUSED, REFUSED, UNKNOWN, WARN
from kubectl_kq.program import coloured, main
from kubectl_kq.sources import Source

READING = ("status", "explain", "doctor", "history", "logs")
FAST = "--request-timeout=1s"

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("output", ["text", "json", "yaml"])
def test_a_quorum_that_is_well(fake: Fake, capsys: Capture, command: str, output: str) -> None:
    """Each command that reads ends with 0, and prints text, JSON or YAML."""
    fake.prepare(prepared())
    assert main([command, "demo", "-n", "kafka", "-o", output]) == DONE
    out, err = capsys.readouterr()
    assert err == ""
    assert "demo" in out
    if output != "text":
        found = json.loads(out) if output == "json" else yaml.safe_load(out)
        assert found["command"] == command
        assert found["name"] == "demo"


@pytest.mark.parametrize("command", READING)
def test_no_command_reads_a_secret_or_changes_something(fake: Fake, capsys: Capture, command: str) -> None:
    """Commands that read call `get`, `logs` and `config view` only, and never for Secrets."""
    fake.prepare(prepared())
    main([command, "demo"])
    capsys.readouterr()
    calls = fake.calls()
    assert {words[0] for words in calls} <= {"get", "logs", "config"}
    assert not [words for words in calls if "secret" in " ".join(words).lower()]
    assert all(any(word.startswith("--request-timeout=") for word in words) for words in calls)


@pytest.mark.parametrize("command", ["status", "explain", "doctor", "history", "logs", "pause"])
def test_an_api_server_that_hangs_ends_with_a_reason(fake: Fake, capsys: Capture, command: str) -> None:
    """If nothing answers, every command ends at its deadline, with a reason and not with 0."""
    fake.prepare([hangs("")])
    began_s = time.monotonic()
    code = main([command, "demo", "-n", "kafka", FAST])
    assert time.monotonic() - began_s < 15
    assert code == (CRIT if command == "doctor" else UNKNOWN)
    out, err = capsys.readouterr()
    assert "no answer within" in out + err


@pytest.mark.parametrize("source", [Source.EVENTS, Source.PODS, Source.RECORD, Source.OPERATOR])
def test_one_object_that_hangs_is_a_row(fake: Fake, capsys: Capture, source: Source) -> None:
    """If one object does not answer, `doctor` ends in time, and everything else is examined."""
    fake.prepare([hangs(PATHS[source]), *prepared()])
    began_s = time.monotonic()
    code = main(["doctor", "demo", "-n", "kafka", FAST, "-o", "json"])
    assert time.monotonic() - began_s < 15
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert "OK" in {row["level"] for row in checks}
    assert code == UNKNOWN


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (forbidden("/kafkaquorums/demo"), "cannot get it"),
        (
            fails(
                "/kafkaquorums/demo", "Error from server (NotFound): the server could not find the requested resource"
            ),
            "could not find",
        ),
        (Prepared(on=("/kafkaquorums/demo",), out="<html>"), "no JSON"),
        (fails("/kafkaquorums/demo", HOSTILE), "goes on"),
    ],
    ids=["forbidden", "no CRD", "no JSON", "hostile"],
)
@pytest.mark.parametrize("command", ["status", "explain", "pause"])
def test_a_quorum_that_is_not_read(fake: Fake, capsys: Capture, answer: Prepared, words: str, command: str) -> None:
    """Without the quorum a command ends with 3 and one clean line on stderr; nothing is changed."""
    fake.prepare([answer, *prepared()])
    assert main([command, "demo", "-n", "kafka"]) == UNKNOWN
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert all(character.isprintable() for character in err[:-1])
    assert "patch" not in {call[0] for call in fake.calls()}


def test_hostile_objects_are_printed_clean(fake: Fake, capsys: Capture) -> None:
    """Control characters in conditions, events, names and logs never reach the terminal."""
    item = saying({"message": HOSTILE, "doing": HOSTILE}, Degraded=("True", HOSTILE, HOSTILE))
    log = Prepared(on=("logs",), out=f"{HOSTILE}\n\x1b]52;c;aGk=\x07x\n")
    fake.prepare([log, *prepared({Source.QUORUM: item})])
    for command in READING:
        for output in ("text", "json", "yaml"):
            main([command, "demo", "-n", "kafka", "-o", output])
            out, err = capsys.readouterr()
            assert all(character.isprintable() or character == "\n" for character in out + err), command


def test_the_namespace_and_the_only_quorum_are_found(fake: Fake, capsys: Capture) -> None:
    """Without -n the namespace is that of kubectl's context; without a name the only quorum is taken."""
    fake.prepare(prepared())
    assert main(["status", "--context", "test", "-o", "json"]) == DONE
    assert json.loads(capsys.readouterr().out)["namespace"] == "kafka"
    assert all("--context=test" in call for call in fake.calls())


def test_without_a_namespace_the_command_says_so(fake: Fake, capsys: Capture) -> None:
    """If kubectl names no namespace, the error quotes it, and says what to give."""
    fake.prepare([fails("config", "error: current-context must exist in order to minify")])
    assert main(["status"]) == UNKNOWN
    assert "give one with -n" in capsys.readouterr().err
    fake.prepare([Prepared(on=("config",), out=""), *prepared()])
    assert main(["status", "demo"]) == DONE  # a context without a namespace means `default`
    assert any("/namespaces/default/kafkaquorums/demo" in word for call in fake.calls() for word in call)


def test_several_quorums_and_none(fake: Fake, capsys: Capture) -> None:
    """`status` lists several quorums, and says that there is none; other commands ask for a name."""
    other = quorum()
    other["metadata"]["name"] = "other"
    fake.prepare([gives("/kafkaquorums?", listed(quorum(), other))])
    assert main(["status", "-n", "kafka", "-o", "json"]) == DONE
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["quorums"]] == ["demo", "other"]
    assert main(["explain", "-n", "kafka"]) == MISUSED
    assert "demo, other" in capsys.readouterr().err
    fake.prepare([gives("/kafkaquorums?", listed())])
    assert main(["status", "-n", "kafka"]) == DONE
    assert main(["explain", "-n", "kafka"]) == UNKNOWN
    fake.prepare([fails("", "Unable to connect to the server")])
    assert main(["doctor", "-n", "kafka"]) == CRIT
    assert main(["explain", "-n", "kafka"]) == UNKNOWN


@pytest.mark.parametrize(("command", "before", "after"), [("pause", False, True), ("resume", True, False)])
def test_pause_and_resume(fake: Fake, capsys: Capture, command: str, before: bool, after: bool) -> None:  # noqa: FBT001
    """Each changes one field by a merge patch; if it has that value, no request is sent."""
    changed = gives("patch", quorum())
    fake.prepare([changed, *prepared({Source.QUORUM: saying(spec={"paused": before})})])
    assert main([command, "demo", "-n", "kafka", "-o", "json"]) == DONE
    assert json.loads(capsys.readouterr().out)["changed"] is True
    (patch,) = [call for call in fake.calls() if call[0] == "patch"]
    assert patch[1:3] == ["kafkaquorums.kafkaquorum.io", "demo"]
    assert f'--patch={{"spec": {{"paused": {str(after).lower()}}}}}' in patch
    fake.prepare([changed, *prepared({Source.QUORUM: saying(spec={"paused": after})})])
    assert main([command, "demo", "-n", "kafka", "-o", "json"]) == DONE
    assert json.loads(capsys.readouterr().out)["changed"] is False
    assert len([call for call in fake.calls() if call[0] == "patch"]) == 1


def test_a_pause_that_would_do_harm_is_refused(fake: Fake, capsys: Capture) -> None:
    """While a roll back has stopped the controllers a pause is refused, unless it is forced."""
    item = saying({"migration": {"name": "ControllersStop"}})
    fake.prepare([gives("patch", item), *prepared({Source.QUORUM: item})])
    assert main(["pause", "demo", "-n", "kafka"]) == REFUSED
    assert "Did not pause demo" in capsys.readouterr().err
    assert "patch" not in {call[0] for call in fake.calls()}
    assert main(["pause", "demo", "-n", "kafka", "--force"]) == DONE


def test_a_change_without_an_answer_is_unknown(fake: Fake, capsys: Capture) -> None:
    """If a change is not confirmed, the command says that this is unknown, and that a repetition is safe."""
    fake.prepare([fails("patch", "context deadline exceeded"), *prepared()])
    assert main(["pause", "demo", "-n", "kafka"]) == UNKNOWN
    assert "It is not known whether spec.paused of demo was changed" in capsys.readouterr().err


def test_logs_of_a_node_that_is_down_are_a_row(fake: Fake, capsys: Capture) -> None:
    """One pod whose log does not come is named; the lines of the others are shown."""
    fake.prepare([hangs("demo-3002-g1"), *prepared()])
    assert main(["logs", "demo", "-n", "kafka", FAST, "-o", "json"]) == UNKNOWN
    found = json.loads(capsys.readouterr().out)
    assert {row["of"] for row in found["lines"]} == {"3000", "3001"}
    assert [row["what"] for row in found["notRead"]] == ["log of demo-3002-g1"]


def test_logs_are_chosen(fake: Fake, capsys: Capture) -> None:
    """Controllers, number of lines, their age and the container before are passed on; the operator's are filtered."""
    fake.prepare(prepared())
    assert (
        main(["logs", "demo", "-n", "kafka", "--node=3001", "--node=9", "--tail=1", "--since=2m", "--previous"]) == DONE
    )
    out = capsys.readouterr().out
    assert "Without a pod" in out
    (call,) = [call for call in fake.calls() if call[0] == "logs"]
    assert {"--tail=1", "--since=120s", "--previous", "--container=kafka", "demo-3001-g1"} <= set(call)
    assert main(["logs", "demo", "-n", "kafka", "--operator", "-o", "json"]) == DONE
    assert [row["line"] for row in json.loads(capsys.readouterr().out)["lines"]] == [
        "[2026-01-01] INFO kafka/demo looks"
    ]
    fake.prepare([forbidden("/namespaces/kafka-quorum-system/pods"), *prepared()])
    assert main(["logs", "demo", "-n", "kafka", "--operator"]) == UNKNOWN


def test_a_report_is_written_once_and_for_its_owner(fake: Fake, capsys: Capture, tmp_path: Path) -> None:
    """The archive is readable by its owner only, is whole, and never replaces a file."""
    fake.prepare(prepared())
    assert main(["report", "demo", "-n", "kafka", "--file", "r.tar.gz"]) == DONE
    path = tmp_path / "r.tar.gz"
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {
        "status.txt",
        "explain.json",
        "doctor.txt",
        "history.txt",
        "logs/demo-3000-g1.log",
        "not-read.json",
    } <= names
    before = path.read_bytes()
    assert main(["report", "demo", "-n", "kafka", "--file", "r.tar.gz"]) == UNKNOWN
    assert "it exists" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    assert main(["report", "demo", "-n", "kafka"]) == DONE
    assert (tmp_path / "kq-kafka-demo-20260101T120000Z.tar.gz").exists()


def test_a_report_without_the_quorum(fake: Fake, tmp_path: Path, capsys: Capture) -> None:
    """If the quorum itself does not answer, the archive has what was read."""
    fake.prepare([fails("/kafkaquorums/demo", "deadline exceeded"), *prepared()])
    assert main(["report", "demo", "-n", "kafka", "--file", "r.tar.gz"]) == UNKNOWN
    with tarfile.open(tmp_path / "r.tar.gz") as tar:
        assert "doctor.txt" in {name.partition("/")[2] for name in tar.getnames()}
    assert "KafkaQuorum" in capsys.readouterr().out
    assert main(["report", "demo", "-n", "kafka", "--file", "none/r.tar.gz"]) == UNKNOWN
    assert "none" in capsys.readouterr().err


def test_history_reads_observations(fake: Fake, capsys: Capture, tmp_path: Path) -> None:
    """Files of observations are read from a directory; a place without any is an error."""
    fake.prepare(prepared())
    row = {"observedAt": ago(90), "namespace": "kafka", "name": "demo", "quorum": {"leaderID": 3000, "leaderEpoch": 1}}
    (tmp_path / "observations-1.jsonl").write_text(json.dumps(row) + "\n")
    assert main(["history", "demo", "-n", "kafka", "--observations", str(tmp_path), "--since", "1h"]) == DONE
    assert "controller 3000 leads, epoch 1" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    assert main(["history", "demo", "-n", "kafka", "--observations", str(tmp_path / "empty")]) == UNKNOWN
    assert main(["history", "demo", "-n", "kafka", "--observations", str(tmp_path / "none.jsonl")]) == UNKNOWN


def test_observations_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many files the newest are read, up to a bound."""
    for number in range(3):
        (tmp_path / f"observations-{number}.jsonl").write_text(f"{number}\n")
    monkeypatch.setattr(program, "_OBSERVED_MAX_BYTES", 4)
    assert list(program._observations(str(tmp_path))) == ["2\n", "1\n"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["statsu"],
        ["status", "Demo!"],
        ["status", "-o", "xml"],
        ["status", "--request-timeout", "0"],
        ["status", "--request-timeout", "1h"],
        ["pause"],
        ["logs", "demo", "--node", "x"],
        ["logs", "demo", "--tail", "0"],
        ["history", "demo", "--since", "yesterday"],
        ["completion", "fish"],
    ],
)
def test_a_wrong_command_line_is_64(fake: Fake, capsys: Capture, words: list[str]) -> None:
    """A wrong command or option ends with 64 and a line that says what is wrong; kubectl is not called."""
    assert main(words) == MISUSED
    assert "--help" in capsys.readouterr().err
    assert fake.calls() == []


def test_options_stand_before_or_after_the_command(fake: Fake, capsys: Capture) -> None:
    """Common options count on both sides of the command, and a name may have its kind."""
    fake.prepare(prepared())
    assert main(["-n", "kafka", "-o", "json", "status", "kq/demo"]) == DONE
    assert json.loads(capsys.readouterr().out)["name"] == "demo"


def test_doctor_has_the_exit_code_of_the_worst(fake: Fake, capsys: Capture) -> None:
    """1 for WARN, 2 for CRIT."""
    fake.prepare(prepared({Source.QUORUM: saying(spec={"paused": True})}))
    assert main(["doctor", "demo", "-n", "kafka"]) == WARN
    fake.prepare(prepared({Source.PODS: listed()}))
    assert main(["doctor", "demo", "-n", "kafka"]) == CRIT
    capsys.readouterr()


def test_colours_are_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours need a terminal that shows them, and NO_COLOR turns them off; a choice of the person counts first."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert coloured("auto", terminal=True)
    assert not coloured("auto", terminal=False)
    assert coloured("always", terminal=False)
    assert not coloured("never", terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured("auto", terminal=True)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not coloured("auto", terminal=True)


def test_an_interruption_ends_the_command(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with 130 and one line."""

    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "_run", interrupted)
    assert main(["status"]) == 130
    assert capsys.readouterr().err == "kubectl-kq: interrupted\n"
