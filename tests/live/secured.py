"""A broker with every way of security on loopback: mutual TLS, SASL_SSL with SCRAM, SASL_PLAINTEXT with PLAIN; ACLs.

Topics, users and ACLs are made over the plain listener, whose clients are super users. Everything that it starts ends
with `close()`.
"""

import asyncio
import json
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import confluent_kafka.admin
from tests.live.brokers import INTERNAL, LiveBrokers
from tests.live.jars import Kafka
from tests.live.ports import HOST, free_port
from tests.live.quorum import LISTENER
from tests.live.test_zookeeper_secret import openssl

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Mechanism, Sasl, Secured, Security, Tls

_ADMIN: Final[Any] = confluent_kafka.admin  # typed in part
USER, PASSWORD = "ada", "f=n,ce é-1"
REAUTHENTICATE_MS = 1500
"""For how long the SCRAM listener accepts a session."""
_ADMIN_S = 20.0
_MODULE = "org.apache.kafka.common.security"
_SCRAM = f"{_MODULE}.scram.ScramLoginModule required;"
_CONSUMER = textwrap.dedent("""
    import json, sys
    from confluent_kafka import Consumer
    consumer = Consumer(json.loads(sys.argv[1]))
    consumer.subscribe(sys.argv[2:])
    while True:
        message = consumer.poll(0.05)
        if message is not None and not message.error():
            consumer.commit(message, asynchronous=False)
""")


