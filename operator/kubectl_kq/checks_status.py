"""The checks of `doctor` that read the resource: what the operator reported, and whether it still reports. Pure."""

from typing import Final

from kubectl_kq import reading, rules
from kubectl_kq.ages import seconds_since, span
from kubectl_kq.findings import Case, Findings, crit, unknown, warn
from kubectl_kq.freshness import Looks

_LONG_S: Final = 1800.0
"""What is under way for longer is worth a look."""
_SOON_S: Final = 30 * 86_400.0
_PAIR: Final = 2
_ON_PURPOSE: Final = frozenset({"NotStarted", "RollingBack"})
"""Reasons of Available that are no failure: there never was a leader, or the controllers were stopped on purpose."""


def operator_looks(case: Case) -> Findings:
    """Whether an operator looks at the quorum, and can."""
    fresh, is_blind = case.fresh, case.quorum.doing == "CannotLook"
    if fresh.looks in {Looks.NEVER, Looks.STALE} and is_blind:
        todo = "make the operator able to look, as below; if it does not run, start it"
        yield crit(f"The status is old, because the operator cannot look. {fresh.message}", todo=todo)
    elif fresh.looks in {Looks.NEVER, Looks.STALE}:
        yield crit(fresh.message, todo="the checks below that name objects are of now; the status is not")
    elif fresh.looks in {Looks.LATE, Looks.UNKNOWN, Looks.DELETED}:
        yield warn(fresh.message)
    if is_blind:
        yield crit(case.quorum.message or "", todo=rules.unblocks(rules.QUORUM, "CannotLook"))


def spec_followed(case: Case) -> Findings:
    """Whether the spec is valid, and the operator acts on this version of it."""
    quorum = case.quorum
    if quorum.is_being_deleted:
        yield warn(f"KafkaQuorum {quorum.name} is being deleted", todo="wait until it is gone, or see its finalizers")
    accepted = quorum.condition("SpecAccepted")
    if accepted is not None and (accepted.status == "False" or accepted.reason == "Autoscaled"):
        yield warn(f"{accepted.reason}: {accepted.message}", todo=rules.mends("SpecAccepted", accepted.reason))
    if case.is_fresh and quorum.generation is not None and quorum.observed_generation != quorum.generation:
        yield warn(
            f"The operator has not acted on generation {quorum.generation} of the spec yet", todo="wait a minute"
        )


def not_paused(case: Case) -> Findings:
    """Whether the operator may act."""
    if case.quorum.paused:
        yield warn(
            "spec.paused is true, so nothing is changed or repaired", todo=f"kubectl kq resume {case.quorum.name}"
        )


def quorum_available(case: Case) -> Findings:
    """Whether a leader with a caught-up majority commits metadata."""
    available = case.quorum.condition("Available")
    if available is None:
        yield unknown("The status does not say yet whether the quorum is available")
    elif available.status == "False" and available.reason in _ON_PURPOSE:
        more = case.quorum.message
        words = f"{available.message}. {case.quorum.doing}: {more}" if more else available.message
        yield warn(words, todo=rules.mends("Available", available.reason))
    elif available.status != "True" and available.reason == "CannotLook":
        yield unknown("The operator cannot look, so it is not known whether the quorum is available")
    elif available.status != "True":
        todo = rules.mends("Available", available.reason)
        if available.reason == "NoAnswer":
            todo = f"{todo}; kubectl kq recover {case.quorum.name} shows what is left"
        yield crit(f"{available.reason}: {available.message}", todo=todo)


def nothing_degraded(case: Case) -> Findings:
    """What is lost or broken, by the operator's own word."""
    degraded = case.quorum.condition("Degraded")
    if degraded is None:
        yield unknown("The status does not say yet whether something is lost or broken")
    elif degraded.status == "True" and degraded.reason != "CannotLook":
        yield crit(f"{degraded.reason}: {degraded.message}", todo=rules.unblocks(rules.QUORUM, degraded.reason))


