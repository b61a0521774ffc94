"""Completion of commands, options and names for bash and zsh. Pure.

Both scripts call `kubectl-kq __complete WORDS…`, so they need no change when the plugin gets another command.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

HIDDEN: Final = "__complete"
"""The command that prints what the last word may become."""

SCRIPTS: Final = {
    "bash": """\
# bash completion of kubectl-kq: source <(kubectl-kq completion bash)
_kubectl_kq() {
  local IFS=$'\\n'
  COMPREPLY=($(kubectl-kq __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null))
}
complete -o default -F _kubectl_kq kubectl-kq
""",
    "zsh": """\
#compdef kubectl-kq
# zsh completion of kubectl-kq: source <(kubectl-kq completion zsh)
_kubectl_kq() {
  local -a found
  found=("${(@f)$(kubectl-kq __complete "${(@)words[2,CURRENT]}" 2> /dev/null)}")
  compadd -- ${found:#}
}
compdef _kubectl_kq kubectl-kq
""",
}
"""The script of each shell."""


def wants_names(words: Sequence[str], root: argparse.ArgumentParser) -> bool:
    """Whether the last word can be the name of a quorum."""
    command = _command(words[:-1], root)
    if command is None or not words or words[-1].startswith("-") or _value_of(words, command) is not None:
        return False
    has_name = any(action.dest == "name" for action in command._actions)  # noqa: SLF001 - argparse has no other way
    return has_name and not any(_is_plain(words, place, command) for place in _after_command(words, root))


def candidates(words: Sequence[str], root: argparse.ArgumentParser, names: Iterable[str] = ()) -> list[str]:
    """What the last word may become. `names` are those of the quorums."""
    last = words[-1] if words else ""
    return sorted(each for each in _possible(words, root, names) if each.startswith(last))


def _possible(words: Sequence[str], root: argparse.ArgumentParser, names: Iterable[str]) -> Iterator[str]:
    command = _command(words[:-1], root)
    parser = command or root
    action = _value_of(words, parser)
    if action is not None:
        yield from map(str, action.choices or ())
    elif words and words[-1].startswith("-"):
        yield from (flag for each in parser._actions for flag in each.option_strings)  # noqa: SLF001
    elif command is None:
        yield from _commands(root)
    else:
        yield from names
        for each in parser._actions:  # noqa: SLF001
            if not each.option_strings and each.choices:
                yield from map(str, each.choices)


def _commands(root: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in root._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return dict(action.choices)
    return {}


def _command(words: Sequence[str], root: argparse.ArgumentParser) -> argparse.ArgumentParser | None:
    place = _command_place(words, root)
    return None if place is None else _commands(root)[words[place]]


def _command_place(words: Sequence[str], root: argparse.ArgumentParser) -> int | None:
    commands = _commands(root)
    places = (place for place in range(len(words)) if _is_plain(words, place, root))
    place = next(places, None)
    return place if place is not None and words[place] in commands else None


def _after_command(words: Sequence[str], root: argparse.ArgumentParser) -> range:
    place = _command_place(words[:-1], root)
    return range(0) if place is None else range(place + 1, len(words) - 1)


def _is_plain(words: Sequence[str], place: int, parser: argparse.ArgumentParser) -> bool:
    """Whether a word is neither an option nor the value of one."""
    return not words[place].startswith("-") and _value_of(words[: place + 1], parser) is None


def _value_of(words: Sequence[str], parser: argparse.ArgumentParser) -> argparse.Action | None:
    """The option whose value the last word is."""
    before = words[-2] if len(words) > 1 else ""
    for action in parser._actions:  # noqa: SLF001
        if before in action.option_strings and action.nargs != 0:
            return action
    return None
