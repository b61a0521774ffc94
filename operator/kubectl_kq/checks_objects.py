"""The checks of `doctor` that read Kubernetes' objects, and compare them with each other. Pure.

They need no operator: what is missing, stuck or contradicts the identity record is found while none runs, too.
"""

from collections import Counter
from typing import Any, Final, TypeAlias

from kubectl_kq import pods, reading, rules, warnings
from kubectl_kq.ages import seconds_since, span
from kubectl_kq.answers import Answer, Found, NotRead, Why
from kubectl_kq.findings import Case, Finding, Findings, crit, skip, unknown, unread, warn
from kubectl_kq.quorum import Controller, condition_of
from kubectl_kq.record import Record, record_of
from kubectl_kq.sources import Source

Json: TypeAlias = dict[str, Any]

_EVENTS_S: Final = 3600.0
_EVENTS_SHOWN: Final = 5
_TOKEN_S: Final = 1800.0
_SPREAD_MIN: Final = 3
_OF_POOLS: Final = (
    ("SpecAccepted", "False", warn),
    ("Degraded", "True", crit),
    ("Available", "False", crit),
    ("Available", "Unknown", unknown),
)
"""Conditions of pools that are findings: type, status, and how bad it is."""
_PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


def identity_recorded(case: Case) -> Findings:
    """The identity record, compared with its copy in the status."""
    answer = case.look.answer(Source.RECORD)
    cluster = case.quorum.text("clusterID")
    where = f"ConfigMap {case.look.name}-identity"
    if isinstance(answer, NotRead) and answer.why is Why.MISSING:
        if cluster is not None:
            yield crit(f"{where} is gone", todo="leave the claims alone; restore it from a backup (docs/operations.md)")
        return
    if isinstance(answer, NotRead):
        yield unread(case, Source.RECORD)
        return
    record = record_of(answer.value)
    if record is None:
        yield crit(f"{where} has no record that can be read", todo="restore it from a backup (docs/operations.md)")
        return
    yield from _contradictions(case, record, where, cluster)


def _contradictions(case: Case, record: Record, where: str, cluster: str | None) -> Findings:
    todo = "find out which one is right before anything else: docs/operations.md, IdentityConflict"
    if cluster is not None and record.cluster_id != cluster:
        yield crit(f"{where} has cluster id {record.cluster_id}, the status has {cluster}", todo=todo)
    for row in case.quorum.controllers:
        node = None if row.node_id is None else record.node(row.node_id)
        if node is None and row.node_id is not None and case.is_fresh:
            yield crit(f"{where} does not have controller {row.node_id} of the status", todo=todo)
        elif node is not None and case.is_fresh and _differ(node.directory_id, row.directory_id):
            words = f"has directory id {node.directory_id}, the status has {row.directory_id}"
            yield warn(f"{where} {words} for controller {row.node_id}", todo=f"wait a minute; if it lasts: {todo}")


def _differ(one: str | None, other: str | None) -> bool:
    """Whether both are known, and are not the same."""
    return None not in (one, other) and one != other


def controllers_run(case: Case) -> Findings:
    """The pod of every controller."""
    found = case.look.pods("controller") or {}
    formatters = case.look.pods("formatter") or {}
    for node_id in _node_ids(case):
        own = found.get(node_id, ())
        if not own and formatters.get(node_id):
            for pod in formatters[node_id]:
                yield from _pod(case, node_id, pod, "is being formatted, and its pod")
        elif not own:
            yield _no_pod(case, node_id)
        for pod in own:
            yield from _pod(case, node_id, pod, "does not run: its pod")


def _no_pod(case: Case, node_id: int) -> Finding:
    """A controller without a pod, with what the operator waits for, if one looks."""
    quorum = case.quorum
    row, waits = quorum.controller(node_id), quorum.waits_of(node_id)
    why = row.reason if row is not None and case.is_fresh else None
    if not case.is_fresh:
        todo = "start the operator"
    elif quorum.paused:
        todo = f"kubectl kq resume {quorum.name}"
    elif waits:
        todo = rules.unblocks(rules.QUORUM, waits[0].reason)
    else:
        todo = "the operator recreates it: wait a minute"
    words = f"Controller {node_id} has no pod"
    return crit(f"{words}: {why}" if why else words, about=f"controller {node_id}", todo=todo)


