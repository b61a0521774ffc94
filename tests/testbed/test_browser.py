"""The browser and axe-core: which browser is used, and that only the pinned file is used."""

import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from testbed import browser, packages, process
from testbed.config import Paths


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        (("chromium", "chromium-headless-shell"), "chromium-headless-shell"),
        (("google-chrome", "chromium"), "chromium"),
        (("google-chrome",), "google-chrome"),
    ],
)
def test_a_browser_that_is_there_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: Sequence[str], taken: str
) -> None:
    """Any installed kind of Chromium is used, the smallest first, and nothing is installed."""
    monkeypatch.setattr(shutil, "which", lambda name, **_: f"/usr/bin/{name}" if name in there else None)
    assert browser.ensure_browser(Paths(tmp_path)) == Path("/usr/bin", taken)


def test_someone_who_is_not_root_is_told_which_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root, the error is a command for an administrator."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name, **_: "/usr/bin/apt-get" if name == "apt-get" else None)
    with pytest.raises(process.TestbedError, match=r"apt-get install chromium-headless-shell$"):
        browser.ensure_browser(Paths(tmp_path))


def _maven(text: str) -> object:
    """A Maven that copies a jar with this script in it."""

    def run(command: Sequence[object], *_: object, **__: object) -> None:
        (target,) = (str(word).partition("=")[2] for word in command if str(word).startswith("-DoutputDirectory"))
        Path(target).mkdir(parents=True)
        with zipfile.ZipFile(Path(target, "selenium.jar"), "w") as jar:
            jar.writestr(zipfile.ZipInfo("axe.min.js"), text)

    return run


def test_another_jar_than_the_pinned_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a repository answers with another file, its script is not used."""
    monkeypatch.setattr(packages, "ensure", lambda *_: None)
    monkeypatch.setattr(browser, "run", _maven("other"))
    with pytest.raises(process.TestbedError, match=r"\bselenium\.jar\b"):
        browser.ensure_axe(Paths(tmp_path))
    assert list(tmp_path.rglob("axe.min.js")) == []
