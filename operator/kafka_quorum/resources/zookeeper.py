"""What a pod needs to reach ZooKeeper: properties, volumes, and shell lines that the start script runs first. Pure.

Brokers of a pool and controllers use the same parts. The Secret decides at the start of a container how the connection
is secured, so its content is in no other object, in no variable and in no command line:

- `username` and `password`: SASL DIGEST-MD5, by a JAAS file.
- `ca.crt`: TLS. With `tls.crt` and `tls.key` (PKCS#8) the client shows a certificate, too.

The lines write what Kafka reads into a volume in memory. A change of the Secret takes effect at the next start.
"""

import re
from collections.abc import Mapping
from typing import Final

from kafka_quorum.model.zookeeper import ZooKeeperAccess, ZooKeeperSecret
from kafka_quorum.resources.meta import Json
from kit.parsing import Malformed

KEYS: Final = ("username", "password", "ca.crt", "tls.crt", "tls.key")
"""The keys of the Secret that are used."""
SECRET_PATH: Final = "/etc/kafka-zookeeper"  # noqa: S105 - a path
"""Where the Secret is mounted."""
FILES_PATH: Final = "/run/kafka-zookeeper"
"""Where the volume in memory is mounted."""
TLS_PROPERTIES: Final = f"{FILES_PATH}/tls.properties"
"""Properties that the lines of `shell` write; the file has none if the Secret has no `ca.crt`."""
CLIENT_PROPERTIES: Final = (
    ("zookeeper.clientCnxnSocket", "org.apache.zookeeper.ClientCnxnSocketNetty"),
    ("zookeeper.ssl.client.enable", "true"),
    ("zookeeper.ssl.truststore.location", f"{FILES_PATH}/ca.pem"),
    ("zookeeper.ssl.truststore.type", "PEM"),
)
CERTIFICATE_PROPERTIES: Final = (
    ("zookeeper.ssl.keystore.location", f"{FILES_PATH}/client.pem"),
    ("zookeeper.ssl.keystore.type", "PEM"),
)
_SECRET: Final = "zookeeper-secret"  # noqa: S105 - the name of a volume
_FILES: Final = "zookeeper-files"
_OTHER_KEY: Final = re.compile("-----BEGIN ((?:RSA|EC|DSA|ENCRYPTED|OPENSSH) PRIVATE KEY)-----")
"""Keys that are not PKCS#8, or are encrypted. Python reads some of them: the preflight would pass with them."""
_DOLLAR: Final = "kafkaquorum.dollar"


def secret_from(texts: Mapping[str, str]) -> ZooKeeperSecret:
    """What the Secret of `spec.zookeeper.secretName` gives a client; keys other than `KEYS` are ignored.

    Raises `Malformed` for what the lines of `shell` refuse or JAAS cannot hold: controllers would not start with it. As
    in those lines, line breaks at the end of a name or a password are no part of it.
    """
    found = {key: texts.get(key, "") for key in KEYS}
    if bool(found["username"]) != bool(found["password"]):
        raise Malformed("the ZooKeeper Secret needs both username and password, or none of them")
    if (found["tls.crt"] or found["tls.key"]) and not found["ca.crt"]:
        raise Malformed("the ZooKeeper Secret has a client certificate and no ca.crt: add the authority of ZooKeeper's")
    if bool(found["tls.crt"]) != bool(found["tls.key"]):
        raise Malformed("the ZooKeeper Secret needs both tls.crt and tls.key, or none of them")
    if (form := _OTHER_KEY.search(found["tls.key"])) is not None:
        raise Malformed(
            f"tls.key in the ZooKeeper Secret has the form {form.group(1)}, which controllers cannot read: convert it"
            " with openssl pkcs8 -topk8 -nocrypt"
        )
    user, password = (found[key].rstrip("\n") for key in ("username", "password"))
    if any(control in user + password for control in ("\n", "\r", "\0")) or (found["username"] and not user):
        raise Malformed("username and password in the ZooKeeper Secret must each be one line of text")
    return ZooKeeperSecret(
        username=user, password=password, ca=found["ca.crt"], certificate=found["tls.crt"], key=found["tls.key"]
    )


def properties(access: ZooKeeperAccess) -> tuple[tuple[str, str], ...]:
    """What server.properties says of ZooKeeper. How the connection is secured is in the `files`."""
    return (("zookeeper.connect", access.connect),)


def files(access: ZooKeeperAccess) -> tuple[str, ...]:
    """Files with more properties, which the start script appends to server.properties after the lines of `shell`."""
    return (TLS_PROPERTIES,) if access.secret_name else ()