def _pod(case: Case, node_id: int, pod: Json, words: str) -> Findings:
    about = reading.name(pod)
    if (why := pods.is_broken(pod)) is not None:
        message = f"Controller {node_id} {words} has a problem: {why}"
        yield crit(message, about=about, todo=_todo(case, node_id, pod))
    elif pods.is_ending(pod):
        yield warn(
            f"Controller {node_id}: its pod is being deleted", about=about, todo="wait, or see its Kubernetes node"
        )
    elif (why := pods.not_ready(pod)) is not None:
        event = warnings.why(case.look, "Pod", about, case.now)
        message = f"Controller {node_id}: its pod is not ready: {why}" + (f". {event}" if event else "")
        yield warn(message, about=about, todo=_todo(case, node_id, pod))
    if (last := pods.restarted(pod, case.now)) is not None:
        yield warn(f"Controller {node_id}: {last}", about=about, todo=f"kubectl kq logs {case.look.name} --previous")


def _todo(case: Case, node_id: int, pod: Json) -> str:
    """What unblocks the wait of this controller; without one, where to look."""
    waits = case.quorum.waits_of(node_id) if case.is_fresh else ()
    if waits:
        return rules.unblocks(rules.QUORUM, waits[0].reason)
    if pods.node_of(pod) is None:
        return f"kubectl -n {case.look.namespace} describe pod {reading.name(pod)}"
    return f"kubectl kq logs {case.look.name}"


def _node_ids(case: Case) -> list[int]:
    """Every controller of the record; of the status, if the record was not read."""
    answer = case.look.answer(Source.RECORD)
    record = record_of(answer.value) if isinstance(answer, Found) else None
    if record is not None:
        return sorted(node.node_id for node in record.nodes)
    return sorted(row.node_id for row in case.quorum.controllers if row.node_id is not None)


def disks_bound(case: Case) -> Findings:
    """The claim of every controller: it exists, is the recorded one, is bound, and is not being deleted."""
    claims = {reading.name(item): item for item in case.look.items(Source.CLAIMS) or ()}
    for row in case.quorum.controllers:
        if row.claim is None:
            continue
        item, whose = claims.get(row.claim), f"of controller {row.node_id}"
        if item is None:
            todo = "leave the other claims alone: docs/operations.md, a lost disk"
            yield crit(f"Claim {row.claim} {whose} is gone", about=row.claim, todo=todo)
            continue
        if row.claim_uid is not None and reading.text(item, "metadata", "uid") != row.claim_uid:
            todo = "docs/operations.md, IdentityConflict"
            yield crit(f"Claim {row.claim} {whose} is another object than the recorded one", about=row.claim, todo=todo)
        yield from _claim(case, item, row.claim, whose)
        if pods.is_ending(item):
            yield _deleted(case, row, row.claim)


def _claim(case: Case, item: Json, name: str, whose: str) -> Findings:
    phase = reading.text(item, "status", "phase")
    if phase == "Lost":
        yield crit(f"Claim {name} {whose} has lost its volume", about=name, todo="docs/operations.md, a lost disk")
    elif phase != "Bound":
        of_class = reading.text(item, "spec", "storageClassName")
        which = f"storage class {of_class}" if of_class else "no storage class"
        event = warnings.why(case.look, "PersistentVolumeClaim", name, case.now)
        words = f"Claim {name} {whose} has no volume yet ({phase}, {which})" + (f". {event}" if event else "")
        yield warn(words, about=name, todo=rules.unblocks(rules.QUORUM, "ClaimUnbound"))


def _deleted(case: Case, row: Controller, name: str) -> Finding:
    """A claim that goes with its pod. Whether the pod may be deleted, the operator says: until then it must not be."""
    words = f"Claim {name} of controller {row.node_id} was deleted: its disk goes with its pod"
    waits = case.quorum.waits_of(row.node_id) if case.is_fresh and row.node_id is not None else ()
    said = next((wait for wait in waits if wait.reason == "ClaimDeleting"), None)
    if said is not None:
        return crit(f"{words}. {said.message}", about=name, todo=rules.unblocks(rules.QUORUM, said.reason))
    todo = "do not delete the pod: docs/operations.md, a claim deleted under a running controller"
    return crit(words, about=name, todo=todo)


def nodes_serve(case: Case) -> Findings:
    """The Kubernetes nodes of the controllers, if this user may read them."""
    if not case.look.nodes:
        yield skip("No controller is on a Kubernetes node now")
    for name, answer in sorted(case.look.nodes.items()):
        yield from _node(name, answer)


def _node(name: str, answer: Answer) -> Findings:
    about = f"node {name}"
    if isinstance(answer, NotRead):
        if answer.why is Why.MISSING:
            yield crit(
                f"Kubernetes node {name} does not exist any more", about=about, todo="docs/operations.md, a lost node"
            )
        elif answer.why is Why.FORBIDDEN:
            yield skip("This user may not read Kubernetes nodes", about=about, todo="needs get on nodes")
        else:
            yield unknown(f"Kubernetes node {name} was not read: {answer.words}", about=about)
        return
    conditions = [condition_of(row) for row in reading.rows(answer.value, "status", "conditions")]
    ready = next((each for each in conditions if each.type == "Ready"), None)
    if ready is None or ready.status != "True":
        words = f": {ready.message}" if ready is not None and ready.message else ""
        yield crit(f"Kubernetes node {name} is not ready{words}", about=about, todo="docs/operations.md, a lost node")
    for each in conditions:
        if each.type in _PRESSURES and each.status == "True":
            yield warn(f"Kubernetes node {name} has {each.type}: {each.message}", about=about)
    if reading.flag(answer.value, "spec", "unschedulable"):
        todo = f"kubectl uncordon {name}, when its work is done"
        yield warn(f"Kubernetes node {name} is cordoned: a controller there is not restarted", about=about, todo=todo)


