"""What one controller's metrics show of the migration, from the page of its Prometheus JMX agent.

A page comes from a pod of others' making. So it is read within bounds, only the four metrics of `resources.agent` are
taken from it, and a line that is not of the text format (version 0.0.4) makes the whole page an error.
"""

import re
from collections.abc import Mapping
from typing import Final

import aiohttp

from kafka_quorum.errors import KafkaError, KafkaProtocolError, KafkaUnreachable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import DriverSeen, DriverState
from kafka_quorum.resources import jmx
from kafka_quorum.resources.agent import ACTIVE, LAG, METRICS, MIGRATING, STATE
from kit.errors import Fault
from kit.parsing import INT32_MAX, Malformed, quoted
from kit.text import WORDS_MAX_CHARS, clean

SCRAPE_S: Final = 0.7
"""The limit of one scrape; a page takes some milliseconds.

Each look waits for it, and acts are judged by a look of at most two seconds (`Settings.look_max_age_s`), of which other
answers may have taken half a second: with a port that never answers, a longer limit would leave every look too old.
"""
MAX_PAGE_BYTES: Final = 256 * 1024
"""The limit of a page; that of an agent has 2 to 10 kB, and had some 20 with all metrics of the JVM."""
MAX_LINES: Final = 5_000
_INT64_MAX: Final = 2**63 - 1
_NUMBER: Final = r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,3})?|Inf|NaN)"
_LINE: Final = re.compile(
    rf"([a-zA-Z_:][a-zA-Z0-9_:]{{0,252}})(\{{[^\n]{{0,4000}}\}})?[ \t]+({_NUMBER})(?:[ \t]+-?\d{{1,19}})?[ \t]*",
    re.ASCII,
)
_OK: Final = 200
_HEADERS: Final = {"Accept": "text/plain; version=0.0.4", "Accept-Encoding": "identity"}  # a small answer stays small


async def read_driver(endpoint_host: str, port: int, node_id: NodeID) -> DriverSeen:
    """One scrape of the controller at this host and port (KafkaUnreachable, KafkaProtocolError)."""
    where = f"the metrics of controller {node_id} at {endpoint_host}:{port}"
    host = f"[{endpoint_host}]" if ":" in endpoint_host else endpoint_host
    try:
        page = await _page(f"http://{host}:{port}/metrics")
        return driver(node_id, page)
    except Malformed as error:
        raise KafkaProtocolError(
            f"Did not read {where}: {error}; check that its Prometheus JMX agent has the operator's configuration",
            fault=Fault.THEIRS,
            retry_safe=True,
            outcome_unknown=False,
        ) from None
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise _unreachable(where, error) from None


def driver(node_id: NodeID, page: str) -> DriverSeen:
    """What a page of metrics shows (`Malformed`, also if the state or the activity of the controller is missing)."""
    found = metrics(page)
    if jmx.ACTIVE in found:  # the name that it has beside Kafka's own metrics
        if ACTIVE in found:
            raise Malformed(f"the page has both {ACTIVE} and {jmx.ACTIVE}")
        found = {**found, ACTIVE: found[jmx.ACTIVE]}
    missing = sorted({STATE, ACTIVE} - found.keys())
    if missing:
        raise Malformed(f"the page has no {' and no '.join(missing)}")
    state, active = _whole(found, STATE, low=-1), _whole(found, ACTIVE)
    if active not in (0, 1):
        raise Malformed(f"{ACTIVE} is {active}, not 0 or 1")
    try:
        known = DriverState(state or 0)
    except ValueError:
        raise Malformed(f"{STATE} is {state}, which no state of the migration has") from None
    return DriverSeen(
        node_id=node_id,
        active=active == 1,
        state=known,
        migrating=_whole(found, MIGRATING, high=INT32_MAX),
        lag=_whole(found, LAG),
    )


def metrics(page: str) -> Mapping[str, float]:
    """The metrics of a migration that a page has, by name (`Malformed`); any other one is skipped."""
    lines = page.split("\n")
    if len(lines) > MAX_LINES:
        raise Malformed(f"the page has {len(lines)} lines, at most {MAX_LINES} are read")
    wanted = frozenset({*METRICS.values(), jmx.ACTIVE})
    found: dict[str, float] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        sample = _LINE.fullmatch(line.rstrip("\r"))
        if sample is None:
            raise Malformed(f"line {number} of the page, {quoted(line)}, is no metric")
        name, labels, value = sample.groups()
        if name in wanted:
            if labels or name in found:
                raise Malformed(f"the page has more than one {name}")
            found[name] = float(value)
    if lines[-1]:  # a page that was cut could end in the middle of a number
        raise Malformed("the page is not complete: its last line has no end")
    return found


def _whole(found: Mapping[str, float], name: str, *, low: int = 0, high: int = _INT64_MAX) -> int | None:
    """A metric that counts; None if the page does not have it."""
    value = found.get(name)
    if value is None:
        return None
    if not low <= value <= high or value != int(value):  # not true of NaN
        raise Malformed(f"{name} is {value:g}, no whole number from {low} to {high}")
    return int(value)


async def _page(url: str) -> str:
    """The text of a page within the bounds."""
    limit = aiohttp.ClientTimeout(total=SCRAPE_S)
    async with (
        aiohttp.ClientSession(timeout=limit, auto_decompress=False) as session,
        session.get(url, allow_redirects=False, headers=_HEADERS) as response,
    ):
        if response.status != _OK:
            raise Malformed(f"it answered with HTTP status {response.status}")
        data = bytearray()
        async for chunk in response.content.iter_any():
            data += chunk
            if len(data) > MAX_PAGE_BYTES:
                raise Malformed(f"the page has more than {MAX_PAGE_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Malformed("the page is not UTF-8") from None


def _unreachable(where: str, error: Exception) -> KafkaError:
    words = clean(str(error), max_chars=WORDS_MAX_CHARS) or type(error).__name__
    late = f"{SCRAPE_S:g} s passed" if isinstance(error, TimeoutError) else words
    return KafkaUnreachable(f"Did not read {where}: {late}", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)
