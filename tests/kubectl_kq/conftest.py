"""A kubectl on the PATH that gives prepared answers."""

from pathlib import Path

import pytest
from tests.kubectl_kq.fake_kubectl import Fake
from tests.kubectl_kq.worlds import NOW

from kubectl_kq import program


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """The kubectl of this test; the plugin runs in a folder of its own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    found = Fake(folder)
    monkeypatch.setenv("PATH", found.path())
    monkeypatch.chdir(tmp_path)
    return found


class At:
    """The clock of the plugin, which stands still."""

    @staticmethod
    def now(_: object) -> object:
        """The time of the prepared objects."""
        return NOW


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of the plugin is at the same time."""
    monkeypatch.setattr(program, "datetime", At)
