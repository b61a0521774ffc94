"""The origin of base images, and the content of other builds."""

import re
from pathlib import Path
from typing import Literal

import pytest

from testbed import baseimages, binaries, historyimage, operatorimage, sparkoperator
from testbed.config import PROJECT, Paths
from testbed.engine import Engine
from testbed.images import Fill, ensure_image, take_public

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
    """An engine whose docker has the images `here`, can pull those `there`, and records its commands."""
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
    """A public image gets the test-bed's name, so that manifests are the same; a present one is not pulled."""
    engine, asked = _engine(tmp_path, "stock", here=here, there=there)
    assert take_public(engine, "a:1", "testbed/a:1") == "sha256:0123"
    said = asked.read_text().splitlines()
    assert "tag a:1 testbed/a:1" in said
    assert ("pull a:1" in said) is pulls


def test_without_a_registry_the_image_is_left_to_be_made(tmp_path: Path) -> None:
    """A pull that fails is no error, and no image gets a name."""
    engine, asked = _engine(tmp_path, "stock")
    assert take_public(engine, "a:1", "testbed/a:1") is None
    assert "tag" not in asked.read_text()


def test_an_image_whose_common_tag_moved_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another checkout has given `dev` to its own image: the tag is set again, and nothing is downloaded or built."""
    engine, asked = _engine(tmp_path, "own")

    monkeypatch.setattr(Engine, "image_label", lambda _, tag, __: "key" if tag == "operator:dev-1" else "another key")

    def fill(_: Path) -> None:
        pytest.fail("the image is there")

    ensure_image(engine, ["operator:dev-1", "operator:dev"], "key", fill)
    said = asked.read_text().splitlines()
    assert "tag operator:dev-1 operator:dev" in said
    assert not [line for line in said if line.startswith("build")]


def test_the_private_docker_is_not_even_asked(tmp_path: Path) -> None:
    """The private docker has no uplink, so it is not asked to pull."""
    engine, asked = _engine(tmp_path, "own", here="a:1")
    assert take_public(engine, "a:1", "testbed/a:1") is None
    assert not asked.read_text()


def test_the_historys_base_has_a_java_where_the_build_has_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the public Python image the build installs a Java; without a registry the base has one, on the same Debian."""
    made: dict[str, tuple[str, ...]] = {}

    def ensure_debian_with(_: Engine, tag: str, packages: tuple[str, ...], __: str = "") -> str:
        made[tag] = packages
        return "key"

    monkeypatch.setattr(baseimages, "ensure_debian_with", ensure_debian_with)
    public, _ = _engine(tmp_path, "stock", here="python:3.11-slim")
    assert baseimages.ensure_both(public) == (baseimages.PYTHON_IMAGE, "sha256:0123")
    assert made == {}
    assert baseimages.ensure_both(Engine("own", "", Paths(tmp_path))) == (baseimages.BOTH_IMAGE, "key")
    dockerfile = (PROJECT / "Dockerfile.history").read_text()
    (java,) = (name for name in made[baseimages.BOTH_IMAGE] if "jre" in name)
    assert f"apt-get install -y --no-install-recommends {java} " in dockerfile


def test_the_historys_build_context_has_what_the_dockerfile_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Dockerfile is the project's on the chosen base, and the packages are those of both locks."""
    asked: list[tuple[object, ...]] = []

    def ensure_packages(_: Paths, target: Path, *rest: object) -> Path:
        asked.append(rest)
        target.mkdir()
        (target / "a.whl").touch()
        return target

    monkeypatch.setattr(historyimage, "ensure_packages", ensure_packages)
    paths = Paths(tmp_path / "cache")
    paths.work.mkdir(parents=True)
    context = tmp_path / "context"
    context.mkdir()
    historyimage._fill(Engine("own", "", paths), "some/base:1", context)
    text = (context / "Dockerfile").read_text()
    assert "ARG BASE=some/base:1\n" in text
    copied = [word for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE) for word in line.split()]
    assert copied
    assert [word for word in copied if not list(context.glob(word))] == []
    ((_, which, *locks),) = asked
    assert which == "--no-deps"  # sources too: PySpark is published in no other form
    assert locks == list(historyimage.LOCKS)


def test_the_operators_packages_are_wheels_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wheels are requested by hash, for the image's Python, and only once per lock."""
    commands: list[list[str]] = []

    def run(command: list[object], log: Path) -> None:  # noqa: ARG001 - as the real one
        commands.append([*map(str, command)])
        Path(str(command[-1])).mkdir(parents=True)

    monkeypatch.setattr(operatorimage, "run", run)
    monkeypatch.setattr(operatorimage, "platform_tags", lambda _: ("manylinux2014_x86_64",))
    paths = Paths(tmp_path)
    assert operatorimage.ensure_wheels(paths) == operatorimage.ensure_wheels(paths) == tmp_path / "work" / "wheels"
    (command,) = commands
    assert "--require-hashes" in command
    assert "--only-binary=:all:" in command
    assert command[command.index("-r") + 1] == str(PROJECT / "requirements.lock")


def test_the_operator_of_spark_stands_on_the_historys_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs the `spark-submit` of that image, and is built again when the program or that image changes."""
    built: list[tuple[list[str], str, str]] = []

    def ensure_image(_: Engine, tags: list[str], key: str, fill: Fill) -> None:
        context = tmp_path / f"context-{len(built)}"
        context.mkdir()
        fill(context)
        assert (context / "spark-operator").read_text() == program.read_text()
        built.append((tags, key, (context / "Dockerfile").read_text()))

    program = tmp_path / "spark-operator"
    monkeypatch.setattr(binaries, "ensure_spark_operator", lambda _: tmp_path)
    monkeypatch.setattr(sparkoperator, "ensure_image", ensure_image)
    for content, history in (("1", "history:a"), ("2", "history:a"), ("2", "history:b")):
        program.write_text(content)
        monkeypatch.setattr(historyimage, "ensure", lambda _, tag=history: [tag, "history:dev"])
        images, chart = sparkoperator.ensure(Engine("own", "", Paths(tmp_path)))
        assert (images, chart) == ([sparkoperator.IMAGE, history], tmp_path / "chart")
        assert built[-1][2].startswith(f"FROM {history}\n")
    assert len({key for _, key, _ in built}) == len(built)
