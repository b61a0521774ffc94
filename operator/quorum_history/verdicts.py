"""The table `quality`: the results of all checks, of which each command replaces those of its own tables."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from pyarrow import parquet

from quorum_history.quality import Verdict
from quorum_history.sink import TABLE_FILE, published, write_numbered
from quorum_history.state import State
from quorum_history.store import Store

QUALITY = "quality"
_SCHEMA = pa.schema(
    [("check", pa.string()), ("table", pa.string()), ("passed", pa.bool_()), ("wrong", pa.int64()),
     ("example", pa.string())]
)  # fmt: skip


def replace_all(store: Store, state: State | None, verdicts: Iterable[Verdict]) -> None:
    """Make these the table."""
    _write(store, -1 if state is None else state.number, [each.row() for each in verdicts])


def replace_some(store: Store, state: State, verdicts: Sequence[Verdict]) -> None:
    """Replace the results of the tables of these verdicts, unless that was done for this state."""
    if published(store, QUALITY) != state.number:
        tables = {each.table for each in verdicts}
        kept = [row for row in _rows(store) if row["table"] not in tables]
        _write(store, state.number, [*(each.row() for each in verdicts), *kept])


def _rows(store: Store) -> list[dict[str, object]]:
    if store.names(QUALITY) != (TABLE_FILE,):
        return []
    with store.filesystem.open_input_file(store.path(QUALITY, TABLE_FILE)) as file:
        rows: list[dict[str, object]] = parquet.read_table(file).to_pylist()
    return rows


def _write(store: Store, number: int, rows: Sequence[Mapping[str, object]]) -> None:
    write_numbered(store, QUALITY, pa.Table.from_pylist(list(rows), _SCHEMA), number)
