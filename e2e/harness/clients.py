"""Real clients of a Kafka in the cluster: a pod that produces and consumes all the time of a scenario.

The pod's program is the package `client` beside this module. It runs on the control plane, which no scenario takes
down. The clocks of the pod and of this process are the same, because they share the machine.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from harness.access import PLAIN, Access
from harness.client.ledger import Verdict
from harness.client.outages import OFFLINE, UNDER_MIN_ISR, Outage
from harness.client.topics import Topic
from harness.shell import Json, get, kubectl, run, succeed, wait_until
from testbed.config import SOURCE

PROGRAM: Final = Path(__file__).resolve().parent / "client"
DEFAULT_TOPICS: Final = (Topic(name="orders", partitions=6),)
INTERVAL_S = 0.1
"""Between two records of a partition: the resolution of every gap."""
PORT = 8080
_BYTES = 200
_START_TIMEOUT_S = 180.0
_FINISH_TIMEOUT_S = 480.0
_ASK_TIMEOUT_S = 20.0
_ACCESS_FOLDER: Final = "/access"
_ACCESS_KEY: Final = "client.json"
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def image() -> str:
    """Build and load the clients' image if it is missing; returns its name."""
    return succeed("python3", str(SOURCE), "client-image", timeout_s=600).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The cost of one part of a scenario for clients: the longest time without an acknowledgement of any partition.

    `worst_s` is that of the partition `where`, which began at `began_s` (seconds since 1970); `all_s` the longest time
    in which no partition had one.
    """

    what: str
    took_s: float
    worst_s: float
    where: str
    all_s: float
    began_s: float = 0.0

    def __str__(self) -> str:
        """One line for a person."""
        longest = f"longest produce gap {self.worst_s:5.2f} s ({self.where}), of all partitions {self.all_s:5.2f} s"
        return f"{self.what:<44} {self.took_s:6.1f} s, {longest}"


@dataclass(slots=True)
class Clients:
    """A pod with an idempotent producer, a consumer and a watcher of the partitions.

    `bootstrap` is where they find Kafka. `name` tells several pods of a namespace apart.
    """

    namespace: str
    bootstrap: str
    image: str
    topics: Sequence[Topic] = DEFAULT_TOPICS
    interval_s: float = INTERVAL_S
    name: str = "clients"
    access: Access = PLAIN
    """How they are let in. It goes into a Secret of their name."""
    gaps: list[Gap] = field(default_factory=list)
    _address: str = ""

    def __enter__(self) -> Self:
        """Start the pod; returns when every partition has an acknowledged and a consumed record."""
        self.start()
        self.wait_flowing()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop at once."""
        where = ("-n", self.namespace)
        if error is not None:
            print(self.evidence())
        run("kubectl", *where, "delete", "pod", self.name, "--force", "--grace-period=0", "--ignore-not-found")
        run("kubectl", *where, "delete", f"configmap/{self.name}", f"secret/{self.name}", "--ignore-not-found")

    def start(self) -> None:
        """Create the pod, and wait until it has an address."""
        for body in (self._program(), *self._secrets(), self._pod()):
            kubectl("-n", self.namespace, "create", "-f", "-", stdin=json.dumps(body))

        def address() -> str:
            return str(get(self.namespace, "pod", self.name).get("status", {}).get("podIP") or "")

        self._address = wait_until(f"pod {self.name} has an address", address, 60)

    def wait_flowing(self, timeout_s: float = _START_TIMEOUT_S) -> float:
        """Wait until every partition has an acknowledged and a consumed record; returns the moment that was seen."""

        def flowing() -> float:
            try:
                return time.time() if self.account()["flowing"] else 0.0
            except OSError:
                return 0.0

        return wait_until("clients produce and consume", flowing, timeout_s, 0.05)

    # --- questions --------------------------------------------------------------------------------------------------

    def account(self) -> Json:
        """Counts so far."""
        return self._ask("/account")

    def wait_more(self, timeout_s: float = 90.0) -> None:
        """Wait until every partition has an acknowledgement of a later time than now."""
        now_s = time.time()
        wait_until("every partition is written to", lambda: self.account()["oldest_last_s"] > now_s, timeout_s)

    def gap(self, what: str, since_s: float, until_s: float) -> Gap:
        """The longest gaps within a window, in seconds since 1970."""
        found = self._ask(f"/gaps?since={since_s!r}&until={until_s!r}")
        where, (worst_s, began_s) = max(found["each"].items(), key=lambda row: row[1])
        took_s = until_s - since_s
        return Gap(what=what, took_s=took_s, worst_s=worst_s, where=where, all_s=found["all"], began_s=began_s)

    @contextmanager
    def measured(self, what: str) -> Iterator[None]:
        """Measure what happens while this lasts, until every partition is written to again; printed at its end."""
        began_s = time.time()
        yield
        took_s = time.time() - began_s
        self.wait_more()
        found = self.gap(what, began_s, time.time())
        self.gaps.append(Gap(**(asdict(found) | {"took_s": took_s})))
        print(self.gaps[-1], flush=True)

    def outages(self, kind: str | None = None, replicas: int = 0) -> list[Outage]:
        """Every outage so far of this kind, of partitions with at least so many replicas."""
        rows = (Outage(**row) for row in self._ask("/outages")["outages"])
        return [row for row in rows if kind in (None, row.kind) and row.replicas >= replicas]

    def offline(self, replicas: int = 3) -> list[Outage]:
        """The outages of partitions with so many replicas in which there was no leader."""
        return self.outages(OFFLINE, replicas)

    def under_min_isr(self) -> list[Outage]:
        """The outages in which a partition had fewer replicas in sync than it needs."""
        return self.outages(UNDER_MIN_ISR)

    def finish(self) -> Verdict:
        """Stop, read everything back, and judge it."""
        found = self._ask("/finish", post=True, timeout_s=_FINISH_TIMEOUT_S)
        verdict = Verdict(**(found | {"examples": tuple(found["examples"])}))
        looks, account = self._ask("/outages"), self.account()
        print(
            f"{verdict.acknowledged} records acknowledged, {verdict.consumed} consumed, {verdict.unanswered} not"
            f" acknowledged ({verdict.happened} of them happened), faults: {verdict.faults or 'none'};"
            f" {looks['looks']} looks at the partitions, {looks['blind_s']:.1f} s apart at most;"
            f" producers replaced: {len(account['replaced'])}",
            flush=True,
        )
        print(*verdict.examples, sep="\n", end="\n" if verdict.examples else "", flush=True)
        assert not account["broken"], account["broken"]
        return verdict

    def evidence(self) -> str:
        """What a person looks at first when a scenario with clients fails."""
        _, logs, errors = run("kubectl", "-n", self.namespace, "logs", self.name, "--tail=400")
        try:
            told = f"{self.account()}\n{self.outages()[-20:]}"
        except (OSError, ValueError) as error:
            told = str(error)
        return f"clients {self.namespace}/{self.name}: {told}\n{logs}{errors}"

    def _ask(self, path: str, *, post: bool = False, timeout_s: float = _ASK_TIMEOUT_S) -> Json:
        request = urllib.request.Request(f"http://{self._address}:{PORT}{path}", method="POST" if post else "GET")
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310
                found: Json = json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"clients: {path}: {error}: {error.read().decode()}") from error
        return found

    # --- the pod ----------------------------------------------------------------------------------------------------

    def _program(self) -> Json:
        data = {path.name: path.read_text() for path in sorted(PROGRAM.glob("*.py"))}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self.name}, "data": data}

    def _secrets(self) -> list[Json]:
        if self.access == PLAIN:
            return []
        data = {_ACCESS_KEY: json.dumps(self.access.settings())}
        return [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": self.name}, "stringData": data}]

    def _pod(self) -> Json:
        secured = self.access != PLAIN
        variables = {
            "BOOTSTRAP": self.bootstrap,
            "ACCESS": f"{_ACCESS_FOLDER}/{_ACCESS_KEY}" if secured else "",
            "TOPICS": json.dumps([asdict(topic) for topic in self.topics]),
            "INTERVAL_S": str(self.interval_s),
            "BYTES": str(_BYTES),
            "PYTHONPATH": "/client",
            "PYTHONUNBUFFERED": "1",
        }
        paths = [{"key": path.name, "path": f"harness/client/{path.name}"} for path in sorted(PROGRAM.glob("*.py"))]
        volumes: list[Json] = [{"name": "program", "configMap": {"name": self.name, "items": paths}}]
        places = [("program", "/client")]
        if secured:
            volumes.append({"name": "access", "secret": {"secretName": self.name}})
            places.append(("access", _ACCESS_FOLDER))
        container = {
            "name": "client",
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["python", "-m", "harness.client"],
            "env": [{"name": name, "value": value} for name, value in variables.items()],
            "volumeMounts": [{"name": volume, "mountPath": path} for volume, path in places],
            "readinessProbe": {"httpGet": {"path": "/ready", "port": PORT}, "periodSeconds": 1},
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
        spec = {
            "containers": [container],
            "volumes": volumes,
            "nodeSelector": {_CONTROL_PLANE: ""},
            "tolerations": [{"key": _CONTROL_PLANE, "operator": "Exists"}],
            "terminationGracePeriodSeconds": 1,
            "restartPolicy": "Never",
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        }
        metadata = {"name": self.name, "labels": {"app": self.name}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
