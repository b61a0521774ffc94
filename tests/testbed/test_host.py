"""The requirements of the host: packages, Go, wheels for the image."""

import json
import os
import shutil
from pathlib import Path

import pytest

from testbed import binaries, config, operatorimage, packages, process
from testbed.config import Paths, default_paths


def test_only_packages_of_missing_commands_are_wanted() -> None:
    """An existing command needs no package; two commands of one package need it once."""
    commands = {"sh": "dash", "no-such-command-1": "b", "no-such-command-2": "b", "no-such-command-3": "a"}
    assert packages.missing(commands) == ["a", "b"]


def test_nothing_is_installed_when_nothing_is_missing(tmp_path: Path) -> None:
    """A machine that has everything needs neither root nor apt."""
    packages.ensure(Paths(tmp_path), {"sh": "dash"})
    packages.ensure_venv(Paths(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_someone_who_is_not_root_gets_one_error_with_all_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root, the error is a command for an administrator, with all names."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = {"apt-get": "/usr/bin/apt-get"}
    monkeypatch.setattr(shutil, "which", lambda name, **_: found.get(name))
    with pytest.raises(process.TestbedError, match=r"apt-get install maven openjdk-17-jre-headless$"):
        packages.ensure(Paths(tmp_path), packages.MAVEN)


@pytest.mark.parametrize(
    ("module", "release"), [("v0.316.0", "3.16.0"), ("v0.300.1", "3.0.1"), (config.PROMETHEUS_VERSION, "3.16.0")]
)
def test_the_release_of_prometheus_follows_from_its_module(module: str, release: str) -> None:
    """The programs report the release of Prometheus, whose Go module counts in another way."""
    assert binaries.prometheus_release(module) == release


def test_another_count_of_prometheus_is_an_error() -> None:
    """A version that is counted otherwise is refused, instead of a program that reports a wrong release."""
    with pytest.raises(process.TestbedError, match=r"v3\.16\.0"):
        binaries.prometheus_release("v3.16.0")


@pytest.mark.parametrize(
    ("text", "version"), [("go1.26.8", (1, 26)), ("go1.9", (1, 9)), ("go1.27rc1", (1, 27)), ("go2.0\n", (2, 0))]
)
def test_a_version_of_go_is_read(text: str, version: tuple[int, int]) -> None:
    """Releases and release candidates compare as numbers: 1.9 is older than 1.26."""
    assert binaries.parse_go_version(text) == version


def test_a_go_without_a_release_is_refused() -> None:
    """A development build of Go has no release, so it is refused."""
    with pytest.raises(process.TestbedError, match="devel"):
        binaries.parse_go_version("devel +abc")


def test_an_old_go_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the required Go and the one that was found."""
    monkeypatch.setattr(binaries, "output", lambda _: "go1.19.8\n")
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/go")
    binaries._go_version.cache_clear()
    with pytest.raises(process.TestbedError, match=r"\b1\.26\b.*\bgo1\.19\.8\b"):
        binaries._go_version()


def test_kubernetes_knows_its_own_version() -> None:
    """Components get their release, because kubeadm checks it."""
    flags = binaries._version_flags()
    assert "-X k8s.io/component-base/version.gitVersion=v1." in flags
    assert "-X k8s.io/component-base/version.gitMajor=1 " in flags


def test_wheels_fit_the_images_machine() -> None:
    """The platform tags are for the machine; a machine without wheels is refused with a way out."""
    assert operatorimage.platform_tags("aarch64")[0] == "manylinux2014_aarch64"
    with pytest.raises(process.TestbedError, match="riscv64"):
        operatorimage.platform_tags("riscv64")


@pytest.mark.parametrize(
    ("settings", "cache"),
    [
        ({"TESTBED_CACHE": "/a/b"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/kafka-quorum-testbed"),
        ({"HOME": "/home/me"}, "/home/me/.cache/kafka-quorum-testbed"),
    ],
)
def test_the_cache_lies_outside_the_checkout(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], cache: str
) -> None:
    """The cache is outside the checkout, so that a new clone finds what an earlier one built."""
    for name in ("TESTBED_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert default_paths().cache == Path(cache)


def test_a_failing_program_shows_its_last_lines(tmp_path: Path) -> None:
    """The error has the end of a long log, and its path."""
    log = tmp_path / "log" / "a.log"
    with pytest.raises(process.TestbedError, match=r"\b3\b.*a\.log(?s:.*)the cause"):
        process.run(["sh", "-c", "seq 100; echo the cause >&2; exit 3"], log)
    assert "100" in log.read_text()


def test_a_program_without_an_answer_is_given_up() -> None:
    """A program without an answer is given up at the deadline, which the error names."""
    with pytest.raises(process.TestbedError, match="sleep 30"):
        process.output(["sleep", "30"], timeout_s=0.05)


def test_the_s3_server_is_compiled_once_per_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled once per pinned version, and again for another one, and needs nothing else of the test-bed."""
    compiled: list[list[object]] = []

    def go(command: list[object], *_: object, env: dict[str, str], **__: object) -> None:
        compiled.append(command)
        Path(env["GOBIN"]).mkdir(exist_ok=True)
        Path(env["GOBIN"], "versitygw").touch()

    monkeypatch.setattr(binaries, "run", go)
    monkeypatch.setattr(binaries, "_go", lambda: "go")
    monkeypatch.setattr(binaries, "_go_version", lambda: "go1.26.8")
    for version in ("v1.2.3", "v1.2.3", "v1.2.4"):
        monkeypatch.setattr(binaries, "VERSITYGW_VERSION", version)
        assert binaries.ensure_versitygw(Paths(tmp_path)) == tmp_path / "bin" / "versitygw"
    module = "github.com/versity/versitygw/cmd/versitygw"
    assert [command[-1] for command in compiled] == [f"{module}@v1.2.3", f"{module}@v1.2.4"]


def test_the_operator_of_spark_is_the_pinned_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled once per version in the unpacked module, with its chart; another version is refused."""
    source = tmp_path / "unpacked"
    (source / "charts" / "spark-operator-chart" / "crds").mkdir(parents=True)
    (source / "charts" / "spark-operator-chart" / "Chart.yaml").touch(mode=0o444)
    (source / "charts" / "spark-operator-chart" / "crds").chmod(0o555)
    compiled: list[object] = []

    def go(command: list[object], *_: object, cwd: Path, **__: object) -> None:
        assert cwd == source
        compiled.append(command[-1])
        Path(str(command[-2])).touch()

    monkeypatch.setattr(binaries, "run", go)
    monkeypatch.setattr(binaries, "output", lambda *_, **__: json.dumps({"Dir": str(source), "Sum": "h1:right"}))
    monkeypatch.setattr(binaries, "_go", lambda: "go")
    monkeypatch.setattr(binaries, "_go_version", lambda: "go1.26.8")
    monkeypatch.setattr(binaries, "SPARK_OPERATOR_SUM", "h1:right")
    for version in ("v2.3.0", "v2.3.0", "v2.3.1"):
        monkeypatch.setattr(binaries, "SPARK_OPERATOR_VERSION", version)
        made = binaries.ensure_spark_operator(Paths(tmp_path))
        assert {path.name for path in made.iterdir()} == {"spark-operator", "chart"}
        assert (made / "chart" / "crds").stat().st_mode & 0o200
    assert compiled == ["./cmd/operator"] * 2
    monkeypatch.setattr(binaries, "SPARK_OPERATOR_SUM", "h1:other")
    with pytest.raises(process.TestbedError, match="h1:other"):
        binaries.ensure_spark_operator(Paths(tmp_path))


def test_asking_is_not_doing() -> None:
    """A check whose program fails, or is missing, is false."""
    assert process.succeeds(["true"])
    assert not process.succeeds(["false"])
    assert not process.succeeds(["no-such-command"])


def test_the_operators_dockerfile_is_put_on_the_local_base() -> None:
    """The base in the Dockerfile is replaced once; a Dockerfile without one is an error."""
    dockerfile = operatorimage._DOCKERFILE.read_text()
    local = operatorimage.on_base(dockerfile, "testbed/python:3.11")
    assert "ARG BASE=testbed/python:3.11\n" in local
    assert "sha256" not in local.split("FROM")[0].split("ARG BASE")[1]
    with pytest.raises(process.TestbedError, match=r"\b0\b"):
        operatorimage.on_base("FROM scratch\n", "testbed/python:3.11")
