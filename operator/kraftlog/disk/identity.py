"""Whose disk it is, and what its server last knew: `meta.properties` and `quorum-state`.

Kafka replaces both files atomically, so a file that makes no sense is damage, not a write that did not end.
"""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kraftlog.disk.errors import DiskError, UnreadableDiskError
from kraftlog.disk.files import LOG_DIR, META, QUORUM_STATE, small, system
from kraftlog.disk.model import QuorumState
from kraftlog.errors import quoted

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_INT32_MAX = 2**31 - 1
_UUID_BYTES = 16
NO_ID: Final = -1
"""Kafka's number for no leader, and for no vote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The content of `meta.properties`. `directory_id` is None on disks formatted before Kafka 3.7."""

    cluster_id: str
    node_id: int
    directory_id: str | None


def identity(metadata_dir: Path) -> Identity:
    """Whose disk it is (`DiskError`: no such file, or one that is not clear)."""
    path = metadata_dir / META
    try:
        text = small(path).decode("ascii")
    except FileNotFoundError as error:
        raise DiskError(
            f"{path}: there is no such file, so this is not the directory of a Kafka server, or its volume was emptied:"
            f" name the directory of metadata.log.dir, or of the first of log.dirs"
        ) from error
    except UnicodeDecodeError as error:
        raise DiskError(f"{path}: not text: this file is damaged, use another disk") from error
    except OSError as error:
        raise UnreadableDiskError.of(error, path) from error
    found = _properties(path, text)
    directory_id = found.get("directory.id")
    if directory_id is not None and not is_uuid(directory_id):
        raise DiskError(f"{path}: directory.id is {_shown(directory_id)}, which is no id of Kafka: use another disk")
    if found.get("version") != "1":
        raise DiskError(
            f"{path}: version is {_shown(found.get('version', 'missing'))}, not 1: only the disks of KRaft can be read"
        )
    node_id = found.get("node.id", "")
    if not re.fullmatch(r"\d{1,10}", node_id, re.ASCII) or int(node_id) > _INT32_MAX:
        raise DiskError(f"{path}: node.id is {_shown(node_id)}, which is no node id: use another disk")
    cluster_id = found.get("cluster.id", "")
    if not _ID.fullmatch(cluster_id):
        raise DiskError(f"{path}: cluster.id is {_shown(cluster_id)}, which is no cluster id: use another disk")
    return Identity(cluster_id=cluster_id, node_id=int(node_id), directory_id=directory_id)


def _properties(path: Path, text: str) -> dict[str, str]:
    """The settings of a file that Kafka wrote; no setting may be there with two values."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        name, value = name.strip(), value.strip()
        if not name or name.startswith(("#", "!")):
            continue
        if not equals:
            raise DiskError(f"{path}: the line {_shown(line)} is no setting: this file is damaged, use another disk")
        if found.setdefault(name, value) != value:
            raise DiskError(
                f"{path}: {_shown(name)} is there twice, as {_shown(found[name])} and as {_shown(value)}: find out"
                f" which one is right, and leave that one"
            )
    return found


def quorum_state(metadata_dir: Path, cluster_id: str) -> QuorumState | None:
    """What the server last knew of elections; None if it has never taken part (`DiskError`)."""
    path = metadata_dir / LOG_DIR / QUORUM_STATE
    with system(path):
        try:
            content = small(path)
        except FileNotFoundError:
            return None
    damaged = f"{path}: this file is damaged, so it is not known which leader epochs there were: use another disk"
    try:
        data = json.loads(content.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise DiskError(f"{damaged} ({quoted(type(error).__name__)})") from error
    if not isinstance(data, dict):
        raise DiskError(f"{damaged} (no JSON object)")
    other = data.get("clusterId")
    if isinstance(other, str) and other not in {"", cluster_id}:
        raise DiskError(
            f"{path}: clusterId is {_shown(other)}, and cluster.id in {META} is {cluster_id}: this disk has files of"
            f" two clusters, use another one"
        )
    numbers = [data.get(name) for name in ("leaderEpoch", "leaderId", "votedId")]
    if any(type(number) is not int or not NO_ID <= number <= _INT32_MAX for number in numbers) or numbers[0] == NO_ID:
        raise DiskError(f"{damaged} (leaderEpoch, leaderId or votedId is no such number)")
    epoch, leader, voted = (int(number) for number in numbers if number is not None)
    directory = data.get("votedDirectoryId")
    return QuorumState(
        leader_epoch=epoch,
        leader_id=None if leader == NO_ID else leader,
        voted_id=None if voted == NO_ID else voted,
        voted_directory_id=directory if isinstance(directory, str) and is_uuid(directory) else None,
    )


def is_uuid(text: str) -> bool:
    """Whether this is an id in Kafka's notation: 16 bytes in URL-safe base64, without padding."""
    try:
        raw = base64.urlsafe_b64decode(f"{text}==") if _ID.fullmatch(text) else b""
    except (ValueError, binascii.Error):
        return False
    return len(raw) == _UUID_BYTES and base64.urlsafe_b64encode(raw).decode().rstrip("=") == text


def _shown(text: str) -> str:
    """A text from the disk, short, and without characters that control a terminal."""
    return f"{quoted(text[:60])!r}" if text else "missing"
