"""What a Secret may set of the client that reads brokers' settings, and what becomes of a broker's answer."""

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_quorum.errors import KafkaProtocolError, KafkaUnreachable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.wire import running
from kafka_quorum.wire.running import ALLOWED, ConfluentSettings, client_config
from kit.errors import Fault

AT = ("b-0.example:9092", "b-1.example:9092")


@dataclass(frozen=True, slots=True)
class Entry:
    """A setting as the library reports it."""

    name: str
    value: str | None
    is_sensitive: bool = False


def answered(*entries: Entry) -> "Future[Any]":
    """A broker's answer."""
    future: Future[Any] = Future()
    future.set_result({str(index): entry for index, entry in enumerate(entries)})
    return future


def judged(future: "Future[Any]") -> Any:  # noqa: ANN401 - Known or Unknown
    """What is made of it."""
    return running._settings(NodeID(1), future, 0.0, str)


def test_the_properties_of_a_secret() -> None:
    """Security is passed on, and no property of a Secret changes where or how long the operator asks."""
    config = client_config(AT, {"security.protocol": "SASL_SSL", "sasl.password": "p"})
    assert config["bootstrap.servers"] == ",".join(AT)
    assert (config["security.protocol"], config["sasl.password"]) == ("SASL_SSL", "p")
    assert client_config(AT, {})["security.protocol"] == "PLAINTEXT"
    assert not {"bootstrap.servers", "log_level"} & ALLOWED


@pytest.mark.parametrize(
    "name",
    [
        "plugin.library.paths",
        "sasl.kerberos.kinit.cmd",
        "ssl.ca.location",
        "ssl.keystore.location",
        "ssl.engine.location",
        "bootstrap.servers",
        "debug",
        "sasl.oauthbearer.token.endpoint.url",
    ],
)
async def test_what_reads_files_or_runs_commands_is_refused(name: str) -> None:
    """A property that names a file, a library, a command or another address is refused, and no client is made."""
    settings = ConfluentSettings()
    with pytest.raises(KafkaProtocolError, match=name) as failure:
        await settings.read(AT, {name: "x"})
    await settings.close()
    assert failure.value.fault is Fault.OURS


@pytest.mark.parametrize("bootstrap", [(), ("",), ("a:1,b:2",), ("a\n:1",)])
def test_bootstrap_servers_that_are_none(bootstrap: tuple[str, ...]) -> None:
    """Addresses must be there, and each must be one."""
    with pytest.raises(KafkaProtocolError, match="bootstrap"):
        client_config(bootstrap, {})


async def test_a_wrong_property_value_is_an_error_without_the_password() -> None:
    """The library refuses a value; its words are kept, and a password in them is not."""
    settings = ConfluentSettings()
    wrong = {"security.protocol": "hunter22", "sasl.password": "hunter22"}
    with pytest.raises(KafkaProtocolError, match=r"security\.protocol") as failure:
        await settings.read(AT, wrong)
    await settings.close()
    assert "hunter22" not in str(failure.value)


async def test_no_broker_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no broker answers, the read is an error with the reason, never an empty answer."""
    monkeypatch.setattr(running, "_CLUSTER_S", 0.5)
    settings = ConfluentSettings()
    with pytest.raises(KafkaUnreachable, match=r"127\.0\.0\.1:1 listed.*refused") as failure:
        await settings.read(("127.0.0.1:1",), {})
    await settings.close()
    assert failure.value.retry_safe


def test_the_settings_of_a_broker() -> None:
    """A value is shown clean, and None if it is sensitive or not set."""
    found = judged(
        answered(Entry("a", "x\ny"), Entry("b", "secret", is_sensitive=True), Entry("c", None), Entry("d", ""))
    )
    assert found == Known(value={"a": "x y", "b": None, "c": None, "d": ""})


def test_a_broker_that_fails_is_unknown() -> None:
    """No answer, an error, nothing, too much, and names that cannot be shown are each Unknown with a reason."""
    refused: Future[Any] = Future()
    refused.set_exception(RuntimeError("not authorized"))
    many = answered(*(Entry(f"n{index}", "") for index in range(running.MAX_SETTINGS + 1)))
    for future, reason in (
        (Future(), "did not answer"),
        (refused, "not authorized"),
        (answered(), "0 settings"),
        (many, str(running.MAX_SETTINGS + 1)),
        (answered(Entry("a\x1b[31m", "x")), "cannot be shown"),
    ):
        found = judged(future)
        assert isinstance(found, Unknown)
        assert reason in found.reason
        assert found.reason.isprintable()
