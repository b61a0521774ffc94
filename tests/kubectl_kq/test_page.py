"""docs/kubectl-kq.md says what the plugin does: its commands, options, exit codes, rights and transcripts."""

import argparse
import re

import pytest
from tests.kubectl_kq import transcript

from kubectl_kq.completion import _commands
from kubectl_kq.page import CODES
from kubectl_kq.parser import COMMANDS, parser

TEXT = transcript.PAGE.read_text()


def table(heading: str) -> list[list[str]]:
    """The cells of the table with this heading, row by row."""
    _, _, rest = TEXT.partition(f"{heading}\n")
    assert rest, heading
    lines = rest.splitlines()[1:]
    end = next(place for place, line in enumerate(lines) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


def options(one: argparse.ArgumentParser) -> set[str]:
    """The options of a parser without that for help."""
    return {flag for action in one._actions for flag in action.option_strings} - {"-h", "--help"}


def test_every_command_is_listed() -> None:
    """The table of commands is that of the parser, with the same sentences, and says what is changed."""
    rows = table("| command | does | changes |")
    assert [(row[0], row[1]) for row in rows] == [(f"`{each.name}`", each.does) for each in COMMANDS]
    assert [row[2] != "nothing" for row in rows] == [each.acts for each in COMMANDS]


def test_every_option_is_listed() -> None:
    """The tables of options have every option of the parser, and no other."""
    common = options(parser())
    listed = {flag for row in table("| option | |") for flag in re.findall(r"`(-[\w-]+)`", row[0])}
    assert listed == common
    own = {(f"`{name}`", f"`{flag}`") for name, one in _commands(parser()).items() for flag in options(one) - common}
    rows = table("| command | option | |")
    assert {(row[0], flag) for row in rows for flag in re.findall(r"`-[\w-]+`", row[1])} == own


def test_every_exit_code_is_listed() -> None:
    """The table of exit codes is that of the help."""
    assert {int(row[0]): row[1] for row in table("| code | |")} == CODES


def test_rights_are_listed_for_every_command() -> None:
    """Each command has the role that it needs: an editor's if it changes something, else a viewer's or none."""
    rows = {row[0]: row[1] for row in table("| command | role in the namespace | what more rights show |")}
    expected = {
        f"`{each.name}`": "`edit`" if each.acts else "`view`" if each.on_quorum else "none" for each in COMMANDS
    }
    assert rows == expected


def test_transcripts_are_what_the_plugin_prints() -> None:
    """The blocks of the page are the plugin's own output: `python -m tests.kubectl_kq.transcript` writes them."""
    assert transcript.written(TEXT) == TEXT
    assert max(map(len, transcript.block().splitlines())) <= 100


def test_a_page_without_its_block_is_noticed() -> None:
    """A page that has lost its mark is an error, and no empty transcript."""
    with pytest.raises(AssertionError, match="no block"):
        transcript.written("# A page\n")
