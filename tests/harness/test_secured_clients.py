"""The pod of clients that is let in with a key or a password, and the certificates of an owner."""

import json
import subprocess
from pathlib import Path

import pytest

from harness import authority
from harness.access import Access
from harness.authority import Authority
from harness.client.__main__ import _way
from harness.clients import Clients

KEY, WORD = "the key of a client", "the word of a client"


def test_a_secured_pod_reads_its_way_in_from_a_secret(tmp_path: Path) -> None:
    """The pod has no key and no password in it, and its program finds in the mounted file what the Secret has."""
    access = Access(protocol="SASL_SSL", ca="CA", key=KEY, certificate="C", username="ada", password=WORD)
    clients = Clients(namespace="ns", bootstrap="b:9094", image="i", access=access)
    (secret,), pod = clients._secrets(), clients._pod()
    assert KEY not in json.dumps(pod)
    assert WORD not in json.dumps(pod)
    (container,) = pod["spec"]["containers"]
    variables = {row["name"]: row["value"] for row in container["env"]}
    folder, _, name = variables["ACCESS"].rpartition("/")
    (volume,) = (row["name"] for row in container["volumeMounts"] if row["mountPath"] == folder)
    mounted = {row["name"]: row for row in pod["spec"]["volumes"]}[volume]
    assert mounted["secret"]["secretName"] == secret["metadata"]["name"]
    (tmp_path / name).write_text(secret["stringData"][name])
    found = _way(variables["BOOTSTRAP"], str(tmp_path / name))
    assert found == {"bootstrap.servers": "b:9094"} | access.settings()


def test_a_pod_in_clear_text_has_no_secret() -> None:
    """Scenarios without security have the pod that they had."""
    clients = Clients(namespace="ns", bootstrap="b:9092", image="i")
    assert clients._secrets() == []
    assert [row["name"] for row in clients._pod()["spec"]["volumes"]] == ["program"]
    assert _way("b:9092", "") == {"bootstrap.servers": "b:9092"}


def test_a_servers_certificate_has_its_names_and_its_authority(tmp_path: Path) -> None:
    """Openssl accepts it for each of its host names by the authority, and for no other one; the key is PKCS#8."""
    leaf = Authority(home=tmp_path).make().leaf("broker", ["owned-1.ns.svc", "owned-2.ns.svc"])
    (tmp_path / "leaf").write_text(leaf.certificate)

    def verified(host: str) -> bool:
        files = (str(tmp_path / "ca.crt"), str(tmp_path / "leaf"))
        command = ["openssl", "verify", "-verify_hostname", host, "-CAfile", *files]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    assert [verified(host) for host in ("owned-1.ns.svc", "owned-2.ns.svc", "owned-3.ns.svc")] == [True, True, False]
    assert leaf.keystore.startswith("-----BEGIN PRIVATE KEY-----\n")
    assert leaf.keystore.rstrip().endswith("-----END CERTIFICATE-----")
    assert "PRIVATE" not in repr(leaf)


def test_a_key_is_not_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kubectl apply` would write the key into an annotation, which is outside of the Secret."""
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(authority, "kubectl", lambda *words, stdin: asked.append((*words, stdin)))
    leaf = Authority(home=tmp_path).make().leaf("broker")
    leaf.put("ns", "own")
    ((*words, stdin),) = asked
    assert "apply" not in words
    assert json.loads(stdin)["stringData"] == {"keystore.pem": leaf.keystore, "ca.crt": leaf.ca}
