"""What a log has from an offset on, so that a person can read what would be lost: record types, and topics by name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kraftlog.disk.batches import Batch, Walk
from kraftlog.disk.files import LOG_DIR, checkpoint_name, opened, system
from kraftlog.disk.identity import identity
from kraftlog.disk.looking import LogFiles, log_files, valid_batches
from kraftlog.disk.model import CONTENT_SCHEMA, Content
from kraftlog.disk.tally import Tally

TOPICS_MAX: Final = 1000
"""The most topics that are listed; all of them are counted."""


def content(metadata_dir: Path, from_offset: int) -> Content:
    """The records of the log from an offset on, up to the first batch that is not valid (`DiskError`).

    Names of topics come from the whole log and the newest checkpoint. An offset beyond the end is no error: the log has
    nothing there.
    """
    identity(metadata_dir)
    log_dir = metadata_dir / LOG_DIR
    files = log_files(log_dir)
    tally = Tally()
    for batch in checkpoint_batches(log_dir, files):
        tally.learn(batch)
    end = first = files.bases[0] if files.bases else 0
    for batch in valid_batches(log_dir, files.bases):
        end = batch.last_offset + 1
        if end <= from_offset:
            tally.learn(batch)
        else:
            tally.count(batch, from_offset)
    topics = tally.contents()
    return Content(
        schema=CONTENT_SCHEMA,
        from_offset=from_offset,
        first_offset=first,
        end_offset=end,
        records=tally.types.total(),
        unread_records=tally.unread,
        types=tally.counts(),
        topics=topics[:TOPICS_MAX],
        topics_total=len(topics),
    )


def checkpoint_batches(log_dir: Path, files: LogFiles) -> Iterator[Batch]:
    """The batches of the newest checkpoint, as far as they are valid."""
    if files.checkpoint is None:
        return
    epoch, offset = files.checkpoint
    path = log_dir / checkpoint_name(offset, epoch)
    with system(path), opened(path) as (file, size_bytes):
        yield from Walk(file, size_bytes)
