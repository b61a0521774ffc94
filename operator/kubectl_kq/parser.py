"""The command line: commands, options, and the errors of wrong ones. Pure, except that `--help` prints."""

import argparse
import re
from dataclasses import dataclass
from typing import Final, NoReturn

from kubectl_kq.page import CODES
from kubectl_kq.sources import OPERATOR_NAMESPACE

PROG: Final = "kubectl kq"
OUTPUTS: Final = ("text", "json", "yaml")
SHELLS: Final = ("bash", "zsh")
TIMEOUT_S: Final = 5.0
_TIMEOUT_MAX_S: Final = 600.0
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_LINES_MAX: Final = 100_000


class MisusedError(Exception):
    """A wrong command line; the text says what is wrong, and what is right."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Argparse would end with 2, which is a result of `doctor`."""
        raise MisusedError(f"{message}. See {self.prog} --help")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command: what it does in one sentence, whether it changes something, and whether it needs a name."""

    name: str
    does: str
    acts: bool = False
    needs_name: bool = False
    on_quorum: bool = True


COMMANDS: Final = (
    Command(name="status", does="one screen: what the quorum does, its voters, waits, conditions and broker pools"),
    Command(name="explain", does="every wait with its rule, its evidence and what unblocks it"),
    Command(name="plan", does="what the operator would do next, or with an edited file; nothing is touched", acts=True),
    Command(name="doctor", does="ordered checks, each OK, WARN or CRIT; also while no operator runs"),
    Command(
        name="history", does="what happened, in order: events, changes of objects, the identity record, observations"
    ),
    Command(name="logs", does="the last lines of the log of every controller, or of the operator"),
    Command(name="report", does="an archive for others to look at, without Secrets, keys and passwords"),
    Command(name="pause", does="stop every act of the operator on this quorum", acts=True, needs_name=True),
    Command(name="resume", does="let the operator act again", acts=True, needs_name=True),
    Command(name="hold", does="keep the operator from pods and disks of controllers", acts=True, needs_name=True),
    Command(name="unhold", does="let the operator act on controllers again", acts=True, needs_name=True),
    Command(name="replace", does="give up the present disk of a controller", acts=True, needs_name=True),
    Command(
        name="recover",
        does="what is left of a quorum that lost its majority, and the decision to recover it",
        acts=True,
        needs_name=True,
    ),
    Command(name="completion", does="print the completion script of a shell", on_quorum=False),
)
"""Every command, in the order of the help."""


def duration_s(text: str) -> float:
    """Seconds in a text such as 45, 45s, 15m, 2h or 1d."""
    found = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)([smhd]?)", text)
    if found is None or not float(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time: write it as 45s, 15m, 2h or 1d")
    return float(found[1]) * _UNITS_S[found[2] or "s"]


def _timeout_s(text: str) -> float:
    seconds = duration_s(text)
    if seconds > _TIMEOUT_MAX_S:
        raise argparse.ArgumentTypeError(f"{text!r} is too long: at most {_TIMEOUT_MAX_S:.0f}s")
    return seconds


def _name(text: str) -> str:
    """A name of Kubernetes, or KIND/NAME of a quorum."""
    name = re.sub(r"^(kq|kafkaquorums?(\.kafkaquorum\.io)?)/", "", text)
    if not _NAME.fullmatch(name):
        raise argparse.ArgumentTypeError(f"{text!r} is no name: small letters, digits, '-' and '.'")
    return name


def _lines(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text) or not 0 < int(text) <= _LINES_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 1 to {_LINES_MAX}")
    return int(text)


def _node_id(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no node id: write it as 3000")
    return int(text)


def _common() -> _Parser:
    """Options of every command, before or after it."""
    common = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("-n", "--namespace", type=_name, metavar="NAMESPACE", help="default: that of kubectl's context")
    common.add_argument("-o", "--output", choices=OUTPUTS, help="default: text")
    common.add_argument("--context", metavar="NAME", help="kubectl's context")
    common.add_argument("--kubeconfig", metavar="FILE", help="kubectl's configuration")
    common.add_argument("--cluster", metavar="NAME", help="kubectl's cluster")
    common.add_argument("--user", metavar="NAME", help="kubectl's user")
    common.add_argument("--as", metavar="USER", dest="as_user", help="act as another user, as kubectl does")
    common.add_argument(
        "--request-timeout",
        type=_timeout_s,
        metavar="TIME",
        help=f"the deadline of each call; default: {TIMEOUT_S:.0f}s",
    )
    common.add_argument(
        "--operator-namespace", type=_name, metavar="NAMESPACE", help=f"the operator's; default: {OPERATOR_NAMESPACE}"
    )
    common.add_argument("--color", choices=("auto", "always", "never"), help="default: auto, on a terminal only")
    return common


def parser() -> argparse.ArgumentParser:
    """The parser of every command."""
    codes = "; ".join(f"{code}: {meaning}" for code, meaning in CODES.items())
    common = _common()
    root = _Parser(
        prog=PROG,
        description="What a Kafka controller quorum does, why it waits, and what is wrong.",
        epilog=f"Exit codes. {codes}.",
        parents=[common],
    )
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for command in COMMANDS:
        one = commands.add_parser(command.name, help=command.does, description=f"{command.does}.", parents=[common])
        if command.on_quorum:
            _named(one, command)
        _OPTIONS.get(command.name, _nothing)(one)
    return root


def _named(one: argparse.ArgumentParser, command: Command) -> None:
    if command.needs_name:
        one.add_argument("name", type=_name, metavar="NAME", help="the quorum")
    else:
        one.add_argument("name", type=_name, metavar="NAME", nargs="?", help="the quorum; default: the only one")


def _nothing(_: argparse.ArgumentParser) -> None:
    """A command without options of its own."""


def _of_history(one: argparse.ArgumentParser) -> None:
    one.add_argument("--since", type=duration_s, metavar="TIME", help="leave out what is older, such as 2h")
    one.add_argument("--limit", type=_lines, default=200, metavar="N", help="the newest N entries; default: 200")
    one.add_argument("--observations", metavar="PATH", help="a file or a directory of observations (JSON lines)")


def _of_plan(one: argparse.ArgumentParser) -> None:
    one.add_argument("-f", "--file", metavar="FILE", help="the edited manifest of the quorum; - for standard input")


def _of_logs(one: argparse.ArgumentParser) -> None:
    one.add_argument("--node", type=_node_id, action="append", default=[], metavar="ID", help="only this controller")
    one.add_argument("--tail", type=_lines, default=50, metavar="N", help="the last N lines of each; default: 50")
    one.add_argument("--since", type=duration_s, metavar="TIME", help="leave out what is older, such as 15m")
    one.add_argument("--previous", action="store_true", help="of the container before the last restart")
    one.add_argument("--operator", action="store_true", help="what the operator logs about this quorum instead")


def _of_report(one: argparse.ArgumentParser) -> None:
    one.add_argument("--file", metavar="FILE", help="the archive to make; default: kq-NAMESPACE-NAME-TIME.tar.gz here")
    one.add_argument("--tail", type=_lines, default=2000, metavar="N", help="lines of each log; default: 2000")


def _of_pause(one: argparse.ArgumentParser) -> None:
    one.add_argument("--force", action="store_true", help="also while a roll back has stopped the controllers")


def _of_hold(one: argparse.ArgumentParser) -> None:
    one.add_argument("nodes", type=_node_id, nargs="+", metavar="NODE", help="node ids of controllers")


def _of_unhold(one: argparse.ArgumentParser) -> None:
    one.add_argument("nodes", type=_node_id, nargs="*", metavar="NODE", help="node ids of controllers")
    one.add_argument("--all", action="store_true", help="every controller, also if the annotation cannot be read")


def _of_replace(one: argparse.ArgumentParser) -> None:
    one.add_argument("node", type=_node_id, metavar="NODE", help="the node id of the controller")
    one.add_argument("--confirm", default="", metavar="REPLICA", help="the replica that is given up, as 3001-AbC…")


def _of_recover(one: argparse.ArgumentParser) -> None:
    one.add_argument("--inspect", action="store_true", help="have every disk read; nothing is written to them")
    one.add_argument("--without", type=_node_id, action="append", default=[], metavar="ID", help="give this disk up")
    one.add_argument("--seed", action="append", default=[], metavar="CLAIM[:PATH]", help="another copy of the log")
    one.add_argument("--approve", type=_hash, metavar="PLAN", help="carry out the plan with this hash")
    one.add_argument("--accept-loss", action="store_true", help="with --approve: accept that records are lost")
    one.add_argument("--cancel", action="store_true", help="end it, as long as nothing is given up")
    one.add_argument("--release", type=_epoch, default=0, metavar="N", help="release what recovery N has kept")


def _hash(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{10}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no hash of a plan: copy it from `{PROG} recover`")
    return text


def _epoch(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a recovery: write it as 1")
    return int(text)


def _of_completion(one: argparse.ArgumentParser) -> None:
    one.add_argument("shell", choices=SHELLS)


_OPTIONS: Final = {
    "plan": _of_plan,
    "history": _of_history,
    "logs": _of_logs,
    "report": _of_report,
    "pause": _of_pause,
    "hold": _of_hold,
    "unhold": _of_unhold,
    "replace": _of_replace,
    "recover": _of_recover,
    "completion": _of_completion,
}
"""The options that only one command has."""


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The command line with its defaults (MisusedError)."""
    chosen = parser().parse_args(arguments)
    defaults = {
        "namespace": "",
        "output": "text",
        "context": "",
        "kubeconfig": "",
        "cluster": "",
        "user": "",
        "as_user": "",
        "request_timeout": TIMEOUT_S,
        "operator_namespace": OPERATOR_NAMESPACE,
        "color": "auto",
    }
    for name, value in defaults.items():
        if not hasattr(chosen, name):
            setattr(chosen, name, value)
    return chosen


def kubectl_flags(chosen: argparse.Namespace) -> list[str]:
    """The options that every call of kubectl gets."""
    named = {"context": "context", "kubeconfig": "kubeconfig", "cluster": "cluster", "user": "user", "as_user": "as"}
    return [f"--{flag}={value}" for name, flag in named.items() if (value := getattr(chosen, name))]
