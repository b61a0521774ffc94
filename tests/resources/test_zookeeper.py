"""What a pod needs to reach ZooKeeper: only the fixed paths in the shell lines are replaced."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kafka_quorum.resources import zookeeper
from kit.parsing import Malformed

ACCESS: Final = ZooKeeperAccess(connect="zoo:2181/kafka", secret_name="zoo-client")  # noqa: S106 - a name
OPEN: Final = ZooKeeperAccess(connect="zoo:2181")
USER: Final = {"username": "ada", "password": "secret"}
SHELLS = [
    pytest.param(command.split(), id=command)
    for command in ("dash", "busybox sh", "bash --posix")
    if shutil.which(command.split()[0])
]


class Container:
    """A Secret's mount and a volume in memory, below one directory."""

    def __init__(self, place: Path, shell: list[str]) -> None:
        """Both are empty."""
        self.secret, self.files, self.shell = place / "secret", place / "files", shell
        self.secret.mkdir()
        self.files.mkdir()

    def put(self, **keys: str) -> None:
        """Write keys of the Secret; `_` in a name stands for a dot."""
        for key, text in keys.items():
            (self.secret / key.replace("_", ".")).write_text(text)

    def run(self, *, options: str | None = "-Dx=y") -> "subprocess.CompletedProcess[str]":
        """The lines, then a line that prints what Kafka's start script would get."""
        script = zookeeper.shell(ACCESS)
        for path, instead in ((zookeeper.SECRET_PATH, self.secret), (zookeeper.FILES_PATH, self.files)):
            script = script.replace(path, str(instead))
        script = f'set -u; umask 027\n{script}\nprintf "%s|%s" "${{KAFKA_OPTS:-}}" "$(umask)"\n'
        variables = {"PATH": os.environ["PATH"], "LC_ALL": "C"} | ({} if options is None else {"KAFKA_OPTS": options})
        return subprocess.run([*self.shell, "-c", script], env=variables, check=False, capture_output=True, text=True)

    def written(self, name: str) -> str:
        """A file that the lines made."""
        return (self.files / name).read_text()


@pytest.fixture(params=SHELLS)
def container(request: pytest.FixtureRequest, tmp_path: Path) -> Container:
    """An empty Secret, for each shell."""
    return Container(tmp_path, request.param)


def test_without_a_secret_there_is_only_the_address() -> None:
    """Without a Secret, a pod has the address and nothing else."""
    assert zookeeper.properties(OPEN) == (("zookeeper.connect", "zoo:2181"),)
    assert (zookeeper.files(OPEN), zookeeper.volumes(OPEN), zookeeper.mounts(OPEN)) == ((), [], [])
    assert zookeeper.shell(OPEN) == ""


def test_the_secret_is_mounted_and_its_files_are_in_memory() -> None:
    """The Secret is a volume that only Kafka's container mounts; what is made of it stays in memory."""
    secret, made = zookeeper.volumes(ACCESS)
    assert secret["secret"] == {"secretName": "zoo-client"}
    assert made["emptyDir"]["medium"] == "Memory"
    assert [mount["name"] for mount in zookeeper.mounts(ACCESS)] == [secret["name"], made["name"]]
    assert zookeeper.mounts(ACCESS)[0]["readOnly"] is True
    assert all(path.startswith(zookeeper.FILES_PATH) for path in zookeeper.files(ACCESS))


def test_an_empty_secret_changes_nothing(container: Container) -> None:
    """With a Secret that has none of the keys, the connection is a plain one."""
    done = container.run()
    assert (done.returncode, done.stdout.partition("|")[0], done.stderr) == (0, "-Dx=y", "")
    assert container.written("tls.properties") == ""
    assert not (container.files / "jaas.conf").exists()


def test_a_user_and_a_password_make_a_jaas_file(container: Container) -> None:
    """Characters that JAAS gives a meaning are escaped, and neither text is in Java's options."""
    container.put(**USER | {"password": 'p"a\\s$s {x} ${user.dir}\n'})
    done = container.run()
    options, _, umask = done.stdout.partition("|")
    assert (done.returncode, done.stderr) == (0, "")
    dollar = "${kafkaquorum.dollar}"
    assert container.written("jaas.conf") == (
        "Client {\n  org.apache.zookeeper.server.auth.DigestLoginModule required\n"
        f'  username="ada"\n  password="p\\"a\\\\s{dollar}s {{x}} {dollar}{{user.dir}}";\n}};\n'
    )
    at = container.files / "jaas.conf"
    assert options == f"-Dx=y -Djava.security.auth.login.config={at} -Dkafkaquorum.dollar=$"
    assert at.stat().st_mode & 0o077 == 0
    assert int(umask, 8) == 0o027, "the umask of the container is as it was"


