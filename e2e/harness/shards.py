"""Operators that divide the quorums of a cluster among them: releases of the chart with a label selector each."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from demo import NAMESPACE, RELEASE, helm_upgrade
from harness import operator
from harness.nodes import kill_container
from harness.quorum import GROUP, Quorum
from harness.shell import Json, get, items, kubectl, run, succeed, wait_until

LABEL = f"{GROUP}/shard"
_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One release, in the namespace of its own name."""

    release: str
    deployment: str

    def pods(self) -> list[str]:
        """The names of its pods, in deletion or not."""
        found = items(self.release, "pods", "-l", f"app.kubernetes.io/instance={self.release}")
        return [pod["metadata"]["name"] for pod in found]

    def holder(self) -> str:
        """The pod that holds its lease; empty if none does."""
        found = get(self.release, "lease", self.deployment)
        return str(found.get("spec", {}).get("holderIdentity") or "")

    def scale(self, replicas: int) -> None:
        """So many pods, which are there and ready when this returns."""
        kubectl("-n", self.release, "scale", f"deployment/{self.deployment}", f"--replicas={replicas}")
        if replicas:
            where = ("-n", self.release, "rollout", "status", f"deployment/{self.deployment}")
            kubectl(*where, f"--timeout={_TIMEOUT_S:.0f}s")
        else:
            wait_until(f"no pod of {self.release} is left", lambda: not self.pods(), _TIMEOUT_S)

    def crash(self) -> str:
        """Kill the pod that acts, as a power failure would; returns its name when another one acts."""
        first = self.wait_acting()
        kill_container(get(self.release, "pod", first))
        kubectl("-n", self.release, "delete", "pod", first, "--force", "--grace-period=0", "--wait=false")
        wait_until(f"another pod of {self.release} acts", lambda: self.holder() not in ("", first), _TIMEOUT_S)
        return first

    def wait_acting(self) -> str:
        """Wait until one of its pods holds its lease; returns that pod."""
        return wait_until(
            f"{self.release} acts", lambda: self.holder() if self.holder() in self.pods() else "", _TIMEOUT_S
        )


@contextmanager
def shards(image: str, names: Sequence[str]) -> Iterator[dict[str, Shard]]:
    """A release for each label value; the installed operator serves the rest, and everything again at the end."""
    with ExitStack() as stack:
        stack.callback(operator.install, image)
        rest = f"{LABEL} notin ({','.join(names)})"
        succeed(*helm_upgrade(image), "--set-literal", f"selector={rest}", timeout_s=240)
        yield {name: stack.enter_context(_shard(image, name)) for name in names}


@contextmanager
def _shard(image: str, name: str) -> Iterator[Shard]:
    release = f"kq-{name}"
    command = [word for word in helm_upgrade(image) if word != "--take-ownership"]
    command = [release if word in (RELEASE, NAMESPACE) else word for word in command]
    try:
        own = ("--set-literal", f"selector={LABEL}={name}", "--set", "crds.install=false")
        succeed(*command, *own, timeout_s=240)
        (made,) = items(release, "deployments", "-l", f"app.kubernetes.io/instance={release}")
        yield Shard(release=release, deployment=made["metadata"]["name"])
    finally:
        run("helm", "uninstall", release, "--namespace", release, "--wait", "--timeout", "2m", timeout_s=150)
        run("kubectl", "delete", "namespace", release, "--wait=false")


def labels(value: str) -> Json:
    """The labels of a quorum that belongs to the shard of this label value."""
    return {LABEL: value}


def label(quorum: Quorum, value: str) -> None:
    """Give a quorum to the shard with this label value."""
    kubectl("-n", quorum.namespace, "label", "kq", quorum.name, f"{LABEL}={value}", "--overwrite")


def reporters(quorum: Quorum) -> set[str]:
    """The pods whose operator wrote an event about the quorum."""
    found = items(quorum.namespace, "events")
    about = (each for each in found if each["involvedObject"]["name"] == quorum.name)
    return {each["reportingInstance"] for each in about if each.get("reportingInstance")}
