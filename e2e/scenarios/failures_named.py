"""Failures that scenarios make, and how `doctor` and `explain` must name each one."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from harness.named import HELD, Named
from harness.plugin import CRIT, WARN
from harness.quorum import Quorum
from harness.shell import Json
from scenarios import failures
from scenarios.failures import GONE
from scenarios.test_rights_on_secrets import SASL, USERS

NOWHERE: Final = "zookeeper.invalid:2181"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure of a Ready quorum of three. `makes` makes it, and restores the quorum at its end."""

    name: str
    makes: Callable[[Quorum], AbstractContextManager[object]]
    named: Named


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """A spec with which a quorum does not start."""

    name: str
    spec: Json = field(default_factory=dict)
    named: Named


FAILURES: Final = (
    Failure(
        name="invalid-spec",
        makes=failures.invalid,
        named=Named(
            check="spec",
            level="WARN",
            says=("InvalidSpec", "controller.quorum.fetch.timeout.ms"),
            todo="correct them",
            codes=HELD,
            table="conditions",
            reasons=("InvalidSpec",),
            shows=("controller.quorum.fetch.timeout.ms",),
            unblocks="correct them",
        ),
    ),
    Failure(
        name="image",
        makes=failures.unpullable,
        named=Named(
            check="pods",
            says=("Image", GONE),
            todo="correct the spec",
            reasons=("PodStuck", "RollHeld"),
            unblocks="orrect the spec",
        ),
    ),
    Failure(
        name="refused-pod",
        makes=failures.refused_by_the_server,
        named=Named(
            check="waits",
            level="WARN",
            says=("RollHeld", GONE),
            codes=HELD,
            reasons=("RollHeld",),
            shows=(GONE,),
            rule=5,
            unblocks="correct the spec",
        ),
    ),
    Failure(
        name="older-release",
        makes=failures.older,
        named=Named(
            check="waits",
            level="WARN",
            says=("OlderImage", "4.1.2"),
            codes=HELD,
            reasons=("OlderImage",),
            shows=("4.1.2",),
            rule=7,
            unblocks="spec.kafka.version",
        ),
    ),
    Failure(
        name="paused",
        makes=failures.paused,
        named=Named(
            check="paused",
            level="WARN",
            says=("spec.paused is true",),
            todo="kubectl kq resume",
            codes=HELD,
            reasons=("Paused",),
            unblocks="set it to false",
        ),
    ),
    Failure(
        name="no-place",
        makes=failures.without_a_place,
        named=Named(
            check="pods",
            says=("3002", "no Kubernetes node takes it"),
            todo="uncordon",
            reasons=("PodUnschedulable",),
            shows=("cannot be scheduled",),
            unblocks="uncordon",
        ),
    ),
    Failure(
        name="quota",
        makes=failures.over_its_quota,
        named=Named(
            check="pods",
            says=("3001", "has no pod", "quota"),
            todo="remove the cause",
            reasons=("PodRefused",),
            shows=("quota",),
            unblocks="remove the cause",
        ),
    ),
    Failure(
        name="held",
        makes=failures.held,
        named=Named(
            check="pods",
            says=("3001", "has no pod", "hold"),
            todo="remove the id from the annotation",
            reasons=("HeldBack",),
            shows=("3001",),
            unblocks="remove the id from the annotation",
        ),
    ),
    Failure(
        name="replace",
        makes=failures.refused_replacement,
        named=Named(
            check="waits",
            level="WARN",
            says=("ReplaceRefused", "3001-"),
            codes=HELD,
            reasons=("ReplaceRefused",),
            shows=("3001-",),
            rule=2,
            unblocks="what the message says",
        ),
    ),
    Failure(
        name="frozen",
        makes=failures.frozen,
        named=Named(
            check="degraded",
            says=("VotersLag", "3002"),
            table="conditions",
            reasons=("VotersLag",),
            shows=("3002",),
            unblocks="look at their pods and nodes",
        ),
    ),
    Failure(
        name="wiped-disk",
        makes=failures.wiped,
        named=Named(
            check="degraded",
            says=("LostDisk", "3001"),
            todo="replacement.lostDisk",
            reasons=("LostDisk",),
            shows=("3001",),
            rule=2,
            unblocks="replacement.lostDisk",
        ),
    ),
    Failure(
        name="deleted-claim",
        makes=failures.deleted_claim,
        named=Named(
            check="disks",
            says=("q-3002-g1", "its disk goes with its pod"),
            todo="keep the pod",
            reasons=("ClaimDeleting",),
            shows=("q-3002-g1",),
            rule=2,
            unblocks="keep the pod",
        ),
    ),
    Failure(
        name="lost-node",
        makes=failures.lost_node,
        named=Named(
            check="nodes",
            says=("is not ready",),
            todo="a lost node",
            reasons=("LostNode",),
            shows=("is down",),
            rule=2,
            unblocks="bring the node back",
        ),
    ),
    Failure(
        name="foreign-object",
        makes=failures.foreign_object,
        named=Named(
            check="degraded",
            says=("ForeignObject", "stranger"),
            todo="remove the labels",
            reasons=("ForeignObject",),
            shows=("stranger",),
            unblocks="remove the labels",
        ),
    ),
    Failure(
        name="later-operation",
        makes=failures.later_operation,
        named=Named(
            check="degraded",
            says=("UnknownOperation",),
            todo="run the operator version",
            reasons=("UnknownOperation",),
            rule=8,
            unblocks="run the operator version",
        ),
    ),
    Failure(
        name="broken-record",
        makes=failures.broken_record,
        named=Named(
            check="identity",
            says=("q-identity", "no record that can be read"),
            todo="backup",
            reasons=("IdentityUnreadable", "IdentityMissing"),
            rule=8,
            unblocks="backup",
        ),
    ),
)
"""Failures of a Ready quorum `q`."""