def certificates(home: Path) -> None:
    """Two authorities, the second of which nobody trusts; a server's certificate, and a client's by each authority."""
    key = ("-newkey", "rsa:2048", "-nodes", "-days", "2")
    (home / "san").write_text(f"subjectAltName=IP:{HOST}\n")
    for authority, names in (("ca", ("server", "client")), ("other", ("stranger",))):
        made = ("-keyout", f"{authority}.key", "-out", f"{authority}.crt", "-subj", f"/CN={authority}")
        openssl(home, "req", "-x509", *key, *made)
        for name in names:
            openssl(home, "req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
            by = ("-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-CAcreateserial", "-days", "2")
            openssl(home, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *by, "-extfile", "san")
    openssl(home, "rsa", "-in", "client.key", "-traditional", "-out", "client.pkcs1")
    (home / "server.pem").write_text((home / "server.key").read_text() + (home / "server.crt").read_text())


@dataclass(slots=True)
class SecuredBroker:
    """One broker of a release; `ports` by listener: TLS, SCRAM, PLAIN."""

    kafka: Kafka
    home: Path
    ports: dict[str, int] = field(default_factory=dict)
    cluster: LiveBrokers = field(init=False)
    consumers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    async def open(self) -> None:
        """Starts it."""
        self.home.mkdir(parents=True, exist_ok=True)
        certificates(self.home)
        authorizer = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        self.cluster = LiveBrokers(self.kafka, self.home / "cluster", brokers=())
        self.cluster.quorum.config |= authorizer
        for node in self.cluster.quorum.nodes.values():
            self.cluster.quorum.write_config(node)
        broker = self.cluster.add(1)
        self.ports = {name: free_port() for name in ("TLS", "SCRAM", "PLAIN")}
        listeners = {INTERNAL: broker.port, **self.ports}
        tls = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.home / "server.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.home / "ca.crt"),
        }
        word = PASSWORD.encode("ascii", "backslashreplace").decode().replace("\\xe9", "\\u00e9")  # a file of Java's
        broker.config |= {
            **authorizer,
            "listeners": ",".join(f"{name}://{HOST}:{port}" for name, port in listeners.items()),
            "listener.security.protocol.map": f"{INTERNAL}:PLAINTEXT,{LISTENER}:PLAINTEXT,TLS:SSL,SCRAM:SASL_SSL,"
            "PLAIN:SASL_PLAINTEXT",
            **{f"listener.name.{name}.{key}": value for name in ("tls", "scram") for key, value in tls.items()},
            "listener.name.tls.ssl.client.auth": "required",
            "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.scram.scram-sha-256.sasl.jaas.config": _SCRAM,
            "listener.name.scram.scram-sha-512.sasl.jaas.config": _SCRAM,
            "listener.name.scram.scram-sha-512.connections.max.reauth.ms": str(REAUTHENTICATE_MS),
            "listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.plain.plain.sasl.jaas.config": f"{_MODULE}.plain.PlainLoginModule required "
            f'user_{USER}="{word}";',
            "connection.failed.authentication.delay.ms": "0",
        }
        self.cluster.write(broker)
        await self.cluster.open()

    async def close(self) -> None:
        """Ends every process."""
        self.end_consumers()
        await self.cluster.close()

    def pem(self, name: str) -> str:
        """One of the files that `certificates` makes."""
        return (self.home / name).read_text()

    def tls(self, client: str = "client", key: str = "", ca: str = "ca") -> Tls:
        """With this client's certificate, or none; `key` is another file with its key."""
        if not client:
            return Tls(ca=self.pem(f"{ca}.crt"))
        return Tls(
            ca=self.pem(f"{ca}.crt"), certificate=self.pem(f"{client}.crt"), key=self.pem(key or f"{client}.key")
        )

    def at(self, listener: str, security: Security) -> Endpoint:
        """Where a listener is reached."""
        return Endpoint(node_id=NodeID(1), host=HOST, port=self.ports[listener], security=security)

    def scram(self, password: str = PASSWORD, mechanism: Mechanism = Mechanism.SCRAM_SHA_512) -> Endpoint:
        """SASL_SSL."""
        sasl = Sasl(mechanism=mechanism, username=USER, password=password)
        return self.at("SCRAM", Secured(tls=self.tls(""), sasl=sasl))

    def plain(self, password: str = PASSWORD) -> Endpoint:
        """SASL_PLAINTEXT."""
        return self.at("PLAIN", Secured(sasl=Sasl(mechanism=Mechanism.PLAIN, username=USER, password=password)))

    async def set_password(self, password: str) -> None:
        """Gives the user this password for both mechanisms of SCRAM."""

        def change() -> None:
            admin = self._admin()
            for mechanism in (_ADMIN.ScramMechanism.SCRAM_SHA_256, _ADMIN.ScramMechanism.SCRAM_SHA_512):
                info = _ADMIN.ScramCredentialInfo(mechanism, 4096)
                wanted = _ADMIN.UserScramCredentialUpsertion(USER, info, password.encode())
                for future in admin.alter_user_scram_credentials([wanted]).values():
                    future.result(_ADMIN_S)

        await asyncio.to_thread(change)

    async def allow(self, resource: str, name: str, operation: str = "DESCRIBE") -> None:
        """Gives the user a right: `resource` is TOPIC or GROUP."""

        def add() -> None:
            admin = self._admin()
            binding = _ADMIN.AclBinding(
                _ADMIN.ResourceType[resource],
                name,
                _ADMIN.ResourcePatternType.LITERAL,
                f"User:{USER}",
                "*",
                _ADMIN.AclOperation[operation],
                _ADMIN.AclPermissionType.ALLOW,
            )
            for future in admin.create_acls([binding]).values():
                future.result(_ADMIN_S)

        await asyncio.to_thread(add)

    def _admin(self) -> Any:  # noqa: ANN401 - typed in part
        return _ADMIN.AdminClient({"bootstrap.servers": self.cluster.bootstrap(), "log_level": 0})

    def consume(self, group: str, topics: Sequence[str]) -> None:
        """Starts a member of a group, in a process of its own."""
        given = {
            "bootstrap.servers": self.cluster.bootstrap(),
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        command = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-c", _CONSUMER, json.dumps(given), *topics]
        self.consumers.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))

    def end_consumers(self) -> None:
        """Kills every member."""
        for consumer in self.consumers:
            consumer.kill()
            consumer.wait()
        self.consumers.clear()
