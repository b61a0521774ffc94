"""The checks of `doctor` about the operator's own Deployments and pods, if this user may read them. Pure.

The status is fresh for minutes after the operator was stopped; these objects show it at once, and why.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from kubectl_kq import pods, reading
from kubectl_kq.answers import NotRead, Why
from kubectl_kq.findings import Case, Findings, crit, skip, unread, warn
from kubectl_kq.quorum import condition_of
from kubectl_kq.sources import Source

Json: TypeAlias = dict[str, Any]

_LEASE, _NAMESPACES, _SELECTOR = "KQ_LEASE_NAME", "KQ_WATCH_NAMESPACES", "KQ_SELECTOR"
_REPLICAS: Final = 2
"""The chart's default."""
_NOT_SHOWN: Final = frozenset({Why.FORBIDDEN, Why.MISSING, Why.NO_KIND})


def operator_runs(case: Case) -> Findings:
    """The operator's Deployments and pods: none, none that is ready, or several operators."""
    answer = case.look.answer(Source.DEPLOYMENTS)
    if isinstance(answer, NotRead) and answer.why not in _NOT_SHOWN:
        yield unread(case, Source.DEPLOYMENTS)
    deployments = case.look.items(Source.DEPLOYMENTS) or ()
    serving = [each for each in deployments if _serves(each, case.look.namespace)]
    found = case.look.items(Source.OPERATOR) or ()
    if not found:
        yield from _without_pods(case, deployments)
    yield from _pods(found)
    yield from _several(serving)
    if not case.is_fresh:
        yield from _share(serving)


def _without_pods(case: Case, deployments: Sequence[Json]) -> Findings:
    """Why there is no pod of the operator."""
    where = case.look.operator_namespace
    for item in deployments:
        name, replicas = reading.name(item), reading.number(item, "spec", "replicas")
        about = f"deployment {name}"
        if replicas == 0:
            todo = f"kubectl -n {where} scale deployment/{name} --replicas={_REPLICAS}"
            yield crit(
                f"Deployment {name} in namespace {where} has 0 replicas: no operator runs", about=about, todo=todo
            )
        else:
            why = _failure(item)
            words = f"Deployment {name} in namespace {where} has no pod: no operator runs"
            todo = f"kubectl -n {where} describe deployment {name}"
            yield crit(f"{words}: {why}" if why else words, about=about, todo=todo)
    if not deployments and not case.is_fresh:
        todo = "start it; if it is in another namespace, name that one with --operator-namespace"
        yield crit(f"There is no pod of the operator in namespace {where}", todo=todo)
    elif not deployments:
        yield skip(f"The operator is not in namespace {where}: --operator-namespace names another one")


def _pods(found: Sequence[Json]) -> Findings:
    """Pods that are not ready: a warning while another one is."""
    troubles = {reading.name(pod): pods.is_broken(pod) or pods.not_ready(pod) for pod in found}
    level = warn if None in troubles.values() else crit
    for name, why in troubles.items():
        if why is not None:
            words = "A pod of the operator is not ready" if level is warn else "No pod of the operator is ready"
            yield level(f"{words}: {why}", about=name, todo="kubectl kq logs --operator")


def _failure(item: Json) -> str | None:
    """Why a Deployment cannot make pods, in Kubernetes' words, such as those of a quota."""
    rows = map(condition_of, reading.rows(item, "status", "conditions"))
    return next((row.message for row in rows if row.type == "ReplicaFailure" and row.status == "True"), None)


def _several(serving: Sequence[Json]) -> Findings:
    """Operators that act at the same time, because each has a Lease of its own.

    Operators with different selectors are taken to serve different quorums; one without a selector serves all of them.
    """
    leases = {_variable(each, _LEASE): each for each in serving}
    selectors = [_variable(each, _SELECTOR) or "" for each in leases.values()]
    if len(leases) > 1 and ("" in selectors or len(set(selectors)) < len(selectors)):
        names = ", ".join(sorted(map(reading.name, leases.values())))
        todo = "uninstall all but one, or let each of them serve others (watchNamespaces or selector of the chart)"
        yield warn(f"Several operators act on this namespace at the same time: Deployments {names}", todo=todo)


def _share(serving: Sequence[Json]) -> Findings:
    """That each operator serves only what its selector selects, which may be the reason why none looks."""
    selectors = {reading.name(each): _variable(each, _SELECTOR) for each in serving}
    if selectors and all(selectors.values()):
        shares = "; ".join(f"{name}: {selector}" for name, selector in sorted(selectors.items()))
        todo = "compare them with the labels of the quorum: kubectl get kafkaquorums --show-labels"
        yield warn(f"Each operator serves only what its selector selects: {shares}", todo=todo)


def _serves(item: Json, namespace: str) -> bool:
    """Whether a Deployment has pods, and its operator serves this namespace."""
    namespaces = (_variable(item, _NAMESPACES) or "").replace(",", " ").split()
    return reading.number(item, "spec", "replicas") != 0 and (not namespaces or namespace in namespaces)


def _variable(item: Json, name: str) -> str | None:
    rows = [
        row
        for container in reading.rows(item, "spec", "template", "spec", "containers")
        for row in reading.rows(container, "env")
    ]
    return next((reading.text(row, "value") for row in rows if reading.text(row, "name") == name), None)
