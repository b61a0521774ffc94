"""A quorum with mutual TLS: from birth, while certificates are renewed, and when its authority is replaced."""

import asyncio
import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from harness.authority import Authority
from harness.controllers import ControllerAccess
from harness.everywhere import Remembering, everything
from harness.quorum import Quorum
from harness.refused import POD_SPECS
from harness.shell import Json, get, items, kubectl, wait_until
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.handshakes import Handshake, NotServed, Served, refuses_client
from kafka_quorum.model.names import operator_tls_name, tls_name
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT, Secured, Tls
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.handshake import probe

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

NAMESPACE: Final = "kafka-quorum-system"
SSL: Json = {"controllers": {"listeners": [{"name": "CONTROLLER", "port": 9093, "protocol": "SSL"}]}}
_RENEWED_TIMEOUT_S = 420.0


def endpoints(quorum: Quorum) -> dict[int, Endpoint]:
    """Where each controller is reached with the operator's certificate."""
    access = ControllerAccess(quorum.namespace, quorum.name)
    found = {node_id: access.endpoint(pod) for node_id, pod in quorum.pods().items()}
    return {node_id: at for node_id, at in found.items() if at is not None}


def shake(at: Endpoint) -> Handshake:
    """One handshake, and a request."""
    return asyncio.run(probe(at))


def served(quorum: Quorum) -> dict[int, str]:
    """The serial number of the certificate that each controller serves; only with a whole handshake."""
    answers = {node_id: shake(at) for node_id, at in endpoints(quorum).items()}
    return {node_id: one.leaf.serial for node_id, one in answers.items() if isinstance(one, Served) and one.accepted}


def asks(at: Endpoint) -> str:
    """What a request to a controller ends with; empty if it is answered."""

    async def one() -> str:
        controllers = KafkaControllers()
        try:
            await controllers.describe_cluster(at)
        except KafkaError as error:
            return str(error)
        finally:
            await controllers.close()
        return ""

    return asyncio.run(one())


def trust_of(at: Endpoint) -> str:
    """What the operator trusts there."""
    assert isinstance(at.security, Secured)
    assert at.security.tls is not None
    return at.security.tls.ca


def stranger(home: Path, at: Endpoint) -> Endpoint:
    """The same controller, with the trust of the operator and a certificate of an authority that is not trusted."""
    home.mkdir()
    other = Authority(home=home, name="stranger").make().leaf("operator")
    return replace(at, security=Secured(tls=Tls(ca=trust_of(at), certificate=other.certificate, key=other.key)))


def test_a_new_quorum_has_mutual_tls(quorum: Quorum, tmp_path: Path) -> None:
    """With nothing prepared, controllers serve certificates for their names and answer only those of their authority.

    No key is anywhere but in Secrets, which no account may list.
    """
    with Remembering(quorum.namespace) as remembering:
        quorum.apply(SSL)
        quorum.wait_ready()
        for node_id, at in endpoints(quorum).items():
            found = shake(at)
            assert isinstance(found, Served), found
            assert found.accepted
            assert at.name in found.leaf.dns_names
            assert found.leaf.subject == f"CN=controllers,OU={quorum.name},O={quorum.namespace}"
            another = 3000 if node_id != 3000 else 3001
            wrong = shake(replace(at, name=at.name.replace(str(node_id), str(another), 1)))
            assert isinstance(wrong, NotServed), wrong
            assert "another name" in wrong.why
            assert refuses_client(shake(stranger(tmp_path / str(node_id), at)))
            assert refuses_client(shake(replace(at, security=Secured(tls=Tls(ca=trust_of(at))))))
            assert asks(at) == ""
            assert asks(replace(at, security=PLAINTEXT)) != ""
        found_ = remembering.search(everything((quorum.namespace, NAMESPACE), with_disks=True))
        assert not found_.leaks, str(found_)


@pytest.mark.full
@pytest.mark.parametrize("template", [{}, POD_SPECS["root"]], ids=["a valid spec", "an invalid spec"])
def test_a_certificate_is_renewed_and_the_controllers_restart_before_the_earlier_one_ends(
    quorum: Quorum, template: Json
) -> None:
    """Certificates that live ten minutes are served anew before half of it, and no controller is away meanwhile.

    This also holds while the spec is not valid: with a pod template that only the operator refuses.
    """
    quorum.apply(SSL | {"security": {"controllers": {"leafSeconds": 300, "renewBeforeSeconds": 200}}})
    quorum.wait_ready()
    first, pods, began_s = served(quorum), quorum.pods(), time.monotonic()
    assert len(first) == 3
    if template:
        quorum.patch({"controllers": {"template": {"spec": template}}})
        quorum.wait_condition("SpecAccepted", "False", timeout_s=60)

    def renewed() -> bool:
        now = served(quorum)
        assert len(now) >= 2, f"only {now} answered"
        return len(now) == 3 and not set(now.values()) & set(first.values())

    wait_until("every controller serves a renewed certificate", renewed, _RENEWED_TIMEOUT_S, poll_s=2.0)

    def restarted() -> bool:
        uids = {pod["metadata"]["uid"] for pod in quorum.pods().values()}
        return len(uids) == 3 and not uids & {pod["metadata"]["uid"] for pod in pods.values()}

    wait_until("every controller restarted", restarted, _RENEWED_TIMEOUT_S, poll_s=2.0)
    assert time.monotonic() - began_s < 300, "the earlier certificates had ended by then"
    if template:
        assert quorum.condition("SpecAccepted")["status"] == "False"
        assert quorum.condition("Available")["status"] == "True"
        quorum.patch({"controllers": {"template": {"spec": None}}})
    quorum.wait_ready()


@pytest.mark.full
def test_a_lost_certificate_is_made_again(quorum: Quorum) -> None:
    """A deleted Secret of a controller, or of the operator, comes back, and every controller serves what it has."""
    quorum.apply(SSL)
    quorum.wait_ready()
    before = served(quorum)
    for name in (tls_name(quorum.name, 3001), operator_tls_name(quorum.name)):
        kubectl("-n", quorum.namespace, "delete", "secret", name)
        wait_until(f"Secret {name} is there again", partial(get, quorum.namespace, "secret", name), 60)
    quorum.wait_ready(180)
    wait_until("3001 serves another one", lambda: served(quorum).get(3001) not in {None, before[3001]}, 240, poll_s=2.0)
    assert len(served(quorum)) == 3


def test_a_person_without_rights_on_secrets_sees_no_key(quorum: Quorum) -> None:
    """A person who may see quorums and pods, and no Secrets, finds no key in anything that they see."""
    with Remembering(quorum.namespace) as remembering:
        quorum.apply(SSL)
        quorum.wait_ready()
        kinds = ("kq", "pods", "configmaps", "events", "controllerrevisions.apps", "pvc")
        seen = [(kind, json.dumps(items(quorum.namespace, kind)).encode()) for kind in kinds]
        found = remembering.search(seen)
        assert not found.leaks, str(found)
