"""Where base images come from."""

from pathlib import Path
from typing import Literal

import pytest

from testbed.config import Paths
from testbed.engine import Engine
from testbed.images import take_public

_DOCKER = """\
#!/bin/sh
# A docker that has, or can pull, the images named in files beside it, and writes down what it is asked.
echo "$@" >> "$(dirname "$0")/asked"
case "$1 $2" in
  "image inspect") grep -qxF "$3" "$(dirname "$0")/here" || [ "$3" = -f ] || exit 1; echo sha256:0123 ;;
  "pull "*) grep -qxF "$2" "$(dirname "$0")/there" ;;
esac
"""


def _engine(tmp_path: Path, kind: Literal["stock", "own"], *, here: str = "", there: str = "") -> tuple[Engine, Path]:
    """An engine whose docker has the images `here`, and can pull those that are `there`; and what docker was asked."""
    paths = Paths(tmp_path)
    paths.bin.mkdir()
    (paths.bin / "docker").write_text(_DOCKER)
    (paths.bin / "docker").chmod(0o755)
    (paths.bin / "here").write_text(here)
    (paths.bin / "there").write_text(there)
    (paths.bin / "asked").touch()
    return Engine(kind, "", paths), paths.bin / "asked"


@pytest.mark.parametrize(("here", "there", "pulls"), [("a:1", "", False), ("", "a:1", True)])
def test_the_public_image_is_taken_where_it_can_be_had(tmp_path: Path, here: str, there: str, *, pulls: bool) -> None:
    """It gets the test-bed's name, so that manifests are the same; nothing is pulled that is there."""
    engine, asked = _engine(tmp_path, "stock", here=here, there=there)
    assert take_public(engine, "a:1", "testbed/a:1") == "sha256:0123"
    said = asked.read_text().splitlines()
    assert "tag a:1 testbed/a:1" in said
    assert ("pull a:1" in said) is pulls


def test_without_a_registry_the_image_is_left_to_be_made(tmp_path: Path) -> None:
    """A pull that fails is no error, and names nothing."""
    engine, asked = _engine(tmp_path, "stock")
    assert take_public(engine, "a:1", "testbed/a:1") is None
    assert "tag" not in asked.read_text()


def test_the_private_docker_is_not_even_asked(tmp_path: Path) -> None:
    """It has no uplink, so a pull could only cost time."""
    engine, asked = _engine(tmp_path, "own", here="a:1")
    assert take_public(engine, "a:1", "testbed/a:1") is None
    assert not asked.read_text()