def voters_spread(case: Case) -> Findings:
    """Whether the loss of one Kubernetes node can take the majority."""
    found = case.look.pods("controller") or {}
    places = Counter(node for own in found.values() for pod in own if (node := pods.node_of(pod)) is not None)
    majority = len(found) // 2 + 1
    for node, count in places.items():
        if len(found) >= _SPREAD_MIN and len(found) - count < majority:
            yield warn(
                f"{count} of {len(found)} controllers are on Kubernetes node {node}: its loss stops the quorum",
                about=f"node {node}",
                todo="spread them with spec.controllers.template.spec.topologySpreadConstraints",
            )


def budget_made(case: Case) -> Findings:
    """The disruption budget, without which a drain may stop a majority."""
    answer = case.look.answer(Source.BUDGET)
    if isinstance(answer, NotRead) and answer.why is Why.MISSING:
        todo = "the operator makes it again, if it runs and the quorum is not paused"
        yield warn(f"PodDisruptionBudget {case.look.name}-voters does not exist: drains are not limited", todo=todo)
    elif isinstance(answer, NotRead):
        yield unread(case, Source.BUDGET)


def token_free(case: Case) -> Findings:
    """Who stops servers, and for how long."""
    answer = case.look.answer(Source.TOKEN)
    if isinstance(answer, NotRead):
        if answer.why is not Why.MISSING:  # it is made for the first stop
            yield unread(case, Source.TOKEN)
        return
    holder = reading.text(answer.value, "spec", "holderIdentity")
    lease = f"{case.look.name}-disruption"
    if holder is None or holder == f"quorum/{case.look.name}":
        return
    pools = case.look.pools()
    names = {f"pool/{reading.name(pool)}" for pool in pools or ()}
    age_s = seconds_since(reading.text(answer.value, "spec", "acquireTime"), case.now)
    if pools is not None and holder not in names:
        todo = "if no server of that holder is stopped, delete the Lease"
        yield warn(f"Lease {lease} belongs to {holder}, which does not exist", about=lease, todo=todo)
    elif age_s is not None and age_s > _TOKEN_S:
        todo = "see the status of that pool: its brokers are not back"
        yield warn(
            f"{holder} has had Lease {lease} for {span(age_s)}, so no controller restarts", about=lease, todo=todo
        )


def pools_well(case: Case) -> Findings:
    """The broker pools of this quorum, by their own status."""
    for pool in case.look.pools() or ():
        name = reading.name(pool)
        rows = {each.type: each for each in map(condition_of, reading.rows(pool, "status", "conditions"))}
        about = f"pool {name}"
        for kind, bad, level in _OF_POOLS:
            if (found := rows.get(kind)) is not None and found.status == bad:
                todo = rules.unblocks(rules.POOL, found.reason)
                yield level(f"Pool {name}: {found.reason}: {found.message}", about=about, todo=todo)
        for wait in reading.rows(pool, "status", "waits"):
            if reading.text(wait, "severity") == "Held":
                reason = reading.text(wait, "reason") or reading.UNREADABLE
                todo = rules.unblocks(rules.POOL, reason)
                yield warn(f"Pool {name}: {reason}: {reading.text(wait, 'message')}", about=about, todo=todo)


def no_warnings(case: Case) -> Findings:
    """Warning events about the quorum in the last hour, the newest first."""
    seen: list[tuple[float, Finding]] = []
    for event in case.look.items(Source.EVENTS) or ():
        age_s = warnings.age_s(event, case.now)
        if reading.text(event, "type") == "Warning" and age_s is not None and age_s < _EVENTS_S:
            words = f"{span(age_s)} ago: {reading.text(event, 'reason')}: {reading.text(event, 'message')}"
            seen.append((age_s, warn(words, todo=f"kubectl kq explain {case.look.name}")))
    seen.sort(key=lambda pair: pair[0])
    yield from (finding for _, finding in seen[:_EVENTS_SHOWN])
    if len(seen) > _EVENTS_SHOWN:
        yield warn(f"{len(seen) - _EVENTS_SHOWN} more", todo=f"kubectl kq history {case.look.name}")