def volumes(access: ZooKeeperAccess) -> list[Json]:
    """The volumes of the pod: the Secret, and one in memory for the files that are made of it. None without one."""
    if not access.secret_name:
        return []
    return [
        {"name": _SECRET, "secret": {"secretName": access.secret_name}},
        {"name": _FILES, "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    ]


def mounts(access: ZooKeeperAccess) -> list[Json]:
    """The mounts of the container that runs Kafka, and of no other one."""
    if not access.secret_name:
        return []
    return [
        {"name": _SECRET, "mountPath": SECRET_PATH, "readOnly": True},
        {"name": _FILES, "mountPath": FILES_PATH},
    ]


def shell(access: ZooKeeperAccess) -> str:
    """Lines of plain `sh` that write the files, and add to KAFKA_OPTS where the JAAS file is; empty without a Secret.

    They end the script with 1 and a sentence on standard error if the Secret is incomplete. They leave the shell's
    umask and directory as they were.
    """
    return _SHELL if access.secret_name else ""


def _lines(entries: tuple[tuple[str, str], ...]) -> str:
    return " ".join(f"'{key}={value}'" for key, value in entries)


# A JAAS value is in quotation marks, in which Java reads \\ and \" as one character. It also replaces ${name} by a
# system property, and has no way to write a dollar sign before a brace: so one is defined that is a dollar sign.
_SHELL: Final = f"""\
zookeeper_has() {{ [ -s "{SECRET_PATH}/$1" ]; }}
zookeeper_word() {{   # the value of key $1, as the content of a quoted word of a JAAS file
  word=$(cat "{SECRET_PATH}/$1") || return 1
  if [ "$(printf '%s\\n' "$word" | wc -l)" -ne 1 ]; then return 1; fi
  printf '%s' "$word" | sed -e 's/["\\\\]/\\\\&/g' -e 's/[$]/${{{_DOLLAR}}}/g'
}}
zookeeper_files() (   # in a shell of its own: the umask is for these files only
  umask 077
  rm -f {FILES_PATH}/*   # of an earlier run of this container, which the Secret may not have any more
  : > {TLS_PROPERTIES} || exit 1
  if zookeeper_has username || zookeeper_has password; then
    if ! zookeeper_has username || ! zookeeper_has password; then
      echo "the ZooKeeper Secret needs both username and password, or none of them" >&2; exit 1
    fi
    user=$(zookeeper_word username) && password=$(zookeeper_word password) || {{
      echo "username and password in the ZooKeeper Secret must each be one line of text" >&2; exit 1
    }}
    printf 'Client {{\\n  org.apache.zookeeper.server.auth.DigestLoginModule required\\n' > {FILES_PATH}/jaas.conf &&
    printf '  username="%s"\\n  password="%s";\\n}};\\n' "$user" "$password" >> {FILES_PATH}/jaas.conf || exit 1
  fi
  zookeeper_has ca.crt || {{
    if ! zookeeper_has tls.crt && ! zookeeper_has tls.key; then exit 0; fi
    echo "the ZooKeeper Secret has a client certificate and no ca.crt: add the authority that signs ZooKeeper's" >&2
    exit 1
  }}
  cat "{SECRET_PATH}/ca.crt" > {FILES_PATH}/ca.pem &&
  printf '%s\\n' {_lines(CLIENT_PROPERTIES)} > {TLS_PROPERTIES} || exit 1
  if zookeeper_has tls.crt || zookeeper_has tls.key; then
    if ! zookeeper_has tls.crt || ! zookeeper_has tls.key; then
      echo "the ZooKeeper Secret needs both tls.crt and tls.key, or none of them" >&2; exit 1
    fi
    {{ cat "{SECRET_PATH}/tls.key" && echo && cat "{SECRET_PATH}/tls.crt"; }} > {FILES_PATH}/client.pem &&
    printf '%s\\n' {_lines(CERTIFICATE_PROPERTIES)} >> {TLS_PROPERTIES} || exit 1
  fi
)
zookeeper_files || {{ echo "Kafka is not started, because the connection to ZooKeeper cannot be set up" >&2; exit 1; }}
if [ -f {FILES_PATH}/jaas.conf ]; then
  KAFKA_OPTS="${{KAFKA_OPTS:-}} -Djava.security.auth.login.config={FILES_PATH}/jaas.conf -D{_DOLLAR}=\\$"
  export KAFKA_OPTS
fi
"""
