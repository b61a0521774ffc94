"""A report has no Secret, and nothing that looks like a key or a password."""

import base64
import io
import json
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kubectl_kq.worlds import HOSTILE, NOW, listed, look, pod, saying, silent

from kubectl_kq import bundle
from kubectl_kq.answers import NotRead, Why
from kubectl_kq.doctor import doctor_page
from kubectl_kq.page import DONE, UNKNOWN, Page
from kubectl_kq.redact import REDACTED, redacted, redacted_text
from kubectl_kq.render import data
from kubectl_kq.sources import Source
from kubectl_kq.status import status_page

PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl"
BLOB = base64.b64encode(bytes(range(96))).decode()
HELD = "hunter2-Zz"

TEXTS = [
    f"before {PEM} after",
    PEM[:60],
    PEM.replace("\n", "\\n"),
    f"Bearer {JWT}",
    f"Authorization: Basic {HELD}",
    f"ssl.key.password={HELD}",
    f"ssl.truststore.password: {HELD}",
    f'{{"password": "{HELD}"}}',
    f'{{\\"ssl.keystore.password\\": \\"{HELD}\\"}}',
    f"-Djavax.net.ssl.keyStorePassword={HELD} -Xmx1g",
    f"org.apache.kafka.ScramLoginModule required username='a' password='{HELD}';",
    f"client_secret={HELD}",
    f'"token":"{HELD}"',
    f"https://ada:{HELD}@registry.example/x",
    f"found {BLOB}",
    f"aws AKIA{'A' * 16}",
    f"login --password {HELD} -u ada",
    f"pwd={HELD}",
    f"DB_PASS: {HELD}",
    f"password: |\n  {HELD}\n",
    f"https://ada:p@{HELD}@registry.example/x",
    f'required password="a\\"{HELD}";',
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----",
]


@pytest.mark.parametrize("text", TEXTS)
def test_key_material_is_removed_from_texts(text: str) -> None:
    """Keys, tokens, passwords and long base64 are replaced, also inside JSON that is quoted in JSON."""
    found = redacted_text(text)
    assert REDACTED in found
    for secret in (HELD, JWT, BLOB, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "A" * 16):
        assert secret not in found


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["a" * 100_000, "-" * 100_000, "password" * 10_000, "a.b-" * 25_000])
def test_a_long_line_takes_no_time(text: str) -> None:
    """A line of a log may be long, and have no blank: no pattern searches it again from each of its characters."""
    assert len(redacted_text(text)) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "Waiting for voter 3002 to catch up before restarting controller 3001",
        "Secret demo-ca: it cannot be read",
        "image registry.example/kafka@sha256:" + "0123456789abcdef" * 4,
        "replica 3000-AAAPoAAAD6AAAA-gAAAPoA, cluster AAAABwAAAAcAAAAHAAAABw",
        "The token is held by pool brokers: the pass of 3001 has ended -- bypass it",
        "pod demo-3000-g1 on worker-1.zone-a.internal.example at 10.0.0.1:9093",
    ],
)
def test_what_helps_stays(text: str) -> None:
    """Sentences, digests, directory ids and names stay as they are."""
    assert redacted_text(text) == text


