"""Pods that run brokers: from which revision they start, when one is replaced, and what marks them ready."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import (
    CRASHES,
    ENDED,
    ORDERS,
    RUNS,
    changed_claim,
    changed_pod,
    edited,
    formatter,
    leader,
    look,
    new_spec,
    partition,
    planned,
    ran,
    refused,
    registered,
    revision_of,
    situation,
    view,
    with_view,
    without_pod,
)
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.actions import CreatePod, DeletePod, MarkPod, RecordChange, WriteRecord
from kafka_brokers.model.disks import PoolRecord
from kafka_brokers.model.observed import KubeNode, Observed
from kafka_brokers.model.plan import Part, Severity
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.pods import gate_of, pods
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.pods import ContainerState, Terminated, Waiting

SPEC, NEW = desired(), new_spec()
OLD = revision_of(SPEC)
RAN = ran(record(), SPEC)
FENCED = view([partition("t-0", [0, 1, 2], [0, 2])], [registered(0), registered(1, fenced=True), registered(2)])
"""Broker 1 is fenced."""


def part_of(of: Observed, by: PoolDesired | None = None, *, repair_only: bool = False) -> Part:
    """What is done about pods."""
    return pods(situation(of, by, repair_only=repair_only))


def chosen(part: Part) -> PoolRecord:
    """The record that says which brokers may run, and from which revision."""
    assert part.actions == ()
    assert isinstance(part.exclusive, WriteRecord), part
    assert part.exclusive.change is RecordChange.REVISION
    return part.exclusive.record


def created(part: Part) -> list[tuple[int, str]]:
    """The brokers that get a pod, and its revision."""
    assert part.exclusive is None
    return [(one.node_id, one.revision.name) for one in part.actions if isinstance(one, CreatePod)]


def deleted(part: Part) -> list[int]:
    """The brokers whose pods are deleted."""
    assert part.exclusive is None
    return [one.pod.node_id for one in part.actions if isinstance(one, DeletePod)]


def kept(part: Part) -> list[tuple[Severity, int | None]]:
    """The pods that ought to go, and are not deleted."""
    assert deleted(part) == []
    return [(one.severity, one.node_id) for one in part.waits if one.reason == "PodKept"]


def outdated(of: PoolRecord = RAN) -> Observed:
    """A pool whose pods run from the revision before the present one."""
    base = look(of, NEW, old=(OLD,))
    return replace(base, pods=tuple(replace(one, revision=OLD.name) for one in base.pods))


# Which revision


def test_that_brokers_may_run_is_noted_before_their_pods_exist() -> None:
    """From then on their volumes may have records; all new brokers at once."""
    of = replace(record(), resource_version="7")
    first = part_of(look(of, pods=()))
    assert [(one.ran, one.revision) for one in chosen(first).brokers] == [(True, OLD.name)] * 3
    noted = look(chosen(first), pods=())
    assert created(part_of(noted)) == [(0, OLD.name), (1, OLD.name), (2, OLD.name)]
    assert part_of(replace(look(of, pods=()), revisions=())).exclusive is None


def test_no_pod_without_its_config_map_or_revision() -> None:
    """The pod could not start, or would be made from nothing."""
    of = without_pod(look(RAN), 1)
    assert created(part_of(of)) == [(1, OLD.name)]
    without = replace(of, support=tuple(one for one in of.support if one.kind != "ConfigMap"))
    assert created(part_of(without)) == []
    assert created(part_of(replace(of, revisions=()))) == []


def test_no_broker_starts_before_the_quorum_had_its_first_leader() -> None:
    """It would follow leaders that are replaced at once, and such a one may not be able to register for a minute."""
    of = without_pod(look(RAN), 1)
    assert isinstance(of.contract, Known)
    contract = replace(of.contract.value, young=True)
    young = replace(of, contract=Known(value=contract), cluster=Unknown(reason="no broker runs yet"))
    unsettled = Known(value=replace(leader(), settled=False, voters_caught_up=2))
    for led, why in ((unsettled, "2 of 3 have"), (Unknown(reason="timeout"), "its first leader (timeout)")):
        part = part_of(replace(young, leader=led))
        assert created(part) == []
        assert [(one.reason, one.node_id) for one in part.waits] == [("Starting", 1)]
        assert part.waits[0].message.endswith(why)
        assert created(part_of(replace(young, leader=led, cluster=of.cluster))) == [(1, OLD.name)]  # it has brokers
    assert created(part_of(young)) == [(1, OLD.name)]  # the quorum has a leader, and has not written that yet
    assert created(part_of(replace(of, leader=Unknown(reason="timeout")))) == [(1, OLD.name)]


def test_a_broker_that_does_not_run_starts_from_the_present_revision() -> None:
    """Those that run, or are stopping, keep theirs until a roll."""
    of = without_pod(outdated(), 1)
    assert [one.revision for one in chosen(part_of(of, NEW)).brokers] == [OLD.name, revision_of(NEW).name, OLD.name]
    assert part_of(changed_pod(outdated(), 1, deleting=True, container=CRASHES), NEW).exclusive is None
    assert chosen(part_of(changed_pod(outdated(), 1, container=CRASHES), NEW)) is not None


def test_the_present_revision_is_tried_by_one_broker_at_a_time() -> None:
    """While one that was to start from it is away, the others start from their own again."""
    trying = edited(RAN, 0, revision=revision_of(NEW).name)
    of = without_pod(without_pod(outdated(trying), 0), 1)
    fenced = view(ORDERS, [registered(0, fenced=True), registered(1), registered(2)])
    assert created(part_of(with_view(of, fenced), NEW)) == [(0, revision_of(NEW).name), (1, OLD.name)]
    unknown = replace(of, cluster=Unknown(reason="timeout"))
    assert (1, OLD.name) in created(part_of(unknown, NEW))
    stopped = replace(of, record=edited(trying, 0, stopped=True))
    assert (1, OLD.name) in created(part_of(stopped, NEW))
    assert broker(chosen(part_of(of, NEW)), 1).revision == revision_of(NEW).name
    gone = replace(with_view(of, fenced), revisions=of.revisions[1:])
    assert broker(chosen(part_of(gone, NEW)), 1).revision == revision_of(NEW).name


def test_an_invalid_spec_starts_brokers_from_their_own_revision() -> None:
    """Repair changes nothing."""
    of = without_pod(outdated(), 1)
    assert created(part_of(of, NEW, repair_only=True)) == [(1, OLD.name)]


def test_a_broker_that_is_gone_for_good_gets_no_pod() -> None:
    """Empty, or leaving before it ever ran."""
    of = without_pod(look(RAN), 1)
    empty = replace(of, record=edited(RAN, 1, leaving=True, empty=True))
    assert (created(part_of(empty)), part_of(empty).exclusive) == ([], None)
    never = replace(of, record=edited(RAN, 1, leaving=True, ran=False, revision=None))
    assert created(part_of(never)) == []
    drained = replace(of, record=edited(RAN, 1, leaving=True))
    assert created(part_of(drained)) == [(1, OLD.name)]


def test_a_broker_whose_volumes_are_not_formatted_is_not_noted_as_one_that_ran() -> None:
    """Else its loss would be judged as if it had records; the others begin meanwhile."""
    of = replace(edited(record(), 0, disks=broker(record(formatted=False)).disks), resource_version="7")
    of = edited(of, 1, revision=OLD.name)
    assert [one.ran for one in chosen(part_of(look(of, pods=()))).brokers] == [False, True, True]
    never = edited(of, 1, leaving=True)
    assert [one.ran for one in chosen(part_of(look(never, pods=()))).brokers] == [False, False, True]
    empty = edited(of, 1, leaving=True, ran=True, revision=None, empty=True)
    assert broker(chosen(part_of(look(empty, pods=()))), 1) == broker(empty, 1)


def test_no_second_pod_beside_one_that_ends() -> None:
    """A pod that is being deleted may still run Kafka: its name is taken until it is gone."""
    part = part_of(changed_pod(look(RAN), 1, deleting=True, claim_uids=("earlier",)))
    assert (created(part), deleted(part)) == ([], [])
    assert [(one.reason, one.node_id) for one in part.waits] == [("Stopping", 1)]


def test_an_unformatted_broker_gets_no_pod() -> None:
    """Nor one beside its formatter."""
    of = edited(RAN, 1, disks=(replace(broker(RAN, 1).disks[0], directory_id=None),))
    assert part_of(without_pod(look(of), 1)).actions == ()
    both = without_pod(look(RAN), 1)
    assert created(part_of(replace(both, pods=(*both.pods, formatter(broker(RAN, 1)))))) == []


# Which pods are replaced


OTHER: list[dict[str, Any]] = [{"claim_uids": ("earlier",)}, {"directory_ids": ("earlier",)}]


@pytest.mark.parametrize("changes", OTHER)
def test_a_pod_of_other_volumes_is_replaced_when_no_kafka_serves_in_it(changes: dict[str, Any]) -> None:
    """A running one only if its broker is certainly fenced; until then that is told."""
    of = changed_pod(look(RAN), 1, **changes)
    assert kept(part_of(of)) == [(Severity.DEGRADED, 1)]
    assert kept(part_of(replace(of, cluster=Unknown(reason="timeout")))) == [(Severity.DEGRADED, 1)]
    assert deleted(part_of(with_view(of, FENCED))) == [1]
    assert deleted(part_of(changed_pod(of, 1, container=CRASHES))) == [1]


def test_a_volume_that_its_revision_does_not_use_makes_no_pod_another_one() -> None:
    """A pod of one volume stays when its broker gets a second one, until the roll."""
    jbod = desired({"storage": [{"size": "10Gi"}, {"size": "10Gi"}]})
    two = ran(record(volumes=2), SPEC)
    of = look(two, jbod, old=(OLD,))
    one = tuple(
        replace(pod, revision=OLD.name, claim_uids=pod.claim_uids[:1], directory_ids=pod.directory_ids[:1])
        for pod in of.pods
    )
    assert deleted(part_of(replace(of, pods=one), jbod)) == []
    assert kept(part_of(replace(of, pods=one), jbod)) == []
    assert kept(part_of(replace(of, pods=one, revisions=()), jbod)) == [(Severity.DEGRADED, node) for node in range(3)]


def test_a_pod_that_has_ended_is_created_again() -> None:
    """Its Kafka has ended; also if its claim is being deleted, because it holds it no more."""
    of = changed_pod(look(RAN), 1, finished=True, container=ENDED)
    assert deleted(part_of(of)) == [1]
    assert deleted(part_of(changed_claim(of, 1, deleting=True))) == [1]


def test_why_a_pod_has_ended_is_told() -> None:
    """A machine that refuses each new pod says why: otherwise only the repetition would be told."""
    of = changed_pod(look(RAN), 1, finished=True, container=ENDED, why_ended=" (OutOfmemory)")
    (action,) = (one for one in part_of(of).actions if isinstance(one, DeletePod))
    assert action.message.endswith("is created again: it has ended (OutOfmemory)")


def test_a_pod_that_holds_the_last_of_its_volume_is_kept() -> None:
    """With the pod, a claim that is being deleted would be gone: rule 10 judges that, not this."""
    of = changed_pod(look(RAN), 1, directory_ids=("earlier",), container=CRASHES)
    assert deleted(part_of(of)) == [1]
    for changes in ({"deleting": True}, {"volume_gone": True}, {"uid": "another"}):
        assert kept(part_of(changed_claim(of, 1, **changes))) == [(Severity.DEGRADED, 1)]


def test_a_pod_that_cannot_start_gets_the_corrected_revision() -> None:
    """The record chose another revision: what does not run is made again, and so is what is fenced."""
    of = replace(outdated(), record=edited(RAN, 1, revision=revision_of(NEW).name))
    assert kept(part_of(of, NEW)) == []
    assert deleted(part_of(changed_pod(of, 1, container=CRASHES), NEW)) == [1]
    assert deleted(part_of(with_view(of, FENCED), NEW)) == [1]
    assert kept(part_of(replace(of, cluster=Unknown(reason="timeout")), NEW)) == []
    same = changed_pod(outdated(), 1, container=CRASHES)
    assert deleted(part_of(same, NEW, repair_only=True)) == []


def test_a_fenced_broker_is_not_restarted_while_another_one_is_stopped() -> None:
    """It may come back by itself, sooner than after a restart."""
    of = with_view(replace(outdated(), record=edited(RAN, 1, revision=revision_of(NEW).name)), FENCED)
    assert of.record is not None
    stopped = replace(of, record=edited(of.record, 2, stopped=True))
    assert deleted(part_of(stopped, NEW)) == []
    assert deleted(part_of(changed_pod(stopped, 1, container=CRASHES), NEW)) == [1]


# Marks


GATES: list[tuple[Observed, dict[str, Any], str]] = [
    (look(RAN), {}, "True"),
    (look(RAN), {"deleting": True}, "False"),
    (look(RAN), {"container": CRASHES}, "False"),
    (with_view(look(RAN), FENCED), {}, "False"),
    (with_view(look(RAN), view(ORDERS, [registered(0), registered(2)])), {}, "False"),
    (replace(look(RAN), cluster=Unknown(reason="timeout")), {"gate": "True"}, "True"),
    (replace(look(RAN), cluster=Unknown(reason="timeout")), {"gate": "False"}, "False"),
    (replace(look(RAN), cluster=Unknown(reason="timeout")), {"gate": ""}, "Unknown"),
]


@pytest.mark.parametrize(("of", "changes", "gate"), GATES)
def test_the_readiness_gate(of: Observed, changes: dict[str, Any], gate: str) -> None:
    """Clients inside the cluster begin at unfenced brokers only; what is not known changes nothing."""
    seen = changed_pod(of, 1, **changes)
    pod = next(one for one in seen.pods if one.node_id == 1)
    assert gate_of(seen, pod)[0] == gate
    marks = [(one.pod.node_id, one.gate) for one in part_of(seen).actions if isinstance(one, MarkPod)]
    assert marks == ([] if gate == pod.gate else [(1, gate)])


def test_only_a_mark_that_lets_clients_in_needs_a_fresh_look() -> None:
    """A mark is stamped with the look that it was judged by."""
    of = changed_pod(look(RAN), 1, gate="False")
    (mark,) = planned(of).actions
    assert isinstance(mark, MarkPod)
    assert mark.judged_at_s == of.looked_at_s


# What is told


LAST = Terminated(exit_code=1, reason="Error", message="the volume is empty\n", finished_at="")
TOLD: list[tuple[ContainerState, dict[str, Any], Severity, str]] = [
    (Waiting(reason="ErrImagePull", message="", last_exit=None), {}, Severity.DEGRADED, "ImagePullFailed"),
    (Waiting(reason="ImagePullBackOff", message="", last_exit=None), {}, Severity.DEGRADED, "ImagePullFailed"),
    (CRASHES, {}, Severity.DEGRADED, "BrokerCrashes"),
    (Waiting(reason="CreateContainerConfigError", message="", last_exit=None), {}, Severity.DEGRADED, "PodStuck"),
    (replace(CRASHES, init="istio-init"), {}, Severity.DEGRADED, "PodStuck"),
    (Waiting(reason="", message="", last_exit=LAST), {}, Severity.DEGRADED, "BrokerCrashes"),
    (Waiting(reason="", message="", last_exit=None), {"unschedulable": "no node"}, Severity.DEGRADED, "Unschedulable"),
    (Waiting(reason="", message="", last_exit=None), {"needs_late": True}, Severity.PROGRESS, "Starting"),
    (Waiting(reason="", message="", last_exit=None), {}, Severity.PROGRESS, "Starting"),
    (ENDED, {}, Severity.PROGRESS, "Starting"),
]


@pytest.mark.parametrize(("state", "changes", "severity", "reason"), TOLD)
def test_why_a_broker_does_not_start(
    state: ContainerState, changes: dict[str, Any], severity: Severity, reason: str
) -> None:
    """What a person must correct is degraded; what needs only time is progress. A script's words are told."""
    part = part_of(changed_pod(look(RAN), 1, container=state, **changes))
    (wait,) = part.waits
    assert (wait.severity, wait.reason, wait.node_id) == (severity, reason, NodeID(1))
    assert ("the volume is empty" in wait.message) is (isinstance(state, Waiting) and state.last_exit is LAST)


