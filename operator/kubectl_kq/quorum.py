"""A KafkaQuorum as this plugin reads it: every field may be missing, and none is trusted. Pure."""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kubectl_kq import reading

Json: TypeAlias = dict[str, Any]

PROBLEMS: Final = ("Held", "Degraded")
"""Severities of waits that need a person, or mean a loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One row of `status.conditions`. `status` is True, False or Unknown."""

    type: str
    status: str
    reason: str
    message: str
    since: str | None
    generation: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One row of `status.waits`. Without node ids it is about the whole quorum."""

    reason: str
    severity: str
    node_ids: tuple[int, ...]
    message: str
    since: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """One row of `status.controllers`."""

    node_id: int | None
    role: str | None
    caught_up: bool | None
    release: str | None
    pod: str | None
    node: str | None
    claim: str | None
    claim_uid: str | None
    directory_id: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One row of `status.preflight.blockers`. `unknown`: it could not be found out, so it counts as in the way."""

    code: str
    about: str | None
    found: str
    way_out: str | None
    unknown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    """The resource: what a person asks for, and what the operator reported last."""

    item: Json
    namespace: str
    name: str
    generation: int | None
    paused: bool
    doing: str | None
    message: str | None
    last_look: str | None
    next_look_by: str | None
    observed_generation: int | None
    conditions: tuple[Condition, ...]
    waits: tuple[Wait, ...]
    controllers: tuple[Controller, ...]

    @property
    def is_being_deleted(self) -> bool:
        """Whether the resource is deleted, and still exists because of its finalizers."""
        return reading.text(self.item, "metadata", "deletionTimestamp") is not None

    def condition(self, kind: str) -> Condition | None:
        """The condition of this type."""
        return next((each for each in self.conditions if each.type == kind), None)

    def text(self, *path: str) -> str | None:
        """A text of the status."""
        return reading.text(self.item, "status", *path)

    def number(self, *path: str) -> int | None:
        """A number of the status."""
        return reading.number(self.item, "status", *path)

    def rows(self, *path: str) -> tuple[Json, ...]:
        """A list of the status."""
        return reading.rows(self.item, "status", *path)

    def waits_of(self, node_id: int) -> tuple[Wait, ...]:
        """The waits about a controller, the gravest first."""
        return tuple(sorted((wait for wait in self.waits if node_id in wait.node_ids), key=_grave))

    def blockers(self) -> tuple[Blocker, ...]:
        """What is in the way of a migration from ZooKeeper."""
        return tuple(
            Blocker(
                code=reading.text(row, "code") or reading.UNREADABLE,
                about=reading.text(row, "object"),
                found=reading.text(row, "found") or "",
                way_out=reading.text(row, "wayOut"),
                unknown=reading.flag(row, "unknown") or False,
            )
            for row in self.rows("preflight", "blockers")
        )

    def controller(self, node_id: int) -> Controller | None:
        """The controller of this node id."""
        return next((each for each in self.controllers if each.node_id == node_id), None)


def _grave(wait: Wait) -> tuple[int, bool]:
    """How grave a wait is, the gravest first. A hold that keeps nothing back is the least of those that are held."""
    order = ("Degraded", "Held", "Progress")
    return order.index(wait.severity) if wait.severity in order else len(order), wait.reason == "Holding"


def quorum_of(item: Json) -> Quorum:
    """The quorum in an object of the API server."""
    return Quorum(
        item=item,
        namespace=reading.text(item, "metadata", "namespace") or reading.UNREADABLE,
        name=reading.name(item),
        generation=reading.number(item, "metadata", "generation"),
        paused=reading.flag(item, "spec", "paused") or False,
        doing=reading.text(item, "status", "doing"),
        message=reading.text(item, "status", "message"),
        last_look=reading.text(item, "status", "lastLook"),
        next_look_by=reading.text(item, "status", "nextLookBy"),
        observed_generation=reading.number(item, "status", "observedGeneration"),
        conditions=tuple(map(condition_of, reading.rows(item, "status", "conditions"))),
        waits=tuple(map(_wait, reading.rows(item, "status", "waits"))),
        controllers=tuple(map(_controller, reading.rows(item, "status", "controllers"))),
    )


def condition_of(row: Json) -> Condition:
    """A condition of any of our kinds."""
    return Condition(
        type=reading.text(row, "type") or reading.UNREADABLE,
        status=reading.text(row, "status") or reading.UNREADABLE,
        reason=reading.text(row, "reason") or "",
        message=reading.text(row, "message") or "",
        since=reading.text(row, "lastTransitionTime"),
        generation=reading.number(row, "observedGeneration"),
    )


def _wait(row: Json) -> Wait:
    one = reading.number(row, "nodeID")
    return Wait(
        reason=reading.text(row, "reason") or reading.UNREADABLE,
        severity=reading.text(row, "severity") or reading.UNREADABLE,
        node_ids=reading.numbers(row, "nodeIDs") or (() if one is None else (one,)),
        message=reading.text(row, "message") or "",
        since=reading.text(row, "since"),
    )


def _controller(row: Json) -> Controller:
    return Controller(
        node_id=reading.number(row, "nodeID"),
        role=reading.text(row, "role"),
        caught_up=reading.flag(row, "caughtUp"),
        release=reading.text(row, "version"),
        pod=reading.text(row, "podName"),
        node=reading.text(row, "nodeName"),
        claim=reading.text(row, "claimName"),
        claim_uid=reading.text(row, "claimUID"),
        directory_id=reading.text(row, "directoryID"),
        reason=reading.text(row, "reason"),
    )
