"""If no disk of a controller is left: the metadata log of a broker becomes that of a new controller.

The target is a directory that was just formatted without initial controllers, so it has the cluster id and a directory
id of its own. It gets the broker's segments, checkpoints and `partition.metadata`, and then the voter set of `rewrite`.
"""

from pathlib import Path
from typing import Final

from kraftlog.disk.errors import DiskError
from kraftlog.disk.files import (
    LOG_DIR,
    PARTITION,
    QUORUM_STATE,
    checkpoint_id,
    checkpoint_name,
    names,
    segment_base,
    sync_directory,
    system,
    unused,
)
from kraftlog.disk.identity import identity
from kraftlog.disk.looking import log_files, look, segment_path
from kraftlog.disk.model import DiskLook
from kraftlog.rewrite.copying import PARTIAL, digest, place
from kraftlog.rewrite.plan import PLAN_SCHEMA, At, RewritePlan, SeedPlan, checked, listed, refuse_look
from kraftlog.rewrite.rewriting import Rewritten, already, rewrite

_FORMATTED: Final = checkpoint_name(0, 0)
"""The checkpoint that Kafka writes when it formats, from 4.4 on in any case: levels of features, no voters here."""


def seed(source: Path, target: Path, plan: SeedPlan, *, now_ms: int | None = None) -> Rewritten:
    """Copy a broker's metadata log into a formatted directory, and make that one the only voter (`DiskError`).

    Both directories have `meta.properties`. It may be interrupted and repeated. The broker may run, as long as no
    controller gives it new records; `now_ms` as for `rewrite`.
    """
    checked(plan.target)
    disk = look(source)
    refuse_look(disk, plan.target, str(source))
    _check_ids(source, target, disk, plan)
    with unused(target, exclusive=True):
        if (target / LOG_DIR).is_dir() and (done := already(target, plan.target)):
            return done
        _copy_log(source / LOG_DIR, target / LOG_DIR, disk)
    return rewrite(target, plan.target, now_ms=now_ms)


def seed_plan_of(disk: DiskLook, node_id: int, directory_id: str, plan: RewritePlan) -> SeedPlan:
    """The plan to seed a new controller from a disk. `plan` is that of the disk itself, with the new endpoints."""
    target = RewritePlan(
        schema=PLAN_SCHEMA,
        cluster_id=plan.cluster_id,
        node_id=node_id,
        directory_id=directory_id,
        last_epoch=plan.last_epoch,
        end_offset=plan.end_offset,
        checkpoint=plan.checkpoint,
        voters=plan.voters,
        leader_epoch=plan.leader_epoch,
        endpoints=plan.endpoints,
        cut_damage=plan.cut_damage,
    )
    return SeedPlan(
        schema=PLAN_SCHEMA,
        source_node_id=disk.node_id,
        source_directory_id=disk.directory_id,
        target=checked(target),
    )


def _check_ids(source: Path, target: Path, disk: DiskLook, plan: SeedPlan) -> None:
    """Refuse a source or a target that the plan does not name."""
    own = identity(target)
    wants = plan.target
    newest, seen_voters = disk.checkpoint, listed(disk.voters.voters if disk.voters else ())
    seen = At(offset=newest.offset, epoch=newest.epoch) if newest else None
    for path, name, has, want in (
        (source, "cluster id", disk.cluster_id, wants.cluster_id),
        (source, "node id", disk.node_id, plan.source_node_id),
        (source, "directory id", disk.directory_id, plan.source_directory_id),
        (source, "last leader epoch", disk.last_epoch, wants.last_epoch),
        (source, "end offset", disk.end_offset, wants.end_offset),
        (source, "newest checkpoint", seen, wants.checkpoint),
        (source, "last voter set", seen_voters, seen_voters if wants.voters is None else listed(wants.voters)),
        (target, "cluster id", own.cluster_id, wants.cluster_id),
        (target, "node id", own.node_id, wants.node_id),
        (target, "directory id", own.directory_id, wants.directory_id),
    ):
        if has != want:
            raise DiskError(f"{path}: not seeded, because its {name} is {has}, not {want}: look again, and plan again")
    if disk.leader_epoch > wants.leader_epoch:
        raise DiskError(
            f"{source}: not seeded, because it has seen leader epoch {disk.leader_epoch}, above {wants.leader_epoch} of"
            f" the plan: look again, and plan again"
        )


def _copy_log(source: Path, target: Path, disk: DiskLook) -> None:
    """Copy what makes up a log, segments last; the last one up to its last valid batch (`DiskError`)."""
    with system(target):
        target.mkdir(exist_ok=True)
    files = log_files(source)
    if not _has_begun(target, files.bases, files.checkpoints):
        _remove_formatted(source, target, files.checkpoints)
    wanted: list[tuple[str, int | None]] = [(name, None) for name in files.checkpoints]
    with system(source):
        wanted += [(PARTITION, None)] if PARTITION in names(source) else []
    for segment in disk.segments:
        last = segment is disk.segments[-1]
        wanted.append((segment_path(source, segment.base_offset).name, segment.valid_bytes if last else None))
    there = [(name, limit_bytes) for name, limit_bytes in wanted if (target / name).exists()]
    for name, limit_bytes in (*there, *wanted):  # what is there is compared before anything is written
        place(source / name, target / name, limit_bytes)


def _has_begun(target: Path, bases: tuple[int, ...], checkpoints: tuple[str, ...]) -> bool:
    """Whether a segment was copied already (`DiskError`: the directory has a log of its own, or had a server)."""
    with system(target):
        found = [name.removesuffix(PARTIAL) for name in names(target)]
    if QUORUM_STATE in found:
        raise DiskError(f"{target}: not seeded, because a server has run on this disk: format an empty one")
    begun = any(segment_base(name) is not None for name in found)
    expected = {*checkpoints} if begun else {*checkpoints, _FORMATTED}
    for name in found:
        base = segment_base(name)
        foreign = base not in bases if base is not None else name not in expected
        if foreign and (base is not None or checkpoint_id(name) is not None):
            raise DiskError(f"{target / name}: not seeded, because this disk has a log of its own: format an empty one")
    return begun


def _remove_formatted(source: Path, target: Path, checkpoints: tuple[str, ...]) -> None:
    """Remove the checkpoint of the format, unless it is the broker's: the log would be read on top of its levels."""
    path = target / _FORMATTED
    with system(path):
        there = path.is_file()
    if there and (_FORMATTED not in checkpoints or digest(source / _FORMATTED, None) != digest(path, None)):
        with system(path):
            path.unlink()
            sync_directory(target)