def test_objects_are_redacted_by_their_names() -> None:
    """Fields and variables whose names speak of a secret lose their texts; names of Secrets stay."""
    item = {
        "metadata": {
            "managedFields": [{"manager": "kubectl"}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": HELD, "note": "n"},
        },
        "spec": {
            "kafka": {"config": {"ssl.key.password": HELD, "num.io.threads": "8", "sasl.jaas.config": HELD}},
            "security": {"brokers": {"scramUsersSecretName": "users"}, "issuer": {"trustSecretName": "trust"}},
            "containers": [{"env": [{"name": "DB_PASSWORD", "value": HELD}, {"name": "A", "value": "b"}]}],
            "token": {"expirationSeconds": 3600},
            "args": ["--password", HELD, "--token-file", "/run/t", "--verbose"],
            "passwords": [HELD, HELD],
            "db.pass": HELD,
        },
    }
    found = redacted(item)
    assert HELD not in json.dumps(found)
    assert "managedFields" not in found["metadata"]
    assert found["metadata"]["annotations"] == {"note": "n"}
    assert found["spec"]["kafka"]["config"]["num.io.threads"] == "8"
    assert found["spec"]["security"] == item["spec"]["security"]
    assert found["spec"]["containers"][0]["env"] == [
        {"name": "DB_PASSWORD", "value": REDACTED},
        {"name": "A", "value": "b"},
    ]
    assert found["spec"]["token"] == {"expirationSeconds": 3600}
    assert found["spec"]["args"][0::2] == ["--password", "--token-file", "--verbose"]


@given(st.binary(min_size=48, max_size=200), st.text(max_size=20))
def test_no_private_key_survives(key: bytes, around: str) -> None:
    """Whatever surrounds it, the body of a PEM block is gone. Redacting again changes nothing of what stands apart."""
    body = base64.b64encode(key).decode()
    block = f"-----BEGIN EC PRIVATE KEY-----\n{body}\n-----END EC PRIVATE KEY-----"
    assert body not in redacted_text(f"{around}{block}{around}")
    found = redacted_text(f"{around} {block} {around}")
    assert body not in found
    assert redacted_text(found) == found


def pages() -> list[Page]:
    """Two pages of a quorum that is well."""
    return [status_page(look(), NOW), doctor_page(look(), NOW)]


LOGS: dict[tuple[str, str], str | NotRead] = {
    ("3000", "demo-3000-g1"): f"INFO start\nssl.key.password={HELD}\n{HOSTILE}\n",
    ("3001", "../../etc/passwd"): "x\n",
    ("operator", "operator-1"): "kafka/demo looks\nkafka/demo2 looks\nother/demo looks\n",
    ("3002", "demo-3002-g1"): NotRead(why=Why.SILENT, words="no answer within 6 s"),
}


def test_an_archive_has_everything_and_no_secret() -> None:
    """Pages, objects and logs are in the archive, redacted; what was not read is listed; no name leaves the folder."""
    spoilt = pod(3000)
    spoilt["spec"]["containers"] = [{"env": [{"name": "KAFKA_PASSWORD", "value": HELD}]}]
    seen = look(
        {
            Source.PODS: listed(spoilt),
            Source.QUORUM: saying({"message": f"password={HELD}"}, {"kafka": {"config": {"x": PEM}}}),
            Source.EVENTS: silent(),
        }
    )
    files = bundle.members(seen, pages(), LOGS, tail=100)
    packed = bundle.archive(files, "kq-kafka-demo", NOW)
    assert packed == bundle.archive(files, "kq-kafka-demo", NOW)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        members = tar.getmembers()
        content = {each.name: tar.extractfile(each).read().decode() for each in members}  # type: ignore[union-attr]
    whole = "\n".join(content.values())
    assert HELD not in whole
    assert "MIIEvQ" not in whole
    assert {each.mode for each in members} == {0o600}
    assert all(name.startswith("kq-kafka-demo/") and ".." not in name.split("/") for name in content)
    for name in ("status.txt", "status.json", "doctor.json", "objects/KafkaQuorum.json", "objects/node-worker-1.json"):
        assert f"kq-kafka-demo/{name}" in content
    assert content["kq-kafka-demo/logs/operator-1.log"] == "kafka/demo looks\n"
    assert "\x1b" not in content["kq-kafka-demo/logs/demo-3000-g1.log"]
    gaps = [row["what"] for row in json.loads(content["kq-kafka-demo/not-read.json"])]
    assert gaps == ["Events", "log of demo-3002-g1"]


def test_the_page_of_a_report_names_its_gaps() -> None:
    """The page lists the files, and what is missing in them; then the exit code is 3."""
    files = bundle.members(look(), pages(), LOGS, tail=100)
    page = bundle.report_page(look(), files, LOGS, "a.tar.gz")
    assert [row["what"] for row in data(page)["notRead"]] == ["log of demo-3002-g1"]
    assert page.code == UNKNOWN
    assert bundle.report_page(look(), files, {}, "a.tar.gz").code == DONE


def test_no_secret_is_among_the_sources() -> None:
    """No path that the plugin reads is one of Secrets."""
    from kubectl_kq.sources import all_quorums, node_path, paths  # noqa: PLC0415

    read = [*paths("kafka", "demo").values(), all_quorums("kafka"), node_path("worker-1")]
    assert [path for path in read if "secret" in path.lower()] == []
