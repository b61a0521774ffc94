"""An authority for the clients of brokers of others, and its certificates: an owner's own, none of the operator's.

Made with openssl. Keys are on the P-256 curve in PKCS#8, as a PEM store of Kafka reads them.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from harness.access import Access
from harness.shell import kubectl, succeed

_DAYS: Final = "2"
_KEY: Final = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_ITERATIONS: Final = 4096
_STAMP: Final = "%Y%m%d%H%M%SZ"
_AGED: Final = """\
[ca]
default_ca = own
[own]
database = {home}/index.txt
new_certs_dir = {home}
certificate = {home}/ca.crt
private_key = {home}/ca.key
rand_serial = yes
default_md = sha256
copy_extensions = copy
unique_subject = no
policy = any
[any]
commonName = supplied
"""
_REQUEST_TIMEOUT_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A certificate with its key, and the authority that made it, as PEM."""

    ca: str
    certificate: str
    key: str = field(repr=False)

    @property
    def keystore(self) -> str:
        """The key, then the chain: a PEM store of Kafka."""
        return self.key + self.certificate

    def access(self) -> Access:
        """The way in of a client with this certificate."""
        return Access(protocol="SSL", ca=self.ca, certificate=self.certificate, key=self.key)

    def user(self, name: str, password: str) -> Access:
        """The way in of a user of SCRAM at a server of the same authority."""
        return Access(protocol="SASL_SSL", ca=self.ca, mechanism="SCRAM-SHA-512", username=name, password=password)

    def put(self, namespace: str, name: str) -> None:
        """Write the Secret that brokers mount: `keystore.pem` and `ca.crt`."""
        data = {"keystore.pem": self.keystore, "ca.crt": self.ca}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}
        # Not applied: kubectl would write the key into an annotation.
        kubectl("-n", namespace, "create", "-f", "-", stdin=json.dumps(body))


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """An authority whose files are in a folder."""

    home: Path
    name: str = "owner-ca"

    def make(self) -> "Authority":
        """Make its key and its certificate; returns itself."""
        out = ("-keyout", str(self.home / "ca.key"), "-out", str(self.home / "ca.crt"))
        succeed("openssl", "req", "-x509", *_KEY, "-days", _DAYS, *out, "-subj", f"/CN={self.name}")
        return self

    def leaf(self, name: str, hosts: Iterable[str] = (), *, subject: str = "", begun_h_ago: float = 0.0) -> Leaf:
        """A certificate with `CN=name`: of a server with these host names or addresses, or of a client.

        `subject`, as openssl writes it, is another subject; the name is that of the files then. Of its two days,
        `begun_h_ago` hours are over.
        """
        key, request, made = (self.home / f"{name}.{end}" for end in ("key", "csr", "crt"))
        rows = [f"{'IP' if host.replace('.', '').isdigit() else 'DNS'}:{host}" for host in hosts]
        names = ("-addext", f"subjectAltName={','.join(rows)}") if rows else ()
        ends = ("-keyout", str(key), "-out", str(request))
        succeed("openssl", "req", *_KEY, *ends, "-subj", subject or f"/CN={name}", *names)
        if begun_h_ago:
            self._sign_aged(request, made, begun_h_ago)
        else:
            by = ("-CA", str(self.home / "ca.crt"), "-CAkey", str(self.home / "ca.key"), "-CAcreateserial")
            sign = ("-days", _DAYS, "-copy_extensions", "copy", "-in", str(request), "-out", str(made))
            succeed("openssl", "x509", "-req", *by, *sign)
        return Leaf(ca=(self.home / "ca.crt").read_text(), certificate=made.read_text(), key=key.read_text())

    def _sign_aged(self, request: Path, made: Path, begun_h_ago: float) -> None:
        """Only `openssl ca`, which has files of its own, signs with another begin than now."""
        config = self.home / "ca.cnf"
        config.write_text(_AGED.format(home=self.home))
        (self.home / "index.txt").touch()
        begin = datetime.now(UTC) - timedelta(hours=begun_h_ago)
        times = ("-startdate", f"{begin:{_STAMP}}", "-enddate", f"{begin + timedelta(days=int(_DAYS)):{_STAMP}}")
        files = ("-config", str(config), "-in", str(request), "-out", str(made))
        succeed("openssl", "ca", "-batch", "-notext", *times, *files)


def add_user(client: AdminClient, name: str, password: str) -> None:
    """Create a user of SCRAM-SHA-512, or give it another password."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
    wanted = UserScramCredentialUpsertion(name, info, password.encode())
    (answer,) = client.alter_user_scram_credentials([wanted], request_timeout=_REQUEST_TIMEOUT_S).values()
    answer.result(_REQUEST_TIMEOUT_S + 5)
