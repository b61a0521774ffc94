"""The metrics of the migration's driver, from pages good and bad."""

import asyncio
import contextlib

import pytest
from tests.serving import HOST, Serve, serving

from kafka_quorum.errors import KafkaProtocolError, KafkaUnreachable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import DriverSeen, DriverState
from kafka_quorum.wire import metrics
from kafka_quorum.wire.metrics import driver, read_driver
from kit.parsing import Malformed

ID = NodeID(3000)
PAGE = """\
# HELP kafka_controller_zk_migration_state Attribute exposed for management
# TYPE kafka_controller_zk_migration_state gauge
kafka_controller_zk_migration_state 1.0
kafka_controller_migrating_zk_broker_count 2.0
kafka_controller_zk_write_behind_lag 1.2E1
kafka_controller_active_controller_count 1.0
jvm_memory_used_bytes{area="heap",pool="a b"} 5.2428800E7 1700000000000
jvm_nan NaN

"""


def page(**changes: str) -> str:
    """The page with other values of metrics, by the end of their names; an empty one removes the line."""
    lines = PAGE.splitlines()
    for name, value in changes.items():
        lines = [f"{line.split(' ')[0]} {value}" if line.split(" ")[0].endswith(name) else line for line in lines]
    return "\n".join(line for line in lines if not line.endswith(" ")) + "\n"


def test_a_page_of_the_active_controller() -> None:
    """The four metrics are read, and any other one is skipped."""
    assert driver(ID, PAGE) == DriverSeen(node_id=ID, active=True, state=DriverState.MIGRATION, migrating=2, lag=12)


def test_a_page_with_kafkas_own_metrics() -> None:
    """Beside Kafka's own metrics the activity has another name; a page with both names is refused."""
    other = PAGE.replace("kafka_controller_active_controller_count", "kafka_controller_active")
    own = 'kafka_raft_current_state{state="leader"} 1.0\nkafka_raft_commit_latency_avg_ms NaN\n'
    assert driver(ID, own + other) == driver(ID, PAGE)
    with pytest.raises(Malformed, match="the page has both kafka_controller_active_controller_count and"):
        driver(ID, PAGE + "kafka_controller_active 1.0\n")


def test_metrics_that_are_missing() -> None:
    """Without a count or a lag these are None; without the state, or the activity, there is no answer."""
    found = driver(ID, page(broker_count="", behind_lag="", active_controller_count="0"))
    assert (found.active, found.migrating, found.lag) == (False, None, None)
    for name in ("migration_state", "active_controller_count"):
        with pytest.raises(Malformed, match=f"has no .*{name}"):
            driver(ID, page(**{name: ""}))


def test_a_page_that_was_cut() -> None:
    """A lag of 1234 must not be read as 1: an answer without a length ends where the connection does."""
    whole = page(behind_lag="1234")
    first, _, rest = whole.partition("kafka_controller_zk_write_behind_lag")
    lines = [line for line in rest.splitlines() if line.startswith("kafka")]
    ordered = first + "\n".join(lines) + "\nkafka_controller_zk_write_behind_lag 1234\n"
    assert driver(ID, ordered).lag == 1234
    for less in (1, 2, 4):
        with pytest.raises(Malformed, match="not complete"):
            driver(ID, ordered[:-less])


def test_the_state_before_it_is_loaded() -> None:
    """-1 is a state of its own."""
    assert driver(ID, page(migration_state="-1.0")).state is DriverState.UNLOADED


@pytest.mark.parametrize(
    "text",
    [
        page(migration_state="5"),
        page(migration_state="-2"),
        page(migration_state="1.5"),
        page(migration_state="NaN"),
        page(active_controller_count="2"),
        page(active_controller_count="\N{ARABIC-INDIC DIGIT ONE}"),
        page(broker_count="-1"),
        page(broker_count="1e300"),
        page(behind_lag="Inf"),
        PAGE + "kafka_controller_zk_migration_state 4\n",
        PAGE + 'kafka_controller_zk_migration_state{a="b"} 4\n',
        PAGE + "<html>\n",
        PAGE + "a\n",
        PAGE + "a b\n",
        PAGE + "1a 1\n",
        PAGE + "a " + "9" * 1000 + "\n",
        PAGE + "x" * 100_000 + " 1\n",
        PAGE + "a 1\n" * 5_000,
        "",
        "\x00",
    ],
)
def test_a_page_that_is_none(text: str) -> None:
    """Values that cannot be, a metric twice, other text, and too many lines are each an error with a visible clause."""
    with pytest.raises(Malformed) as failure:
        driver(ID, text)
    assert str(failure.value).isprintable()
    assert len(str(failure.value)) < 300


def with_bytes(data: bytes) -> Serve:
    """A server that sends these bytes for any request, and closes the connection."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(data)
            await writer.drain()
        writer.close()

    return answer


def http(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    """An answer of HTTP."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


async def test_a_scrape() -> None:
    """A page is read over HTTP."""
    async with serving(with_bytes(http(PAGE.encode()))) as port:
        assert (await read_driver(HOST, port, ID)).state is DriverState.MIGRATION


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (http(b"", "500 No"), "HTTP status 500"),
        (http(b"", "302 Found", "Location: http://example.com/\r\n"), "HTTP status 302"),
        (http(b"\xff"), "not UTF-8"),
        (http(b"a 1\n" * 100_000), "more than 262144 bytes"),
        (http(b"hello"), "is no metric"),
    ],
)
async def test_an_answer_that_is_no_page(data: bytes, why: str) -> None:
    """Another status, a redirect, a page too large, and no text are errors that name the controller and what to do."""
    async with serving(with_bytes(data)) as port:
        with pytest.raises(KafkaProtocolError, match=f"metrics of controller 3000 at .*{why}.*check that") as failure:
            await read_driver(HOST, port, ID)
    assert not failure.value.outcome_unknown


@pytest.mark.parametrize("data", [b"", b"SSH-2.0-x\r\n\r\n", http(PAGE.encode())[:-20]])
async def test_a_broken_answer(data: bytes) -> None:
    """A connection that ends early, or that speaks another protocol, is an error of the path."""
    async with serving(with_bytes(data)) as port:
        with pytest.raises(KafkaUnreachable, match="Did not read the metrics of controller 3000"):
            await read_driver(HOST, port, ID)


async def test_no_answer_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer ends the scrape at its limit."""
    monkeypatch.setattr(metrics, "SCRAPE_S", 0.3)
    ended = asyncio.Event()

    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    async with serving(silent) as port:
        with pytest.raises(KafkaUnreachable, match=r"0\.3 s passed"):
            await read_driver(HOST, port, ID)
        ended.set()


async def test_no_server() -> None:
    """A port without a server is an error of the path."""
    with pytest.raises(KafkaUnreachable):
        await read_driver(HOST, 1, ID)
