"""`doctor`: checks in an order, from the API server to the last event, each OK, WARN, CRIT, UNKNOWN or SKIP. Pure.

First what the operator reports, then Kubernetes' own objects, compared with each other. Objects are examined without an
operator, too. The exit code is that of the worst result.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_kq import checks_objects, checks_operator, checks_status, pods
from kubectl_kq.answers import Found, NotRead, Why
from kubectl_kq.findings import Case, Check, Finding, Level, crit, unknown, unread
from kubectl_kq.page import CRIT, DONE, UNKNOWN, WARN, Cell, Column, Fact, Facts, Page, Table
from kubectl_kq.quorum import quorum_of
from kubectl_kq.sources import Look, Source

SOURCES: Final = tuple(each for each in Source if each not in {Source.NODES, Source.REVISIONS, Source.CONTRACT})
"""What is read first; the Kubernetes nodes of the pods follow."""

CHECKS: Final = (
    Check(key="operator", well="An operator looks at the quorum", run=checks_status.operator_looks),
    Check(
        key="operator pods",
        well="Every pod of the operator is ready",
        run=checks_operator.operator_runs,
        needs=(Source.QUORUM, Source.OPERATOR),
    ),
    Check(
        key="spec",
        well="The spec is valid, and the operator acts on it",
        run=checks_status.spec_followed,
        reported=True,
    ),
    Check(key="paused", well="The operator may act", run=checks_status.not_paused),
    Check(
        key="available", well="A leader with a caught-up majority", run=checks_status.quorum_available, reported=True
    ),
    Check(
        key="degraded", well="Nothing is reported as lost or broken", run=checks_status.nothing_degraded, reported=True
    ),
    Check(
        key="voters",
        well="Every voter is caught up, and there is no other",
        run=checks_status.voters_caught_up,
        reported=True,
    ),
    Check(key="waits", well="Nothing waits for a person", run=checks_status.nothing_held, reported=True),
    Check(key="levels", well="No feature level is blocked", run=checks_status.features_settled, reported=True),
    Check(
        key="migration",
        well="Nothing is in the way of a migration from ZooKeeper",
        run=checks_status.migration_free,
        reported=True,
    ),
    Check(key="certificates", well="No certificate ends unattended", run=checks_status.certificates_valid),
    Check(
        key="brokers", well="No broker is known to ignore the contract", run=checks_status.brokers_follow, reported=True
    ),
    Check(key="identity", well="The identity record and the status agree", run=checks_objects.identity_recorded),
    Check(
        key="pods",
        well="The pod of every controller runs",
        run=checks_objects.controllers_run,
        needs=(Source.QUORUM, Source.PODS),
    ),
    Check(
        key="disks",
        well="The claim of every controller is bound",
        run=checks_objects.disks_bound,
        needs=(Source.QUORUM, Source.CLAIMS),
    ),
    Check(
        key="nodes",
        well="Every Kubernetes node of a controller is ready",
        run=checks_objects.nodes_serve,
        needs=(Source.QUORUM, Source.PODS),
    ),
    Check(
        key="spread",
        well="No single Kubernetes node has a majority",
        run=checks_objects.voters_spread,
        needs=(Source.QUORUM, Source.PODS),
    ),
    Check(key="budget", well="The disruption budget exists", run=checks_objects.budget_made),
    Check(key="token", well="No pool keeps the disruption token", run=checks_objects.token_free),
    Check(
        key="pools",
        well="Every broker pool is well",
        run=checks_objects.pools_well,
        needs=(Source.QUORUM, Source.POOLS),
    ),
    Check(
        key="events",
        well="No warning in the last hour",
        run=checks_objects.no_warnings,
        needs=(Source.QUORUM, Source.EVENTS, Source.WARNINGS),
    ),
)
"""Every check, in the order in which they are shown."""

_CODES: Final = {Level.CRIT: CRIT, Level.WARN: WARN, Level.UNKNOWN: UNKNOWN}
_ABSENT: Final = frozenset({Why.NO_KIND, Why.MISSING})


def doctor_page(look: Look, now: datetime) -> Page:
    """Every check of one quorum, whether or not it could be read."""
    results = list(_results(look, now))
    levels = {finding.level for _, finding in results}
    worst = next((level for level in _CODES if level in levels), Level.OK)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (finding.level.value, check, finding.about or None, finding.message, finding.todo or None)
        for check, finding in results
    )
    columns = (
        Column(key="level", label="LEVEL"),
        Column(key="check", label="CHECK"),
        Column(key="about", label="ABOUT"),
        Column(key="message", label="", below=True),
        Column(key="todo", label="What to do", below=True),
    )
    facts = (
        Fact(key="namespace", label="Namespace", value=look.namespace),
        Fact(key="name", label="Quorum", value=look.name),
        Fact(key="worst", label="Worst", value=worst.value),
    )
    table = Table(key="checks", title="Checks", columns=columns, rows=rows)
    return Page(command="doctor", sections=(Facts(facts=facts), table), code=_CODES.get(worst, DONE))


def _results(look: Look, now: datetime) -> Iterator[tuple[str, Finding]]:
    answer = look.answer(Source.QUORUM)
    if isinstance(answer, NotRead):
        yield "api server", _without_quorum(look, answer)
        return
    yield "api server", Finding(level=Level.OK, message="The API server answers, and the quorum exists")
    case = Case(look=look, quorum=quorum_of(answer.value), now=now)
    for check in CHECKS:
        found = list(_run(check, case))
        yield from ((check.key, each) for each in found or (_well(check, case),))


def _well(check: Check, case: Case) -> Finding:
    """OK; or unknown, if only an old status says so."""
    if check.reported and not case.is_fresh:
        return unknown(f"Not known now. At the last look: {check.well}", todo="do what the check operator says")
    return Finding(level=Level.OK, message=check.well)


def _run(check: Check, case: Case) -> Iterator[Finding]:
    for source in check.needs:
        answer = case.look.answer(source)
        if isinstance(answer, NotRead) and not (source is Source.POOLS and answer.why in _ABSENT):
            yield unread(case, source)
            return
    yield from check.run(case)


def _without_quorum(look: Look, answer: NotRead) -> Finding:
    """Why nothing about the quorum is known."""
    match answer.why:
        case Why.MISSING:
            missing = f"There is no KafkaQuorum {look.name} in namespace {look.namespace}"
            if left := _left(look):
                todo = (
                    "leave them alone, and apply the manifest of the quorum again: it goes on with its disks "
                    "(docs/operations.md, Volumes and deletion)"
                )
                return crit(f"{missing}, but these objects of one are left: {', '.join(left)}", todo=todo)
            return crit(missing, todo="`kubectl kq status -n NAMESPACE` lists the quorums of a namespace")
        case Why.NO_KIND:
            todo = "install the operator's chart, or apply its crds/: docs/install.md"
            return crit(f"The API server has no kind KafkaQuorum: {answer.words}", todo=todo)
        case Why.FORBIDDEN:
            todo = "ask for the role view of this namespace: docs/kubectl-kq.md"
            return unknown(f"This user may not read the quorum: {answer.words}", todo=todo)
        case Why.SILENT:
            todo = "check the network, the context, and `kubectl get --raw /readyz`"
            return crit(f"The API server does not answer: {answer.words}", todo=todo)
        case Why.FAILED:
            return unknown(f"The quorum was not read: {answer.words}", todo="run kubectl get kq yourself")


def _left(look: Look) -> list[str]:
    """What is left of a quorum that was deleted without its objects, or that kept its volumes."""
    listed = (("pods", Source.PODS), ("claims", Source.CLAIMS))
    found = [f"{len(items)} {word}" for word, source in listed if (items := look.items(source))]
    return [*found, *([f"ConfigMap {look.name}-identity"] if look.object(Source.RECORD) is not None else [])]


def nodes_to_read(look: Look) -> tuple[str, ...]:
    """The Kubernetes nodes of the controllers: by their pods, and by the status for pods that are gone."""
    from_pods = (pod for own in (look.pods("controller") or {}).values() for pod in own)
    names = {node for pod in from_pods if (node := pods.node_of(pod)) is not None}
    answer = look.answer(Source.QUORUM)
    if isinstance(answer, Found):
        names |= {row.node for row in quorum_of(answer.value).controllers if row.node is not None}
    return tuple(sorted(names))
