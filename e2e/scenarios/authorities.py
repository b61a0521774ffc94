"""What scenarios with a change of the quorum's own authority share."""

from harness.quorum import Quorum
from harness.shell import secret_texts, wait_until
from kafka_quorum.model.names import authority_name


def _authority(quorum: Quorum) -> dict[str, str]:
    """The Secret of the authority."""
    name = authority_name(quorum.name)
    return secret_texts(quorum.namespace, (name,))[name]


def change_authority(quorum: Quorum, timeout_s: float) -> None:
    """Ask for another authority, and wait until it is the only one and no migration is open."""
    earlier = _authority(quorum)["ca.crt"]
    quorum.patch({"security": {"controllers": {"renewCA": "another"}}})
    wait_until("the authority is changed", lambda: _is_changed(quorum, earlier), timeout_s, poll_s=2.0)


def _is_changed(quorum: Quorum, before: str) -> bool:
    now = _authority(quorum)
    return now["ca.crt"] != before and "next.crt" not in now and not quorum.status().get("migration")
