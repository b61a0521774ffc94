"""Each request has one file and one row in the table, and the table has no other row."""

import importlib
import pkgutil

from kafka_quorum.wire import requests
from kafka_quorum.wire.api import Api
from kafka_quorum.wire.requests import table


def test_every_request_is_in_the_table() -> None:
    """Every request file is in the table, because others would be read without bounds and classes."""
    names = {found.name for found in pkgutil.iter_modules(requests.__path__)} - {"table"}
    apis = [importlib.import_module(f"{requests.__name__}.{name}").API for name in names]
    assert all(isinstance(api, Api) for api in apis)
    assert sorted(api.key for api in apis) == sorted(api.key for api in table.ALL)


def test_bounds_are_of_the_request_that_names_them() -> None:
    """Every bounded list is a field of its class, and no two requests bound the same one."""
    rows = [row for api in table.ALL for row in api.lists]
    assert len(rows) == len(set(rows)) > 5
    assert all(field in schema.__dataclass_fields__ for schema, field in rows)  # type: ignore[attr-defined]  # of kio's kind
