"""`pause` and `resume`: what may be changed, judged before a request is sent. Pure.

Both change one field of the spec by a merge patch, so a repetition changes nothing, and one that was lost half-way is
done again.
"""

import json
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kubectl_kq.page import Fact, Facts, Page
from kubectl_kq.quorum import Quorum

Json: TypeAlias = dict[str, Any]

_NO_CONTROLLER: Final = frozenset({"ControllersStop", "ZooKeeperLeads"})
"""Stages of a roll back to ZooKeeper at which the cluster has no controller until the operator goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why the plugin does not act, with what to do."""

    message: str


def pausing(quorum: Quorum, *, paused: bool, force: bool) -> Json | Refused | None:
    """The merge patch; None if the spec says it already.

    A pause is refused, unless it is forced, while a roll back to ZooKeeper has stopped the controllers.
    """
    stage = quorum.text("migration", "name")
    if paused and stage in _NO_CONTROLLER and not force:
        return Refused(
            message=(
                f"Did not pause {quorum.name}: a roll back to ZooKeeper is in stage {stage}, and the cluster has no "
                "controller until the operator goes on. Wait for the end of this stage, or repeat with --force"
            )
        )
    return None if quorum.paused is paused else {"spec": {"paused": paused}}


def patch_command(namespace: str, name: str, patch: Json) -> list[str]:
    """Kubectl's arguments for a merge patch of a quorum."""
    kind = "kafkaquorums.kafkaquorum.io"
    return ["patch", kind, name, f"--namespace={namespace}", "--type=merge", f"--patch={json.dumps(patch)}", "-o=json"]


def acted_page(command: str, quorum: Quorum, *, changed: bool, message: str) -> Page:
    """What was done."""
    facts = (
        Fact(key="namespace", label="Namespace", value=quorum.namespace),
        Fact(key="name", label="Quorum", value=quorum.name),
        Fact(key="changed", label="Changed", value=changed),
        Fact(key="message", label="", value=message),
    )
    return Page(command=command, sections=(Facts(facts=facts),))
