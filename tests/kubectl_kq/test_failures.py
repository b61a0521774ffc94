"""Causes that `doctor` and `explain` name: the object, what is wrong with it, and what unblocks it."""

import copy
from typing import Any

import pytest
from tests.kubectl_kq.worlds import (
    IDS,
    NOW,
    ago,
    claim,
    condition,
    deployment,
    listed,
    look,
    pod,
    pool,
    quorum,
    record,
    saying,
    wait,
    warning,
)

from kubectl_kq import bundle, rules
from kubectl_kq.answers import NotRead, Why
from kubectl_kq.doctor import doctor_page
from kubectl_kq.explain import explain_page
from kubectl_kq.page import CRIT
from kubectl_kq.render import as_text, data
from kubectl_kq.sources import Look, Source

Json = dict[str, Any]

MISSING = NotRead(why=Why.MISSING, words="not found")
FORBIDDEN = NotRead(why=Why.FORBIDDEN, words="forbidden")
UNKNOWN_REASON = "does not know the reason"
OPERATOR = "kafka-quorum-operator"


def checks(seen: Look, check: str) -> list[Json]:
    """The results of one check of `doctor`."""
    found: list[Json] = data(doctor_page(seen, NOW))["checks"]
    return [row for row in found if row["check"] == check]


def explained(seen: Look, key: str) -> list[Json]:
    """A table of `explain`."""
    found: list[Json] = data(explain_page(seen, NOW))[key]
    return found


CONDITIONS = [
    *(("Available", "False", each) for each in ("MajorityLags", "NotStarted", "RollingBack")),
    *(("Available", "Unknown", each) for each in ("NoAnswer", "IdentityLost", "IdentityMissing")),
    *(
        ("Ready", "False", each)
        for each in (
            *("NotStarted", "NoLeader", "ControllersMissing", "StaleVoters", "OperationOpen", "VotersToRemove"),
            *("ForeignVoter", "VoterSetUncommitted", "Rolling", "Working", "InvalidSpec"),
        )
    ),
    *(("FeaturesSettled", "False", each) for each in ("Raising", "Soaking", "Blocked", "Refused", "Migrating")),
    *(("CertificatesValid", "False", each) for each in ("Ended", "EndsSoon", "Refused")),
    *(("CertificatesValid", "Unknown", each) for each in ("NotRead", "NotMade", "EndUnknown", "NoHandshake")),
    *(
        ("MigratedFromZooKeeper", "False", each)
        for each in ("NotBegun", "Preflight", "DualWrite", "Controllers", "Brokers", "RolledBack")
    ),
]


@pytest.mark.parametrize(("kind", "status", "reason"), CONDITIONS)
def test_every_condition_says_what_unblocks_it(kind: str, status: str, reason: str) -> None:
    """Reasons that only conditions have are explained, too."""
    item = saying(None, None, **{kind: (status, reason, "the operator's own sentence")})
    (row,) = explained(look({Source.QUORUM: item}), "conditions")
    assert row["unblocks"]
    assert UNKNOWN_REASON not in row["unblocks"]


def test_a_reason_means_what_its_condition_says() -> None:
    """`Refused` of a certificate and `Refused` of a level have advice of their own, and doctor gives it."""
    item = saying(CertificatesValid=("False", "Refused", "bad key"), FeaturesSettled=("False", "Refused", "too low"))
    seen = look({Source.QUORUM: item})
    assert "correct the Secret" in checks(seen, "certificates")[0]["todo"]
    assert "downgrade: Safe" in checks(seen, "levels")[0]["todo"]


def test_a_quorum_that_does_not_start_says_for_what_it_waits() -> None:
    """Before the first leader the cause is beside the word that there is none."""
    status: Json = {"doing": "ClaimUnbound", "message": "Waiting for a volume: claim demo-3000-g1 is not bound"}
    item = saying(status, Available=("False", "NotStarted", "the quorum has had no leader yet"))
    (row,) = checks(look({Source.QUORUM: item}), "available")
    assert (row["level"], "claim demo-3000-g1 is not bound" in row["message"]) == ("WARN", True)


def test_controllers_that_were_stopped_on_purpose_are_no_outage() -> None:
    """A roll back to ZooKeeper is a warning, and its way out is that of the migration."""
    item = saying(Available=("False", "RollingBack", "the controllers are stopped"))
    (row,) = checks(look({Source.QUORUM: item}), "available")
    assert (row["level"], "roll back" in row["todo"]) == ("WARN", True)


