"""The commands: what each one reads, which page is made of it, and how it is printed.

Here is everything that is not pure, except the calls of kubectl: clock, files, terminal. What cannot be answered
ends with one line on stderr and an exit code of `page.CODES`.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kubectl_kq import acts, bundle, completion, doctor, explain, history, logs, plan, reading, render, status
from kubectl_kq.answers import Found, NotRead, Ran
from kubectl_kq.deciding import run_hold, run_recover, run_replace, run_unhold
from kubectl_kq.kubectl import Kubectl
from kubectl_kq.page import INTERRUPTED, MISUSED, REFUSED, UNKNOWN, Page
from kubectl_kq.parser import MisusedError, kubectl_flags, parsed, parser
from kubectl_kq.planning import run_plan
from kubectl_kq.run import Run, StoppedError, read_quorum, sent
from kubectl_kq.sources import Look, Source, all_quorums
from kubectl_kq.text import clean

_COMPLETION_TIMEOUT_S: Final = 2.0
_OBSERVED_MAX_BYTES: Final = 256 << 20
"""Of files with observations, so much is read at most: the newest files."""
_FILE_MODE: Final = 0o600


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _complete(words[1:]) if words[:1] == [completion.HIDDEN] else _run(words)
    except MisusedError as error:
        return _complain(str(error), MISUSED)
    except StoppedError as error:
        return _complain(str(error), error.code)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader has seen enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNKNOWN
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}", UNKNOWN)


def _complain(message: str, code: int) -> int:
    print(f"kubectl-kq: {clean(message)}", file=sys.stderr)  # noqa: T201 - a command prints its errors
    return code


def _run(words: list[str]) -> int:
    chosen = parsed(words)
    if chosen.command == "completion":
        sys.stdout.write(completion.SCRIPTS[chosen.shell])
        return 0
    kubectl = Kubectl(kubectl_flags(chosen), timeout_s=chosen.request_timeout)
    namespace = chosen.namespace or _namespace(kubectl)
    run = Run(chosen=chosen, kubectl=kubectl, namespace=namespace, name=chosen.name or "", now=datetime.now(UTC))
    page = _COMMANDS[chosen.command](run) if run.name else _without_name(run)
    _print(page, chosen)
    return page.code


def _namespace(kubectl: Kubectl) -> str:
    """The namespace of kubectl's context."""
    ran = kubectl.run("config", "view", "--minify", "--output=jsonpath={.contexts[0].context.namespace}")
    if isinstance(ran, Ran) and ran.code == 0:
        return clean(ran.out) or "default"
    words = ran.words if isinstance(ran, NotRead) else clean(ran.err)
    raise StoppedError(UNKNOWN, f"kubectl names no namespace ({words}): give one with -n NAMESPACE")


def _without_name(run: Run) -> Page:
    """The command for the only quorum of the namespace; `status` lists them, if there are several or none."""
    answer = run.kubectl.get(all_quorums(run.namespace))
    if isinstance(answer, NotRead):
        if run.chosen.command == "doctor":
            look = Look(namespace=run.namespace, name=reading.UNREADABLE, answers={Source.QUORUM: answer})
            return doctor.doctor_page(look, run.now)
        raise StoppedError(UNKNOWN, f"The quorums of namespace {run.namespace} were not read: {answer.words}")
    items = reading.items(answer.value)
    if len(items) == 1:
        return _COMMANDS[run.chosen.command](replace(run, name=reading.name(items[0])))
    if run.chosen.command == "status":
        return status.list_page(items, run.namespace, run.now)
    if not items:
        raise StoppedError(UNKNOWN, f"There is no KafkaQuorum in namespace {run.namespace}: name another one with -n")
    names = ", ".join(map(reading.name, items))
    raise StoppedError(MISUSED, f"Namespace {run.namespace} has several quorums: name one of {names}")


def _status(run: Run) -> Page:
    look = run.look(status.SOURCES)
    read_quorum(look)
    return status.status_page(look, run.now)


def _explain(run: Run) -> Page:
    look = run.look(explain.SOURCES)
    read_quorum(look)
    planned = plan.looked(run.kubectl.get(plan.look_path(run.namespace, run.name)), run.now)
    return explain.explain_page(look, run.now, planned)


def _doctor(run: Run) -> Page:
    return doctor.doctor_page(run.with_nodes(run.look(doctor.SOURCES)), run.now)


def _history(run: Run) -> Page:
    observed = tuple(_observations(run.chosen.observations)) if run.chosen.observations else ()
    return history.history_page(
        run.look(history.SOURCES), run.now, observed=observed, since_s=run.chosen.since, limit=run.chosen.limit
    )


def _observations(place: str) -> Iterator[str]:
    """The lines of the newest files of observations at a path, up to a bound (OSError)."""
    path = Path(place)
    files = sorted(path.glob("*.jsonl"), reverse=True) if path.is_dir() else [path]
    if not files:
        raise StoppedError(UNKNOWN, f"{place} has no file *.jsonl with observations: name another directory")
    left = _OBSERVED_MAX_BYTES
    for file in files:
        left -= file.stat().st_size
        if left < 0:
            return
        with file.open(encoding="utf-8", errors="replace") as lines:
            yield from lines


