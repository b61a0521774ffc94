"""Logs in tar archives of a volume are read as from a folder, and their names never become paths on a disk."""

import gzip
import io
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kraftlog.record_samples import SAMPLES
from tests.quorum_history import clusters

from kraftlog import archives, places
from kraftlog.__main__ import main as kraftlog
from kraftlog.places import PlaceError, opened
from quorum_history.__main__ import main as quorum_history
from quorum_history.at import at
from quorum_history.files import LogFile, find_files
from quorum_history.replicas import cluster_logs

SAMPLE = SAMPLES / "4.4.0" / "node-1"
FORMS = ("tar", "tar.gz", "tgz", "tar.bz2", "tar.xz")


def _packed(home: Path, form: str, folder: Path = SAMPLE, name: str = ".") -> Path:
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"volume.{form}"
    compression = {"tar": "", "tgz": "gz"}.get(form, form.rpartition(".")[2])
    with tarfile.open(path, f"w:{compression}") as tar:  # type: ignore[call-overload]
        tar.add(folder, arcname=name)
    return path


def _made(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w:") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def _essence(file: LogFile) -> LogFile:
    return replace(file, path="", replica="", modified_ns=0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [".", "kafka", "data/kafka/kraft"])
def test_an_archive_is_read_as_its_folder(tmp_path: Path, form: str, name: str) -> None:
    """An archive has the same files as its folder, of the same cluster and node, with the same state at an offset."""
    archive = _packed(tmp_path, form, name=name)
    files, expected = find_files(str(archive)), find_files(str(SAMPLE))
    assert sorted(map(_essence, files)) == sorted(map(_essence, expected))
    (log,), (known,) = cluster_logs(files), cluster_logs(expected)
    assert log.cluster == known.cluster
    assert log.end == known.end
    assert at(log, log.last_offset).image == at(known, known.last_offset).image


@pytest.mark.parametrize("form", ["tar", "tar.gz"])
def test_globs_and_folders_find_archives(tmp_path: Path, form: str) -> None:
    """Archives are found by a pattern, in a folder, and beside logs that are not packed."""
    _packed(tmp_path / "a", form)
    shutil.copytree(SAMPLE, tmp_path / "b")
    assert {file.path.partition("!/")[0] for file in find_files(str(tmp_path / "*" / f"*.{form}"))} == {
        str(tmp_path / "a" / f"volume.{form}")
    }
    assert len(find_files(str(tmp_path))) == 2 * len(find_files(str(SAMPLE)))


def test_ingest_of_an_archive_reads_it_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables of an archive are those of its folder, and a second run finds nothing new."""
    archive = _packed(tmp_path, "tar.gz")
    said: list[str] = []
    for place in (str(SAMPLE), str(archive)):
        arguments = ["ingest", "--logs", place, "--target", str(tmp_path / str(len(said)))]
        assert quorum_history(arguments) == 0
        said.append(next(line for line in capsys.readouterr().out.splitlines() if "new records" in line))
    assert said[0] == said[1]
    assert quorum_history(arguments) == 0
    assert "new records: 0;" in capsys.readouterr().out


def test_dump_names_a_member(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """`ARCHIVE!/MEMBER` is accepted like any other path, and messages show it."""
    folder = clusters.replica(tmp_path / "in", "one", 1)
    log = clusters.segment(folder, 0, clusters.run(0, 3, 1) + b"torn")
    assert kraftlog(["dump", str(log)]) == 1
    expected = capfdbinary.readouterr()
    archive = _packed(tmp_path, "tar", folder.parent)
    member = f"{archive}!/__cluster_metadata-0/{log.name}"
    assert kraftlog(["dump", member]) == 1
    found = capfdbinary.readouterr()
    assert found.out == expected.out
    assert found.err == expected.err.replace(str(log).encode(), member.encode())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_an_archive_that_ends_too_early_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, share: float
) -> None:
    """An archive that ends too early is refused by name: half of a volume does not count as the whole volume."""
    archive = _packed(tmp_path, form)
    content = archive.read_bytes()
    archive.write_bytes(content[: int(len(content.rstrip(b"\0")) * share)])
    assert quorum_history(["at", "--logs", str(archive)]) == 1
    assert f"{archive}: no tar archive that can be read to its end" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["tar", "tgz"])
@pytest.mark.parametrize("damage", ["ends at a member", "a broken header"])
def test_an_archive_without_its_end_is_refused(tmp_path: Path, form: str, damage: str) -> None:
    """An archive that is cut between two members, or has a broken header in the middle, is refused."""
    names = [f"__cluster_metadata-0/{offset:020d}.log" for offset in (0, 2)]
    contents = [clusters.run(0, 2, 1), clusters.run(2, 4, 1)]
    whole = _made(tmp_path / "whole.tar", dict(zip(names, contents, strict=True))).read_bytes()
    second = 512 + -(-len(contents[0]) // 512) * 512
    cut = whole[:second] if damage == "ends at a member" else whole[:second] + b"\xff" * 512 + whole[second + 512 :]
    path = tmp_path / f"broken.{form}"
    path.write_bytes(cut if form == "tar" else gzip.compress(cut))
    with pytest.raises(PlaceError, match="where the archive does not end"):
        find_files(str(path))


@pytest.mark.parametrize("form", ["tar", "tgz"])
@pytest.mark.parametrize("hostile", ["attributes", "a chain of names"])
def test_headers_are_bounded(tmp_path: Path, form: str, hostile: str) -> None:
    """Gigabytes of attributes and endless chains of long names are refused without being read."""
    info = tarfile.TarInfo("x")
    info.type, info.size = (tarfile.XHDTYPE, 4 << 30) if hostile == "attributes" else (tarfile.GNUTYPE_LONGNAME, 2)
    one = info.tobuf(tarfile.GNU_FORMAT) + b"x\0".ljust(512, b"\0")
    path = tmp_path / f"hostile.{form}"
    content = one * (1 if hostile == "attributes" else 5000)
    path.write_bytes(content if form == "tar" else gzip.compress(content))
    with pytest.raises(PlaceError, match="no tar archive that can be read to its end"):
        find_files(str(path))


@pytest.mark.parametrize("content", [b"", b"no archive at all" * 100, b"\x1f\x8b\x08broken" * 100])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_archive_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, content: bytes
) -> None:
    """A file that is no archive is refused with a sentence."""
    archive = tmp_path / f"a.{form}"
    archive.write_bytes(content)
    assert quorum_history(["at", "--logs", str(archive)]) == 1
    said = capsys.readouterr().err
    assert str(archive) in said
    assert "Traceback" not in said


def test_an_archive_that_changed_is_read_again(tmp_path: Path) -> None:
    """After an archive changed, it is read again."""
    folder = clusters.replica(tmp_path / "in", "one", 1)
    for end in (3, 5):
        clusters.segment(folder, 0, clusters.run(0, end, 1))
        (log,) = cluster_logs(find_files(str(_packed(tmp_path, "tar.gz", folder.parent))))
        assert log.end == end


def test_each_archive_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each archive is unpacked once, whatever the number of archives and reads."""
    for number in range(40):
        folder = clusters.replica(tmp_path / "in", f"cluster-{number}", 1)
        clusters.segment(folder, 0, clusters.run(0, 3, 1))
        _packed(tmp_path / "out" / str(number), "tgz", folder.parent)
    unpacked: list[str] = []

    def counted(place: str, source: places.OpenFile) -> archives.Archive:
        unpacked.append(place)
        return archives.archive(place, source)

    monkeypatch.setattr(places, "archive", counted)
    logs = cluster_logs(find_files(str(tmp_path / "out")))
    assert [at(log, 2).records for log in logs] == [3] * 40
    assert len(unpacked) == len(set(unpacked)) == 40


def test_names_and_links_lead_nowhere(tmp_path: Path) -> None:
    """The name of a member is never a path on this machine, and only regular files are read."""
    path = tmp_path / "hostile.tar"
    secret = tmp_path / "secret.log"
    secret.write_bytes(clusters.run(0, 3, 1))
    name = f"__cluster_metadata-0/{0:020d}.log"
    with tarfile.open(path, "w") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = kind, str(secret)
            tar.addfile(link)
        outside = tarfile.TarInfo(f"../../{tmp_path}/{name}")
        content = clusters.run(0, 2, 1)
        outside.size = len(content)
        tar.addfile(outside, io.BytesIO(content))
    (file,) = find_files(str(path))
    assert file.path.startswith(f"{path}!/../../")
    assert file.size_bytes == len(content)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["hostile.tar", "secret.log"]
    with pytest.raises(FileNotFoundError, match="the archive has no such file"), opened(f"{path}!/{secret}"):
        pass


def test_the_last_of_two_members_counts(tmp_path: Path) -> None:
    """Of two members with the same name the last one counts, as when the archive is unpacked."""
    path, name = tmp_path / "a.tar", f"__cluster_metadata-0/{0:020d}.log"
    _made(path, {name: clusters.run(0, 2, 1)})
    with tarfile.open(path, "a") as tar:
        info, content = tarfile.TarInfo(name), clusters.run(0, 4, 1)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    (log,) = cluster_logs(find_files(str(path)))
    assert log.end == 4


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small archive cannot fill the disk; indexes, which are large and empty, are not unpacked at all."""
    monkeypatch.setattr(archives, "_ALWAYS_BYTES", 1 << 20)
    monkeypatch.setattr(archives, "_TIMES", 1)
    index, log = f"__cluster_metadata-0/{0:020d}.index", f"__cluster_metadata-0/{0:020d}.log"
    content = clusters.run(0, 2, 1)
    (file,) = find_files(str(_made(tmp_path / "good.tgz", {index: bytes(10 << 20), log: content})))
    assert file.size_bytes == len(content)
    with pytest.raises(PlaceError, match="unpacks to more than"):
        find_files(str(_made(tmp_path / "bomb.tgz", {log: bytes(10 << 20)})))


def test_a_log_at_the_top_of_an_archive_is_a_cluster_of_its_own(tmp_path: Path) -> None:
    """A log at the top of an archive is its own cluster, whatever is beside the archive."""
    (tmp_path / "meta.properties").write_text("cluster.id=another\nnode.id=1\n")
    path = _made(tmp_path / "a.tar", {f"{0:020d}.log": clusters.run(0, 2, 1)})
    (file,) = find_files(str(path))
    assert file.cluster == f"{path}!"