def test_a_report_is_told_in_its_own_words() -> None:
    """A script's report is JSON; the words of one that accepted the volumes say nothing of Kafka's end."""
    report = replace(refused(1.0), message="volume 0 is empty")
    for said, words in ((report, "volume 0 is empty"), (replace(report, accepted=True), "the volume is empty")):
        of = changed_pod(look(RAN), 1, container=Waiting(reason="", message="", last_exit=LAST), report=said)
        assert [one.message for one in part_of(of).waits] == [f"Broker 1 does not start: {words}"]


def test_a_fenced_broker_that_runs_is_waited_for() -> None:
    """Recovery of logs takes its time; a broker that is unfenced, or unknown, is nothing to tell."""
    assert [(one.reason, one.node_id) for one in part_of(with_view(look(RAN), FENCED)).waits] == [("Starting", 1)]
    assert part_of(replace(look(RAN), cluster=Unknown(reason="timeout"))).waits == ()
    assert look(RAN).pods[0].container is RUNS


def test_a_pod_that_ends_on_a_lost_node_is_not_said_to_stop() -> None:
    """Kafka hands nothing over on a machine that is down: only the lost machine is reported."""
    of = changed_pod(look(RAN), 1, deleting=True)
    assert [one.reason for one in part_of(of).waits] == ["Stopping"]
    down = (("worker-1", Known(value=KubeNode(name="worker-1", ready=False))),)
    assert part_of(replace(of, kube_nodes=down)).waits == ()