def test_java_gets_its_option_without_others(container: Container) -> None:
    """KAFKA_OPTS need not exist."""
    container.put(**USER)
    assert container.run(options=None).stdout.startswith(" -Djava.security.auth.login.config=")


def test_an_authority_makes_the_connection_tls(container: Container) -> None:
    """With ca.crt alone only ZooKeeper shows a certificate."""
    container.put(ca_crt="CA\n")
    assert container.run().returncode == 0
    lines = container.written("tls.properties").splitlines()
    assert [line.partition("=")[0] for line in lines] == [key for key, _ in zookeeper.CLIENT_PROPERTIES]
    assert container.written("ca.pem") == "CA\n"


def test_a_certificate_of_the_client_is_one_file_with_its_key(container: Container) -> None:
    """ZooKeeper reads key and certificate from one PEM file."""
    container.put(ca_crt="CA\n", tls_crt="CERTIFICATE\n", tls_key="KEY")
    assert container.run().returncode == 0
    assert container.written("client.pem") == "KEY\nCERTIFICATE\n"
    keys = [line.partition("=")[0] for line in container.written("tls.properties").splitlines()]
    assert keys == [key for key, _ in (*zookeeper.CLIENT_PROPERTIES, *zookeeper.CERTIFICATE_PROPERTIES)]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"username": "ada"}, "both username and password"),
        ({"password": "secret"}, "both username and password"),
        ({"username": "ada", "password": "one\ntwo"}, "one line"),
        ({"tls_crt": "C", "tls_key": "K"}, "no ca.crt"),
        ({"ca_crt": "A", "tls_crt": "C"}, "both tls.crt and tls.key"),
        ({"ca_crt": "A", "tls_key": "K"}, "both tls.crt and tls.key"),
    ],
)
def test_an_incomplete_secret_ends_the_script(container: Container, keys: dict[str, str], said: str) -> None:
    """Kafka is not started, and the sentence names the key, never its value."""
    container.put(**keys)
    done = container.run()
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stdout == ""
    assert "secret" not in done.stderr.replace(str(container.secret), "")


REFUSED: Final = (
    {"username": "ada"},
    {"password": "secret"},
    {"username": "ada", "password": "one\ntwo"},
    {"tls.crt": "C", "tls.key": "K"},
    {"ca.crt": "A", "tls.crt": "C"},
    {"ca.crt": "A", "tls.key": "K"},
)


@pytest.mark.parametrize("keys", [*REFUSED, USER | {"password": "secret\r\n"}, USER | {"password": "sec\0ret"}])
def test_the_operator_refuses_what_controllers_would(keys: dict[str, str]) -> None:
    """Otherwise the preflight would pass with a Secret with which no controller can start."""
    with pytest.raises(Malformed) as failure:
        zookeeper.secret_from(keys)
    assert "Secret" in str(failure.value)
    assert "secret" not in str(failure.value)


@pytest.mark.parametrize("form", ["RSA ", "EC ", "ENCRYPTED "])
def test_a_key_that_java_does_not_read_is_refused(form: str) -> None:
    """Python reads PKCS#1 too, which issuers of certificates make by default: controllers would not start with it."""
    keys = {"ca.crt": "A", "tls.crt": "C"}
    text = f"# a key\n-----BEGIN {form}PRIVATE KEY-----\nhidden\n-----END {form}PRIVATE KEY-----\n"
    with pytest.raises(Malformed, match=f"{form}PRIVATE KEY, which .*openssl pkcs8 -topk8") as failure:
        zookeeper.secret_from(keys | {"tls.key": text})
    assert "hidden" not in str(failure.value)
    assert zookeeper.secret_from(keys | {"tls.key": text.replace(form, "")}).key


def test_a_line_break_at_the_end_is_no_part_of_a_password(container: Container) -> None:
    """A Secret made from files has one: the operator and the controllers must prove the same password."""
    keys = {"username": "ada\n", "password": "secret\n"}
    container.put(**keys)
    assert container.run().returncode == 0
    assert '"ada"' in container.written("jaas.conf")
    assert '"secret"' in container.written("jaas.conf")
    found = zookeeper.secret_from(keys)
    assert (found.username, found.password) == ("ada", "secret")
    assert "secret" not in repr(found)


def test_a_restart_of_the_container_follows_the_secret(container: Container) -> None:
    """What a Secret does not have any more is not used by the next start."""
    container.put(**USER, ca_crt="CA")
    assert container.run().returncode == 0
    for key in ("username", "password", "ca.crt"):
        (container.secret / key).unlink()
    assert container.run().stdout.partition("|")[0] == "-Dx=y"
    assert container.written("tls.properties") == ""
