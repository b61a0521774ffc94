"""How the Secrets of `spec.security` are read, and that nothing moves while one of them cannot be used."""

import base64
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.kit.kube.recording import RecordingKube
from tests.streams.cluster import NAME, NAMESPACE, Cluster

from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import USED_BY
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT, Mechanism, Sasl, Secured
from kafka_streams.observe.security import security
from kit.errors import KubeRefused, KubeUnavailable
from kit.kube.protocol import Json, ResourceType
from kit.kube.secrets import SECRETS

PASSWORD = "marker-of-the-password"  # noqa: S105 - a test's own
SASL: Json = {"protocol": "SASL_PLAINTEXT", "sasl": {"mechanism": "SCRAM-SHA-256", "secretName": "user"}}
MUTUAL: Json = {"protocol": "SSL", "tls": {"caSecretName": "trust", "certificateSecretName": "own"}}


def secret(name: str, **keys: str) -> Json:
    """A Secret; `_` in the name of a key stands for a dot."""
    data = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in keys.items()}
    annotations = {USED_BY: f"KafkaQuorum/other, KafkaStreamsApplication/{NAME}"}
    return {"metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations}, "data": data}


class Kube(RecordingKube):
    """An API server with these Secrets; `error` is raised for any of them."""

    error: Exception | None = None

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """One object."""
        if self.error is not None and resource == SECRETS:
            raise self.error
        return await super().get(resource, namespace, name)


def having(*secrets: Json) -> Kube:
    """An API server with these Secrets."""
    kube = Kube()
    for each in secrets:
        kube.put(SECRETS, each)
    return kube


async def read(kube: Kube, spec: Json | None) -> Any:  # noqa: ANN401 - Known or Unknown
    """What is read for a spec."""
    found = {} if spec is None else {"security": spec}
    return await security(kube, NAMESPACE, {"metadata": {"name": NAME}, "spec": found})


async def refusal(kube: Kube, spec: Json) -> str:
    """Why the security is not known, which shows nothing of a Secret."""
    found = await read(kube, spec)
    assert isinstance(found, Unknown), found
    for hidden in (PASSWORD, "PRIVATE", "CERTIFICATE-----"):
        assert hidden not in found.reason
    return found.reason


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A certificate that is its own authority, its key, another key, and its key encrypted."""
    home = tmp_path_factory.mktemp("pem")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=home, check=True, capture_output=True, timeout=60)

    ec = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    for name in ("own", "other"):
        openssl("genpkey", *ec, "-out", f"{name}.key")
    openssl("req", "-x509", "-key", "own.key", "-out", "own.crt", "-subj", "/CN=own")
    openssl("pkcs8", "-topk8", "-in", "own.key", "-passout", "pass:abcd", "-out", "closed.key")
    return {path.name: path.read_text() for path in Path(home).iterdir()}


async def test_plain_connections_read_no_secret() -> None:
    """Without `spec.security`, and with PLAINTEXT, no Secret is asked for."""
    kube = having()
    for spec in (None, {}, {"protocol": "PLAINTEXT"}):
        assert await read(kube, spec) == Known(value=PLAINTEXT)
    assert kube.calls == []


async def test_a_user_and_a_password() -> None:
    """Line breaks at the end are no part of them; only the Secret of that name is read."""
    kube = having(secret("user", username="ada\n", password=f" {PASSWORD}\r\n"), secret("another"))
    found = await read(kube, SASL)
    wanted = Sasl(mechanism=Mechanism.SCRAM_SHA_256, username="ada", password=f" {PASSWORD}")
    assert found == Known(value=Secured(sasl=wanted))
    assert PASSWORD not in repr(found)
    assert [(call.verb, call.plural, call.name) for call in kube.calls] == [("get", "secrets", "user")]


async def test_trust_and_a_certificate(pem: dict[str, str]) -> None:
    """They may be in two Secrets, or in one; keys of other names are not used."""
    found = await read(
        having(secret("trust", ca_crt=pem["own.crt"]), secret("own", tls_crt=pem["own.crt"], tls_key=pem["own.key"])),
        MUTUAL,
    )
    assert isinstance(found.value, Secured)
    assert found.value.tls is not None
    assert (found.value.tls.ca, found.value.tls.key) == (pem["own.crt"], pem["own.key"])
    one = secret("one", ca_crt=pem["own.crt"], tls_crt=pem["own.crt"], tls_key=pem["own.key"], password=PASSWORD)
    same = {"protocol": "SSL", "tls": {"caSecretName": "one", "certificateSecretName": "one"}}
    assert await read(having(one), same) == found
    trusting = await read(having(one), {"protocol": "SSL", "tls": {"caSecretName": "one"}})
    assert (trusting.value.tls.certificate, trusting.value.tls.key) == ("", "")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "no key username"),
        ({"username": "ada"}, "no key password"),
        ({"username": "ada", "password": ""}, "no key password"),
        ({"username": "ada", "password": "\n"}, "password is empty"),
        ({"username": "ada", "password": f"{PASSWORD}\nmore"}, "password is not one line"),
        ({"username": "a\0b", "password": PASSWORD}, "username is not one line"),
        ({"username": "adä", "password": PASSWORD}, "other characters than ASCII"),
        ({"username": "ada", "password": PASSWORD * 100}, "at most 1024"),
    ],
)
async def test_users_that_cannot_be_used(keys: dict[str, str], words: str) -> None:
    """The reason names the Secret, the field, the key and what to do."""
    said = await refusal(having(secret("user", **keys)), SASL)
    assert words in said
    assert "Secret user of spec.security.sasl cannot be used" in said
    assert said.endswith("Correct it")


async def test_pem_that_cannot_be_used(pem: dict[str, str]) -> None:
    """No certificate, a key of another certificate, an encrypted key, and keys that are missing: each has its words."""
    trust, own = secret("trust", ca_crt=pem["own.crt"]), pem["own.crt"]
    cases = (
        ((secret("trust", other="x"), "trust"), "no key ca.crt"),
        ((secret("trust", ca_crt="x"), "trust"), "no certificate in PEM"),
        ((secret("trust", ca_crt=pem["own.key"]), "trust"), "no certificate in PEM"),
        ((secret("trust", ca_crt=pem["own.crt"] + "#" * 256 * 1024), "trust"), "characters, at most 262144 are read"),
        ((secret("trust", ca_crt=pem["own.crt"] * 257), "trust"), "257 certificates, at most 256 are read"),
        ((secret("own", tls_crt=own), "own"), "no key tls.key"),
        ((secret("own", tls_key=pem["own.key"]), "own"), "no key tls.crt"),
        ((secret("own", tls_crt=own, tls_key=pem["other.key"]), "own"), "cannot be used together"),
        ((secret("own", tls_crt=own, tls_key=pem["closed.key"]), "own"), "encrypted"),
        ((secret("own", tls_crt="x", tls_key=pem["own.key"]), "own"), "cannot be used together"),
    )
    for (wrong, name), words in cases:
        said = await refusal(having(trust, wrong), MUTUAL)
        assert words in said
        assert f"Secret {name} of spec.security.tls cannot be used" in said


async def test_secrets_that_cannot_be_read() -> None:
    """A Secret that is missing, may not be read, is no text, or cannot be asked for is Unknown, with what to do."""
    missing = await refusal(having(), SASL)
    assert "Secret user of spec.security.sasl does not exist, or its annotation" in missing
    for readers in ("", f"KafkaQuorum/{NAME}", f"KafkaStreamsApplication/{NAME}-2", "*"):
        others = secret("user", username="ada", password=PASSWORD)
        others["metadata"]["annotations"] = {USED_BY: readers}
        assert await refusal(having(others), SASL) == missing, readers
    binary = secret("user")
    binary["data"] = {"username": "/w==", "password": "!"}
    assert "no text" in await refusal(having(binary), SASL)
    kube = having(secret("user", username="ada", password=PASSWORD))
    kube.error = KubeRefused("secrets user is forbidden")
    assert "grant get on this Secret" in await refusal(kube, SASL)
    kube.error = KubeUnavailable("no answer")
    assert "was not read: no answer" in await refusal(kube, SASL)


@pytest.mark.parametrize(
    "spec",
    ["x", [], {"protocol": "TLS"}, {"protocol": "SSL"}, {**SASL, "more": 1}, {**SASL, "protocol": "SSL"}],
    ids=str,
)
async def test_a_spec_that_is_not_valid_is_not_plain(spec: Any) -> None:  # noqa: ANN401 - any JSON
    """What cannot be understood never means a connection without security."""
    said = await refusal(having(secret("user", username="ada", password=PASSWORD)), spec)
    assert "SpecAccepted" in said


class Asked(Cluster):
    """Notes how the brokers are asked."""

    def __init__(self, spec: Json) -> None:
        """Nothing is asked yet."""
        super().__init__(spec)
        self.asked: list[Endpoint] = []

    async def coordinator(self, endpoint: Endpoint, group: str) -> Endpoint:
        """Notes the endpoint."""
        self.asked.append(endpoint)
        return await super().coordinator(endpoint, group)

    async def api_versions(self, endpoint: Endpoint) -> Any:  # noqa: ANN401 - as the other one
        """Notes the endpoint."""
        self.asked.append(endpoint)
        return await super().api_versions(endpoint)


def ready(cluster: Cluster) -> tuple[str, str, str]:
    """The condition Ready."""
    (row,) = [row for row in cluster.status["conditions"] if row["type"] == "Ready"]
    return row["status"], row["reason"], row["message"]


async def test_nothing_moves_without_its_secret() -> None:
    """While the Secret is missing no broker is asked, the group is Unknown and no instance stops; then all goes on.

    A Secret that is renewed is used in the next pass, for every question.
    """
    cluster = Asked({"release": "2.3.1", "image": "app:2.3.1", "security": SASL})
    cluster.kube.put(SECRETS, secret("user", username="ada", password=PASSWORD))
    await cluster.run(20)
    assert ready(cluster)[:2] == ("True", "AllInstancesWork")
    del cluster.kube.objects[SECRETS.plural, "user"]
    cluster.asked.clear()
    cluster.kube.calls.clear()
    cluster.ask(release="3.9.1", image="app:3.9.1")
    await cluster.run(10)
    status, reason, message = ready(cluster)
    assert (status, reason) == ("Unknown", "GroupUnknown")
    assert "Secret user of spec.security.sasl does not exist, or its annotation" in message
    assert (cluster.asked, cluster.stops) == ([], [])
    cluster.kube.put(SECRETS, secret("user", username="ada", password="another"))  # noqa: S106 - a test's own
    await cluster.run(120)
    assert ready(cluster)[:2] == ("True", "AllInstancesWork")
    assert cluster.releases() == ["3.9.1"] * 3
    sasl = Sasl(mechanism=Mechanism.SCRAM_SHA_256, username="ada", password="another")  # noqa: S106 - a test's own
    assert {each.security for each in cluster.asked} == {Secured(sasl=sasl)}
    written = str([call.body for call in cluster.kube.writes()])
    assert PASSWORD not in written
    assert base64.b64encode(PASSWORD.encode()).decode() not in written