WRONG: Final = (
    Wrong(
        name="no-storage-class",
        spec={"controllers": {"storage": {"storageClassName": GONE}}},
        named=Named(
            check="disks",
            level="WARN",
            says=("has no volume yet", f"storage class {GONE}"),
            todo="create the class or a volume",
            reasons=("ClaimUnbound",),
            shows=(GONE,),
            unblocks="create the class or a volume",
        ),
    ),
    Wrong(
        name="no-node",
        spec={"controllers": {"template": {"spec": {"nodeSelector": {"no-such-label": "x"}}}}},
        named=Named(
            check="pods",
            says=("no Kubernetes node takes it",),
            todo="If no Kubernetes node takes it",
            reasons=("PodUnschedulable", "FormatFailed"),
            unblocks="If no Kubernetes node takes it",
        ),
    ),
    Wrong(
        name="no-secret",
        spec={"controllers": SASL, "security": USERS},
        named=Named(
            check="degraded",
            says=("ActionFailed", "Secret foreign"),
            todo="correct what it names",
            table="conditions",
            reasons=("ActionFailed",),
            shows=("Secret foreign",),
            unblocks="correct what it names",
        ),
    ),
    Wrong(
        name="no-zookeeper",
        spec={
            "kafka": {"version": "3.9.2"},
            "bootstrap": {"mode": "ZooKeeper"},
            "zookeeper": {"connect": NOWHERE, "dryRun": True},
            "brokerAccess": {"bootstrapServers": ["kafka.invalid:9092"]},
        },
        named=Named(
            check="migration",
            level="UNKNOWN",
            says=(f"ZooKeeper {NOWHERE}", "is not known"),
            todo="correct spec.zookeeper.connect",
            codes=HELD,
            reasons=("Preflight",),
            rule=7,
            unblocks="the way out of each blocker",
        ),
    ),
)
"""Specs with which a quorum does not start."""

REFUSED_CERTIFICATE: Final = Named(
    check="certificates",
    level="WARN",
    says=("Refused", "given-controllers"),
    todo="correct the Secret",
    codes=(WARN, CRIT),
    table="conditions",
    reasons=("Refused",),
    shows=("given-controllers",),
    unblocks="correct the Secret",
)
TAKEN_ID: Final = Named(
    check="pools",
    level="WARN",
    says=("pool brokers", "InvalidSpec", "3000"),
    todo="correct them",
    codes=(WARN,),
    table="poolConditions",
    reasons=("InvalidSpec",),
    shows=("3000",),
    unblocks="correct them",
)
BLIND: Final = Named(
    check="operator",
    says=("persistentvolumeclaims",),
    todo="restore what the message names",
    table="conditions",
    reasons=("CannotLook",),
    shows=("persistentvolumeclaims",),
    unblocks="restore what the message names",
)
STOPPED: Final = Named(check="operator pods", says=("0 replicas",), todo="scale deployment/")
NO_RECORD: Final = Named(check="identity", says=("q-identity is gone",), todo="backup")
SEVERAL: Final = Named(
    check="operator pods", level="WARN", says=("Several operators", "-second"), todo="uninstall all but one", codes=HELD
)
PARKED: Final = Named(
    check="waits",
    level="WARN",
    says=("DualWrite",),
    todo="spec.zookeeper.finalize",
    codes=(WARN, CRIT),
    reasons=("DualWrite",),
    rule=7,
    unblocks="spec.zookeeper.finalize",
)
MAJORITY: Final = Named(
    check="available",
    says=("NoAnswer",),
    todo="kubectl kq recover",
    reasons=("NoLeader", "LostDisk"),
    unblocks="docs/",
)
EVERY: Final = (
    *(each.named for each in (*FAILURES, *WRONG)),
    *(REFUSED_CERTIFICATE, TAKEN_ID, BLIND, STOPPED, NO_RECORD, SEVERAL, PARKED, MAJORITY),
)