def _logs(run: Run) -> Page:
    chosen = run.chosen
    look = run.look((*logs.SOURCES, *((Source.OPERATOR,) if chosen.operator else ())))
    since = f"{max(1, round(chosen.since))}s" if chosen.since else ""
    wanted = logs.Wanted(tail=chosen.tail, since=since, previous=chosen.previous)
    source = Source.OPERATOR if chosen.operator else Source.PODS
    if isinstance(answer := look.answer(source), NotRead):
        raise StoppedError(UNKNOWN, f"{source.value} were not read: {answer.words}")
    asked = logs.operator_commands(look, wanted) if chosen.operator else logs.commands(look, chosen.node, wanted)
    return logs.logs_page(look, run.kubectl.texts(asked), asked=chosen.node, tail=chosen.tail)


def _report(run: Run) -> Page:
    look = run.with_nodes(run.look(bundle.SOURCES))
    pages = [doctor.doctor_page(look, run.now), history.history_page(look, run.now)]
    if isinstance(look.answer(Source.QUORUM), Found):
        pages += [status.status_page(look, run.now), explain.explain_page(look, run.now)]
    wanted = logs.Wanted(tail=run.chosen.tail)
    asked = logs.commands(look, (), wanted) | logs.operator_commands(look, wanted)
    printed = run.kubectl.texts(asked)
    files = bundle.members(look, pages, printed, tail=run.chosen.tail)
    folder = f"kq-{run.namespace}-{run.name}-{run.now:%Y%m%dT%H%M%SZ}"
    path = Path(run.chosen.file or f"{folder}.tar.gz")
    _store(path, bundle.archive(files, folder, run.now))
    return bundle.report_page(look, files, printed, str(path))


def _store(path: Path, content: bytes) -> None:
    """A file that only this user may read: all of it or nothing, and never over another one."""
    if path.exists():
        raise StoppedError(UNKNOWN, f"Did not write {path}: it exists. Remove it, or name another file with --file")
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        hidden = Path(file.name)
        try:
            hidden.chmod(_FILE_MODE)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.link(hidden, path)  # fails if the name exists by now
        finally:
            hidden.unlink()


def _pause(run: Run) -> Page:
    return _set_paused(run, paused=True, force=run.chosen.force)


def _resume(run: Run) -> Page:
    return _set_paused(run, paused=False, force=False)


def _set_paused(run: Run, *, paused: bool, force: bool) -> Page:
    quorum = read_quorum(run.look((Source.QUORUM,)))
    wanted = acts.pausing(quorum, paused=paused, force=force)
    command = "pause" if paused else "resume"
    if isinstance(wanted, acts.Refused):
        raise StoppedError(REFUSED, wanted.message)
    if wanted is None:
        return acts.acted_page(command, quorum, changed=False, message=f"spec.paused is {str(paused).lower()} already")
    sent(run, acts.patch_command(run.namespace, run.name, wanted), f"spec.paused of {run.name}")
    effect = "nothing of it is changed or repaired" if paused else "the operator acts on it again"
    return acts.acted_page(command, quorum, changed=True, message=f"spec.paused is {str(paused).lower()} now: {effect}")


_COMMANDS: Final[dict[str, Callable[[Run], Page]]] = {
    "status": _status,
    "explain": _explain,
    "doctor": _doctor,
    "plan": run_plan,
    "history": _history,
    "logs": _logs,
    "report": _report,
    "pause": _pause,
    "resume": _resume,
    "hold": run_hold,
    "unhold": run_unhold,
    "replace": run_replace,
    "recover": run_recover,
}
"""What each command does."""


def _print(page: Page, chosen: argparse.Namespace) -> None:
    """The page on stdout."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    match chosen.output:
        case "json":
            text = render.as_json(page)
        case "yaml":
            text = render.as_yaml(page)
        case _:
            terminal = sys.stdout.isatty()
            width = shutil.get_terminal_size((render.WIDTH_CHARS, 0)).columns if terminal else render.WIDTH_CHARS
            text = render.as_text(page, width=width, colour=coloured(chosen.color, terminal=terminal))
    sys.stdout.write(text)
    sys.stdout.flush()


def coloured(choice: str, *, terminal: bool) -> bool:
    """Whether the text has colours: on a terminal that shows them, unless NO_COLOR is set."""
    if choice != "auto":
        return choice == "always"
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def _complete(words: Sequence[str]) -> int:
    """Print what the last word may become. An error prints nothing: the shell is in the middle of a line."""
    root = parser()
    names: list[str] = []
    if completion.wants_names(words, root):
        try:
            chosen = parsed([*words[:-1], "x"])
            kubectl = Kubectl(kubectl_flags(chosen), timeout_s=_COMPLETION_TIMEOUT_S)
            answer = kubectl.get(all_quorums(chosen.namespace or _namespace(kubectl)))
            names = [reading.name(item) for item in reading.items(answer.value)] if isinstance(answer, Found) else []
        except (MisusedError, StoppedError):
            names = []
    sys.stdout.write("".join(f"{each}\n" for each in completion.candidates(words, root, names)))
    return 0
