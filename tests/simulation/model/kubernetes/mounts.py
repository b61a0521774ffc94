"""Secrets in pods: a kubelet mounts the present one, and brings another content some time after it was written."""

import base64
import hashlib
from typing import Final

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kafka.tls import Mount
from tests.simulation.model.kubernetes.kube_model import KubeModel, loaded

from kit.kube.protocol import Json
from kit.kube.secrets import SECRETS

LONGEST_S: Final = 120.0
_KEYSTORE: Final = "keystore.pem"


class Mounts:
    """The Secrets of all pods."""

    def __init__(self, kube: KubeModel, clock: VirtualClock) -> None:
        """Nothing is mounted yet."""
        self._kube, self._clock = kube, clock
        self.longest_s = LONGEST_S
        self.old_s = 0.0
        """How old the content is that a new pod gets: a kubelet may have read the Secret some seconds before."""

    def made(self, namespace: str, name: str) -> Mount | None:
        """The Secret as a new pod gets it; None if there is none."""
        found = self._kube.view(SECRETS, namespace, name)
        if found is None:
            return None
        before_s = self._clock.elapsed_s - self.old_s
        for written in reversed(self._kube.writes):
            if written.at_s < before_s:
                break
            if written.key == (SECRETS.plural, namespace, name) and written.before is not None and self.old_s:
                found = loaded(written.before) or found
        return Mount(keystore=_keystore(found), files=_files(found), version=_version(found))

    def follow(self, namespace: str, name: str, mount: Mount, pod_uid: str) -> None:
        """Bring the present content, when its time has come. A Secret that is gone stays as it was."""
        found, now_s = self._kube.view(SECRETS, namespace, name), self._clock.elapsed_s
        if found is None or _version(found) == mount.version:
            mount.due = None
            return
        if mount.due is None or mount.due[0] != _version(found):
            mount.due = (_version(found), now_s + self._delay_s(pod_uid, _version(found)))
        if mount.due[1] <= now_s:
            mount.keystore, mount.files = _keystore(found), _files(found)
            mount.version, mount.due = _version(found), None

    def _delay_s(self, pod_uid: str, version: str) -> float:
        drawn = hashlib.sha256(f"{pod_uid} {version}".encode()).digest()[0] / 255
        return drawn * self.longest_s


def _keystore(secret: Json) -> str:
    return base64.b64decode((secret.get("data") or {}).get(_KEYSTORE, "")).decode()


def _files(secret: Json) -> dict[str, str]:
    return {key: base64.b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}


def _version(secret: Json) -> str:
    return f"{secret['metadata']['uid']} {secret['metadata']['resourceVersion']}"