def test_without_a_leader_the_command_of_a_recovery_is_named() -> None:
    """A majority may be gone for good: the command that shows what is left stands there."""
    item = saying(Available=("Unknown", "NoAnswer", "no leader answers: 3000 does not"))
    (row,) = checks(look({Source.QUORUM: item}), "available")
    assert row["level"] == "CRIT"
    assert "kubectl kq recover demo" in row["todo"]


# --- the operator -----------------------------------------------------------------------------------------------------


def test_an_operator_that_is_scaled_to_zero_is_named_at_once() -> None:
    """While the status is still fresh, the Deployment shows that no operator runs, and the command starts it."""
    seen = look({Source.OPERATOR: listed(), Source.DEPLOYMENTS: listed(deployment(OPERATOR, 0))})
    (row,) = checks(seen, "operator pods")
    assert (row["level"], row["about"]) == ("CRIT", f"deployment {OPERATOR}")
    assert "0 replicas" in row["message"]
    assert f"scale deployment/{OPERATOR}" in row["todo"]


def test_an_operator_whose_pods_are_refused_is_named_with_the_cause() -> None:
    """The words of Kubernetes, such as those of a quota, are there."""
    item = deployment(OPERATOR)
    item["status"]["conditions"] = [condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota: pods")]
    (row,) = checks(look({Source.OPERATOR: listed(), Source.DEPLOYMENTS: listed(item)}), "operator pods")
    assert (row["level"], "exceeded quota: pods" in row["message"]) == ("CRIT", True)


def test_one_of_two_operators_that_is_not_ready_is_a_warning() -> None:
    """The other one acts, so it is no outage."""
    ready = {"metadata": {"name": "operator-1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    broken = copy.deepcopy(pod(3000)) | {"metadata": {"name": "operator-2"}}
    broken["status"]["conditions"] = [{"type": "Ready", "status": "False", "message": "gate"}]
    (row,) = checks(look({Source.OPERATOR: listed(ready, broken)}), "operator pods")
    assert (row["level"], row["about"]) == ("WARN", "operator-2")


@pytest.mark.parametrize(
    ("second", "found"),
    [
        (deployment("second"), True),
        (deployment("second", 0), False),
        (deployment("second", namespaces="other"), False),
        (deployment("second", namespaces="other,kafka"), True),
        (deployment("second", selector="shard=b"), True),
    ],
    ids=["both act", "stopped", "elsewhere", "here, too", "a share of all"],
)
def test_operators_that_act_at_the_same_time_are_named(second: Json, *, found: bool) -> None:
    """Two Deployments with Leases of their own both act, if both run and serve this namespace."""
    rows = checks(look({Source.DEPLOYMENTS: listed(deployment(OPERATOR), second)}), "operator pods")
    assert [row["level"] for row in rows] == ["WARN" if found else "OK"]
    assert not found or f"Deployments {OPERATOR}, second" in rows[0]["message"]


def test_operators_with_selectors_of_their_own_divide_the_quorums() -> None:
    """Different selectors are different shares; the same selector twice is the same work twice."""
    one, other = (deployment(name, selector=f"shard={name}") for name in ("a", "b"))
    again = deployment("c", selector="shard=a")
    assert [row["level"] for row in checks(look({Source.DEPLOYMENTS: listed(one, other)}), "operator pods")] == ["OK"]
    (row,) = checks(look({Source.DEPLOYMENTS: listed(one, other, again)}), "operator pods")
    assert (row["level"], "Deployments a, b, c" in row["message"]) == ("WARN", True)


def test_a_quorum_that_may_belong_to_no_share_is_named() -> None:
    """If none looks, and each operator has a selector, the selectors stand there to be compared with the labels."""
    old, shares = saying({"lastLook": ago(3600)}), listed(deployment("a", selector="shard=a"))
    seen = look({Source.QUORUM: old, Source.DEPLOYMENTS: shares})
    found = [row for row in checks(seen, "operator pods") if "a: shard=a" in row["message"]]
    assert [row["level"] for row in found] == ["WARN"]
    assert "--show-labels" in found[0]["todo"]
    unshared = look(
        {Source.QUORUM: old, Source.DEPLOYMENTS: listed(deployment("a", selector="shard=a"), deployment("b"))}
    )
    assert not [row for row in checks(unshared, "operator pods") if "shard=a" in row["message"]]


def test_deployments_that_may_not_be_read_hide_no_pod() -> None:
    """Who may read pods alone sees what pods show."""
    assert [row["level"] for row in checks(look({Source.DEPLOYMENTS: FORBIDDEN}), "operator pods")] == ["OK"]


def test_an_operator_that_cannot_look_is_not_told_to_start() -> None:
    """It runs: what it lacks is named, and what is unknown leads to that."""
    item = saying({"doing": "CannotLook", "message": "pods is forbidden", "lastLook": ago(900)})
    seen = look({Source.QUORUM: item})
    assert [row["level"] for row in checks(seen, "operator")] == ["CRIT", "CRIT"]
    assert "because the operator cannot look" in checks(seen, "operator")[0]["message"]
    assert checks(seen, "levels")[0]["todo"] == "do what the check operator says"


# --- objects ----------------------------------------------------------------------------------------------------------


def test_a_claim_that_is_not_bound_is_named_with_its_class_and_the_reason() -> None:
    """The storage class and Kubernetes' own warning are there; warnings about others are not."""
    item = claim(3000)
    item["status"]["phase"], item["spec"] = "Pending", {"storageClassName": "fast"}
    events = listed(
        warning("PersistentVolumeClaim", "demo-3000-g1", "ProvisioningFailed", 'storageclass "fast" not found'),
        warning("PersistentVolumeClaim", "other", "ProvisioningFailed", "not ours", seconds=1),
    )
    claims = listed(item, claim(3001), claim(3002))
    seen = look({Source.CLAIMS: claims, Source.WARNINGS: events})
    (row,) = checks(seen, "disks")
    assert "(Pending, storage class fast)" in row["message"]
    assert 'ProvisioningFailed: storageclass "fast" not found' in row["message"]
    assert "create the class or a volume" in row["todo"]


def test_a_deleted_claim_says_whether_its_pod_may_go() -> None:
    """The operator knows whether the quorum needs the disk; without its word the pod is kept."""
    ending = claim(3000)
    ending["metadata"]["deletionTimestamp"] = ago(5)
    claims = listed(ending, claim(3001), claim(3002))
    (row,) = checks(look({Source.CLAIMS: claims}), "disks")
    assert row["todo"].startswith("do not delete the pod")
    said = saying({"waits": [wait("ClaimDeleting", "Degraded", "It is not needed now: delete that pod", 3000)]})
    (row,) = checks(look({Source.CLAIMS: claims, Source.QUORUM: said}), "disks")
    assert row["message"].endswith("its disk goes with its pod. It is not needed now: delete that pod")
    assert row["todo"].startswith("what the message says")


def test_a_pod_that_waits_for_a_mount_is_named_with_the_newest_warning() -> None:
    """A container that is being created shows no reason: the newest warning about its pod has it."""
    waiting = pod(3000)
    waiting["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "message": "containers with unready status"}
    ]
    events = listed(
        warning("Pod", "demo-3000-g1", "FailedMount", 'secret "demo-3000-tls" not found', seconds=5),
        warning("Pod", "demo-3000-g1", "FailedScheduling", "was full", seconds=50),
        warning("Pod", "demo-3000-g1", "Unhealthy", "long ago", seconds=4000),
    )
    seen = look({Source.PODS: listed(waiting, pod(3001), pod(3002)), Source.WARNINGS: events})
    (row,) = checks(seen, "pods")
    assert row["message"].endswith('FailedMount: secret "demo-3000-tls" not found')


def test_a_report_has_no_warnings_about_others() -> None:
    """The archive has the warnings about pods and claims of the quorum, and no others of the namespace."""
    events = listed(warning("Pod", "demo-3000-g1", "FailedMount", "ours"), warning("Pod", "app", "BackOff", "foreign"))
    files = bundle.members(look({Source.WARNINGS: events}), (), {}, tail=1)
    assert "ours" in "".join(files.values())
    assert "foreign" not in "".join(files.values())


@pytest.mark.parametrize(
    ("item", "words", "todo"),
    [
        (
            saying({"waits": [wait("Holding", "Held", "m", 3000), wait("HeldBack", "Held", "m", 3000)]}),
            "has no pod",
            "remove the id from the annotation",
        ),
        (
            saying({"waits": [wait("Starting", "Progress", "", 3000), wait("RevisionMissing", "Degraded", "", 3000)]}),
            "has no pod",
            "restore it",
        ),
        (saying({"waits": [wait("PodRefused", "Degraded", "m", 3000)]}), "has no pod", "remove the cause"),
        (saying(spec={"paused": True}), "has no pod", "kubectl kq resume demo"),
        (saying({"lastLook": ago(4000)}), "has no pod", "start the operator"),
        (saying(), "has no pod", "wait a minute"),
    ],
    ids=["held", "the gravest", "refused", "paused", "no operator", "soon"],
)
def test_a_controller_without_a_pod_says_why(item: Json, words: str, todo: str) -> None:
    """What to do follows from what keeps the operator from creating the pod."""
    item["status"]["controllers"][0]["reason"] = "exceeded quota"
    (row,) = checks(look({Source.QUORUM: item, Source.PODS: listed(*map(pod, IDS[1:]))}), "pods")
    assert words in row["message"]
    assert todo in row["todo"]
    assert ("exceeded quota" in row["message"]) == (item["status"]["lastLook"] != ago(4000))


def test_a_pod_that_no_node_takes_does_not_lead_to_its_log() -> None:
    """It has no log: the wait of the operator, or Kubernetes' description of the pod, has the cause."""
    lonely = pod(3000)
    lonely["spec"] = {}
    lonely["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": "1 node was cordoned"}]
    pods = listed(lonely, pod(3001), pod(3002))
    (row,) = checks(look({Source.PODS: pods}), "pods")
    assert row["todo"] == "kubectl -n kafka describe pod demo-3000-g1"
    item = saying({"waits": [wait("PodUnschedulable", "Degraded", "m", 3000)]})
    (row,) = checks(look({Source.PODS: pods, Source.QUORUM: item}), "pods")
    assert "uncordon" in row["todo"]


def test_what_is_left_of_a_deleted_quorum_is_named() -> None:
    """Objects without their resource are no missing quorum: they are left alone, and it is applied again."""
    seen = look({Source.QUORUM: MISSING})
    page = doctor_page(seen, NOW)
    (row,) = data(page)["checks"]
    assert page.code == CRIT
    assert "3 pods, 3 claims, ConfigMap demo-identity" in row["message"]
    assert "apply the manifest of the quorum again" in row["todo"]
    gone = look(dict.fromkeys((Source.QUORUM, Source.PODS, Source.CLAIMS, Source.RECORD), MISSING))
    assert "are left" not in data(doctor_page(gone, NOW))["checks"][0]["message"]


def test_a_quorum_that_is_being_deleted_and_one_that_is_autoscaled_are_named() -> None:
    """Both are valid specs, and both surprise."""
    ending = quorum()
    ending["metadata"]["deletionTimestamp"] = ago(5)
    assert "is being deleted" in checks(look({Source.QUORUM: ending}), "spec")[0]["message"]
    scaled = saying(SpecAccepted=("True", "Autoscaled", "hpa sets it"))
    (row,) = checks(look({Source.QUORUM: scaled}), "spec")
    assert (row["level"], "delete the autoscaler" in row["todo"]) == ("WARN", True)


# --- migrations, recoveries, pools ------------------------------------------------------------------------------------


def test_what_is_in_the_way_of_a_migration_is_named() -> None:
    """Each blocker has its code, object and way out; one that is not known is UNKNOWN, never OK."""
    blockers: list[Json] = [
        {"code": "OldBroker", "object": "broker 4", "found": "it runs 3.6", "wayOut": "upgrade it"},
        {"code": "BrokerSilent", "object": "broker 5", "found": "no answer", "wayOut": "start it", "unknown": True},
    ]
    seen = look({Source.QUORUM: saying({"preflight": {"passed": False, "blockers": blockers}})})
    rows = checks(seen, "migration")
    assert [(row["level"], row["about"], row["todo"]) for row in rows] == [
        ("WARN", "broker 4", "upgrade it"),
        ("UNKNOWN", "broker 5", "start it"),
    ]
    assert [(row["code"], row["known"], row["unblocks"]) for row in explained(seen, "preflight")] == [
        ("OldBroker", True, "upgrade it"),
        ("BrokerSilent", False, "start it"),
    ]


def test_a_recovery_is_explained_with_its_verdict_and_its_disks() -> None:
    """The rule is that of recoveries, and the evidence is what was read of each disk."""
    shown: Json = {
        "verdict": "NoLossUpToWatermark",
        "plan": "0123456789",
        "disks": [
            {"claimName": "demo-3000-g1", "state": "Read", "endOffset": 121, "lastEpoch": 7},
            {"claimName": "demo-3001-g1", "state": "Lost", "reason": "its claim is gone"},
        ],
    }
    item = saying({"recovery": shown, "waits": [wait("RecoveryProposed", "Held", "a plan waits")]})
    (row,) = explained(look({Source.QUORUM: item}), "waits")
    assert row["rule"].startswith("14, ")
    assert row["evidence"] == (
        "verdict NoLossUpToWatermark, plan 0123456789; disk demo-3000-g1: Read, ends at offset 121 in epoch 7; "
        "disk demo-3001-g1: Lost, its claim is gone"
    )
    assert "kubectl kq recover" in row["unblocks"]


def test_a_voter_of_which_nothing_is_known_is_not_said_to_lag() -> None:
    """Unknown is its own word in the evidence."""
    item = saying({"waits": [wait("AddingVoter", "Progress", "m")]})
    del item["status"]["controllers"][0]["caughtUp"]
    item["status"]["controllers"][2]["caughtUp"] = False
    (row,) = explained(look({Source.QUORUM: item}), "waits")
    assert "not caught up: 3002; voters that are not known to be caught up: 3000" in row["evidence"]


def test_the_certificate_that_ends_first_is_evidence() -> None:
    """A wait about certificates shows which one ends first."""
    status = {"waits": [wait("CertificatesHeld", "Held", "m")]}
    dates = {"validUntil": "2026-02-01T00:00:00Z", "endsFirst": "controller 3000"}
    (row,) = explained(look({Source.QUORUM: saying(status | {"certificates": dates})}), "waits")
    assert row["evidence"] == "controller 3000 ends first, 2026-02-01T00:00:00Z"


@pytest.mark.parametrize(
    ("kind", "status", "reason", "level"),
    [
        ("SpecAccepted", "False", "InvalidSpec", "WARN"),
        ("Available", "False", "PartitionsOffline", "CRIT"),
        ("Available", "False", "PartitionsUnderMinISR", "CRIT"),
        ("Available", "False", "NoBroker", "CRIT"),
        ("Available", "Unknown", "PartitionsUnknown", "UNKNOWN"),
    ],
)
def test_conditions_of_pools_are_named_and_explained(kind: str, status: str, reason: str, level: str) -> None:
    """What no wait of a pool says is a result of doctor and a row of explain, both with what unblocks it."""
    ill = pool()
    ill["status"]["conditions"] = [condition(kind, status, reason, "in its own words")]
    seen = look({Source.POOLS: listed(ill)})
    (row,) = checks(seen, "pools")
    assert (row["level"], row["message"]) == (level, f"Pool brokers: {reason}: in its own words")
    (shown,) = explained(seen, "poolConditions")
    assert shown["unblocks"] == row["todo"]
    assert UNKNOWN_REASON not in row["todo"]


def test_advice_without_words_leads_to_the_page_of_its_kind() -> None:
    """A reason whose row has no advice names the page of pools, if it is one of pools."""
    assert rules.unblocks(rules.POOL, "LostDisk") == "docs/pools.md has more about it"


def test_the_text_fits_the_screen() -> None:
    """With everything that is new the text has at most 100 columns."""
    ill = pool()
    ill["status"]["conditions"] = [
        condition("Available", "False", "NoBroker", "no broker of this pool is unfenced " * 4)
    ]
    item = saying(
        {"preflight": {"blockers": [{"code": "OldBroker", "object": "broker 4", "found": "old " * 40}]}},
        Available=("Unknown", "NoAnswer", "no leader answers " * 9),
    )
    seen = look({Source.QUORUM: item, Source.POOLS: listed(ill), Source.RECORD: record()})
    for page in (doctor_page(seen, NOW), explain_page(seen, NOW)):
        assert max(map(len, as_text(page).splitlines())) <= 100