def voters_caught_up(case: Case) -> Findings:
    """Voters that lag, and replicas that should be none."""
    quorum = case.quorum
    for each in quorum.controllers:
        if each.role in {"Voter", "Leader", "Observer", "None"} and each.caught_up is False:
            what = "is not caught up" if each.role in {"Voter", "Leader"} else "is no voter yet, and is not caught up"
            words = f": {each.reason}" if each.reason else ""
            yield warn(f"Controller {each.node_id} {what}{words}", about=each.pod or "")
    voters, tolerance = quorum.number("quorum", "voters"), quorum.number("quorum", "failureTolerance")
    if tolerance == 0 and voters is not None and voters > _PAIR:
        yield warn("No further voter may fail: the quorum would stop", todo="bring back what the other checks name")
    for row in quorum.rows("staleReplicas"):
        kind, node_id = reading.text(row, "kind"), reading.number(row, "nodeID")
        directory = reading.text(row, "directoryID")
        reason = "ForeignVoter" if kind == "ForeignVoter" else "StaleVoter"
        words = f"The quorum lists replica {node_id}-{directory} ({kind}), and no disk here has it"
        yield warn(words, todo=rules.unblocks(rules.QUORUM, reason))


def nothing_held(case: Case) -> Findings:
    """Waits that need a person, that mean a loss, or that last long."""
    degraded = case.quorum.condition("Degraded")
    for wait in case.quorum.waits:
        about = ", ".join(map(str, wait.node_ids))
        todo = rules.unblocks(rules.QUORUM, wait.reason)
        since_s = seconds_since(wait.since, case.now)
        if wait.severity == "Held":
            yield warn(f"{wait.reason}: {wait.message}", about=about, todo=todo)
        elif wait.severity == "Degraded":
            if degraded is None or wait.message not in degraded.message:
                yield crit(f"{wait.reason}: {wait.message}", about=about, todo=todo)
        elif since_s is not None and since_s > _LONG_S:
            yield warn(f"{wait.reason} for {span(since_s)}: {wait.message}", about=about, todo=todo)


def features_settled(case: Case) -> Findings:
    """Levels that cannot be reached."""
    settled = case.quorum.condition("FeaturesSettled")
    if settled is not None and settled.status == "False" and settled.reason in {"Blocked", "Refused"}:
        yield warn(settled.message, todo=rules.mends("FeaturesSettled", settled.reason))


def migration_free(case: Case) -> Findings:
    """What is in the way of a migration from ZooKeeper, by the operator's preflight."""
    for each in case.quorum.blockers():
        found = unknown if each.unknown else warn
        yield found(f"{each.code}: {each.found}", about=each.about or "", todo=each.way_out or "")


def certificates_valid(case: Case) -> Findings:
    """Certificates that have ended, or that end while nothing renews them."""
    quorum = case.quorum
    valid = quorum.condition("CertificatesValid")
    if valid is not None and valid.status != "True" and valid.reason != "CannotLook":
        found = crit if valid.reason == "Ended" else warn
        yield found(f"{valid.reason}: {valid.message}", todo=rules.mends("CertificatesValid", valid.reason))
    age_s = seconds_since(quorum.text("certificates", "validUntil"), case.now)
    if age_s is None or case.is_fresh:
        return
    first = quorum.text("certificates", "endsFirst") or "a certificate"
    if age_s > 0:
        yield crit(f"{first} ended {span(age_s)} ago, and no operator looks", todo="start the operator")
    elif age_s > -_SOON_S:
        yield warn(f"{first} ends in {span(-age_s)}, and no operator renews it", todo="start the operator")


def brokers_follow(case: Case) -> Findings:
    """Brokers that do not follow the contract."""
    for row in case.quorum.rows("brokers"):
        if reading.text(row, "conforms") == "False":
            reason, node_id = reading.text(row, "reason"), reading.number(row, "nodeID")
            yield warn(
                f"Broker {node_id} does not follow the broker contract: {reason}",
                about=f"broker {node_id}",
                todo="give the broker the settings of the ConfigMap NAME-brokers (docs/brokers.md)",
            )
