"""A broker of a pool on real Kafka, whose controllers have TLS: its files are those that the operator makes.

The Secrets are composed as the quorum composes them, and the properties are those of the pool's config map. Only paths
and addresses are replaced. The pool asks the controllers with the operator's own certificate or user.
"""

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from tests.brokers.values import NAMESPACE, POOL, QUORUM
from tests.brokers.values import desired as desired_pool
from tests.kit.kube.recording import RecordingKube
from tests.live.broker_worlds import note
from tests.live.brokers import CONTROLLER, LiveBroker, LiveBrokers
from tests.live.jars import Kafka
from tests.live.ports import HOST
from tests.live.quorum import LISTENER
from tests.live.test_secured_contract import GENERATION, contract_of, controller_runs, kafka, quorum_of, runtime_of
from tests.model.values import desired as desired_quorum

from kafka_brokers.model.contracted import first_contact, secret_keys
from kafka_brokers.observe.access import access_to
from kafka_brokers.observe.kafka import controllers_of
from kafka_brokers.resources.properties import LATE_PATH, log_dir, server_properties
from kafka_quorum.model.contract import SASL_KEY, SECRET_PATH, Contract
from kafka_quorum.model.desired import Protocol
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder
from kafka_quorum.resources.secrets import Logins, leaf_object
from kafka_quorum.resources.tls import USERS_KEY
from kafka_quorum.resources.users import broker_lines, new_passwords, users_object
from kit.kube.protocol import Json
from kit.kube.secrets import SECRETS
from kit.pki.authority import Authority, Request, issue, read_authority
from kit.pki.names import DistinguishedName

__all__ = ["kafka"]

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

_OF: Final = desired_quorum(name=QUORUM, namespace=NAMESPACE)
_DAY_S: Final = 24 * 3600


def composed(home: Path, protocol: Protocol) -> dict[str, Json]:
    """The Secrets of the quorum by name, signed by the authority of this test."""
    trust, key, now = (home / "ca.crt").read_text(), (home / "ca.key").read_text(), datetime.now(UTC)
    authority = read_authority(trust, key, "the test", now)
    assert isinstance(authority, Authority), authority
    passwords = new_passwords(lambda: "correct-horse-battery")
    users = users_object(_OF, passwords, (LISTENER,), "")
    logins = Logins(listeners=(LISTENER,), lines=broker_lines(passwords, (LISTENER,)))

    def leaf(holder: Holder, common: str) -> Json:
        subject = DistinguishedName(cn=common, ou=QUORUM, o=NAMESPACE)
        made = issue(authority, Request(subject=subject, life_s=_DAY_S, server=False, client=True), now)
        given = (logins,) if protocol is Protocol.SASL_SSL else ()
        return leaf_object(_OF, holder, made, trust, GENERATION, None, 0, *given)

    found = [leaf(BROKERS, "brokers"), leaf(OPERATOR, "operator"), users]
    return {each["metadata"]["name"]: each for each in found}


def texts(secret: Json) -> dict[str, str]:
    """The files that a pod sees."""
    return {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}


def write_properties(world: LiveBrokers, broker: LiveBroker, of: Contract, home: Path) -> None:
    """Write the properties of the pool, as the start script puts them together."""
    runtime = desired_pool(contract=of).runtime
    text = server_properties(NAMESPACE, POOL, broker.node_id, runtime, first_contact(of))
    disk = log_dir(runtime, broker.node_id, 0)
    text = text.replace(SECRET_PATH, str(home / "pod")).replace(disk, str(broker.log_dirs[0]))
    keys = secret_keys(runtime)
    assert keys
    assert all((home / "pod" / key).stat().st_size for key in keys), "the script would wait"
    added = (home / "pod" / SASL_KEY).read_text() if SASL_KEY in keys else ""
    here = f"REPLICATION://{HOST}:{broker.port}"
    own = f"listeners={here}\nadvertised.listeners={here}\noffsets.topic.replication.factor=1\n"
    assert LATE_PATH not in text
    broker.properties.write_text(f"{text}{added}{own}")
    world.format(broker)


@pytest.mark.parametrize("protocol", [Protocol.SSL, Protocol.SASL_SSL])
async def test_a_broker_of_a_pool(kafka: Kafka, tmp_path: Path, protocol: Protocol) -> None:
    """It registers with what the Secret and the config map have, and the pool reaches the leader by what it reads."""
    async with quorum_of(kafka, tmp_path, protocol) as world:
        made = composed(tmp_path, protocol)
        (tmp_path / "pod").mkdir()
        for key, text in texts(made[f"{QUORUM}-brokers-tls"]).items():
            (tmp_path / "pod" / key).write_text(text)
        kube = RecordingKube()
        for each in made.values():
            kube.put(SECRETS, each)
        node = world.quorum.nodes[NodeID(CONTROLLER)]
        of = contract_of(runtime_of(tmp_path, protocol), node.port, QUORUM)
        access = await access_to(kube, NAMESPACE, QUORUM, of)
        assert isinstance(access, Known), access
        node.security = access.value
        if protocol is Protocol.SASL_SSL:
            line = texts(made[f"{QUORUM}-users"])[USERS_KEY]
            world.quorum.config |= dict([line.rstrip("\n").split("=", 1)])
            world.quorum.write_config(node)
        await controller_runs(world)
        write_properties(world, world.brokers[1], of, tmp_path)
        world.start(world.brokers[1])
        await world.all_unfenced(1)
        (controller,) = controllers_of(of, access.value).values()
        answer = await world.client.describe_quorum(controller)
        assert [row.key.node_id for row in answer.observers] == [1]
        note("a broker of a pool with TLS", release=kafka.version, protocol=protocol.value)
