"""Every action has a reason for its event, and a sentence."""

import re
from typing import get_args

import pytest
from tests.golden.facts import mentions
from tests.model.values import IDS, bound, claim, directory, key, minted, node, permit, pod, revision, running, runtime
from tests.model.values import write as written
from tests.plan.recovery.lost import copy, rewriting, source, worker

from kafka_quorum.act.narrate import narrate, notices
from kafka_quorum.model import actions as act
from kafka_quorum.model import permit as permits
from kafka_quorum.model import recovery_guards
from kafka_quorum.model.actions import Action, RecordChange
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.disk_work import CompareDisk, CopyDisk, InspectDisk
from kafka_quorum.model.ids import DirectoryID, NodeID
from kafka_quorum.model.material import OPERATOR
from kafka_quorum.model.operation import VoterAddition, VoterRemoval, VoterReplacement
from kafka_quorum.model.plan import Outcome
from kafka_quorum.model.quorum import AddVoter, Endpoint, FeatureStep, RemoveVoter
from kafka_quorum.model.surveyed import LogEnd
from kafka_quorum.model.zookeeper import GiveBack, ZooKeeperAccess
from kit.token import ABSENT

POD = pod(running(), node(running(), 3001))
CLAIM = claim(running(), node(running(), 3001))
DISK = source(running(), 3001)

CONTRACT = Contract(
    cluster_id=bound().cluster_id,
    release="4.4.0",
    image="",
    revision=3,
    settings=(),
    controllers=(),
    controller_ids=(),
)
EVERY: list[tuple[Action, str, str | tuple[str, ...]]] = [
    (
        act.MintIdentity(cluster_id=None, format=minted().format, initial=IDS, others=(), permit=permit(permits.Mint)),
        "IdentityMade",
        "3000, 3001, 3002",
    ),
    (written(bound(), RecordChange.STARTED, "may start"), "Started", "may start"),
    (written(bound(), RecordChange.REVISION, "pods are made"), "RevisionApplied", "pods are made"),
    (act.ApplyService(port=9093), "ServiceApplied", ""),
    (act.ApplyBudget(min_available=2), "BudgetApplied", "2"),
    (act.KeepSpec(resource_version="7"), "SpecKept", ""),
    (act.CreateRevision(name="alpha-x", number=1, runtime=runtime(), inputs_hash="x"), "RevisionCreated", "alpha-x"),
    (act.DeleteRevision(name="alpha-x", uid="u", resource_version="1"), "RevisionDeleted", "alpha-x"),
    (act.CreateConfig(name="cfg", revision=revision(), node_ids=IDS), "ConfigCreated", "cfg"),
    (act.DeleteConfig(name="cfg"), "ConfigDeleted", "cfg"),
    (act.AdoptConfig(name="cfg", resource_version="1"), "ConfigAdopted", "cfg"),
    (act.CreateClaim(node_id=IDS[1], generation=2), "ClaimCreated", "3001"),
    (
        act.AnnotateClaim(claim=CLAIM, directory_id=DirectoryID(directory(3001)), grow_to=None),
        "ClaimAnnotated",
        "alpha-3001-g1",
    ),
    (act.AnnotateClaim(claim=CLAIM, directory_id=None, grow_to="20Gi"), "ClaimGrown", "20Gi"),
    (
        act.AnnotateClaim(
            claim=CLAIM, directory_id=DirectoryID(directory(3001)), grow_to=None, retired=True, kept=True
        ),
        "ClaimRetired",
        (CLAIM.name, directory(3001)),
    ),
    (
        act.AnnotateClaim(claim=CLAIM, directory_id=None, grow_to=None, retired=True),
        "ClaimRetired",
        f"{directory(3001)}",
    ),
    (
        act.DeleteClaim(claim=CLAIM, message="holds no voter", permit=permit(permits.DeleteVolume)),
        "ClaimReleased",
        "holds no voter",
    ),
    (act.SetRecordOwner(resource_version="1"), "RetentionApplied", "retentionPolicy.whenDeleted"),
    (
        act.CreateFormatter(
            node_id=IDS[1],
            revision=revision(),
            config_name="cfg",
            avoid_nodes=(),
            permit=permit(permits.NewcomerFormat),
        ),
        "FormatterCreated",
        "3001",
    ),
    (
        act.CreatePod(node_id=IDS[1], revision=revision(), config_name="cfg", permit=permit(permits.Run)),
        "PodCreated",
        "3001",
    ),
    (
        act.DeletePod(pod=POD, reason="PodFinished", message="has ended", permit=permit(permits.ReplacePod)),
        "PodFinished",
        "has ended",
    ),
    (act.MarkPod(pod=POD, voter=True, gate="True", message="a caught-up voter"), "ControllerReady", "alpha-3001-g1"),
    (act.MarkPod(pod=POD, voter=True, gate="False", message="lags"), "ControllerNotReady", "lags"),
    (act.MarkPod(pod=POD, voter=True, gate="Unknown", message="silent"), "ControllerNotReady", "silent"),
    (
        act.BeginOperation(change=VoterAddition(target=key(3003)), permit=permit(permits.OneChange)),
        "AddVoterBegun",
        str(key(3003)),
    ),
    (
        act.BeginOperation(change=VoterRemoval(target=key(3003)), permit=permit(permits.OneChange)),
        "RemoveVoterBegun",
        str(key(3003)),
    ),
    (
        act.BeginOperation(change=VoterReplacement(target=key(3003)), permit=permit(permits.OneChange)),
        "ReplaceVoterBegun",
        str(key(3003)),
    ),
    (
        act.AddRaftVoter(
            leader=Endpoint(node_id=IDS[0], host="h", port=1),
            request=AddVoter(cluster_id=bound().cluster_id, voter=key(3003), listeners=(), timeout_ms=1),
            judged_at_s=0.0,
            permit=permit(permits.AddVoter),
        ),
        "AddRaftVoter",
        "3000",
    ),
    (
        act.RemoveRaftVoter(
            leader=Endpoint(node_id=IDS[0], host="h", port=1),
            request=RemoveVoter(cluster_id=bound().cluster_id, voter=key(3003)),
            judged_at_s=0.0,
            permit=permit(permits.RemoveVoter),
        ),
        "RemoveRaftVoter",
        (str(key(3003)), "3000"),
    ),
    (
        act.RestartPod(pod=POD, evict=True, message="restarts from revision 2", permit=permit(permits.Restart)),
        "PodRestarted",
        "from revision 2",
    ),
    (
        act.BeginFeatureStep(
            step=FeatureStep(name="metadata.version", level=28), present=27, permit=permit(permits.RaiseLevel)
        ),
        "FeatureStepBegun",
        ("metadata.version", "4.1-IV1 (27)", "4.2-IV0 (28)"),
    ),
    (
        act.BeginFeatureStep(
            step=FeatureStep(name="group.version", level=0, downgrade=True),
            present=1,
            permit=permit(permits.RaiseLevel),
        ),
        "FeatureStepBegun",
        ("group.version", "1", "0"),
    ),
    (
        act.StepFeature(
            leader=Endpoint(node_id=IDS[0], host="h", port=1),
            step=FeatureStep(name="metadata.version", level=28),
            judged_at_s=0.0,
            permit=permit(permits.RaiseLevel),
        ),
        "StepFeature",
        ("metadata.version", "4.2-IV0 (28)", "3000"),
    ),
    (
        act.CureGhost(
            leader=Endpoint(node_id=IDS[0], host="h", port=1),
            node_id=IDS[2],
            listeners=(),
            supported=(),
            message="controller 3002 is unregistered",
            judged_at_s=0.0,
            permit=permit(permits.CureGhost),
        ),
        "GhostCured",
        "controller 3002 is unregistered",
    ),
    (act.ApplyContract(name="alpha-brokers", contract=CONTRACT), "ContractPublished", ("alpha-brokers", "3", "4.4.0")),
    (
        act.TakeToken(seen=ABSENT, message="controller 3001 is restarted next", permit=permit(permits.TakeToken)),
        "DisruptionBegun",
        "3001",
    ),
    (act.GiveToken(seen=ABSENT), "DisruptionEnded", "token"),
    (
        act.GiveBackNodes(
            access=ZooKeeperAccess(connect="zk-0:2181"),
            what=GiveBack(controller=None, migration=None, controller_epoch=None, epoch=None),
            permit=permit(permits.GiveBackZooKeeper),
        ),
        "ZooKeeperGivenBack",
        ("/migration", "/controller", "deleted"),
    ),
    (
        act.MakeAuthority(
            name="alpha-ca", following=False, asked_for="", life_s=1, version="", message="alpha-ca has it"
        ),
        "AuthorityMade",
        "alpha-ca",
    ),
    (
        act.MakeUsers(
            name="alpha-users",
            listeners=("SASL",),
            source="",
            version="",
            message="alpha-users has users",
            permit=permit(permits.GiveUsers),
        ),
        "UsersMade",
        "alpha-users",
    ),
    (
        act.RequestLeaf(name="alpha-operator-cert", holder=OPERATOR, message="alpha-operator-cert asks an issuer"),
        "CertificateRequested",
        "alpha-operator-cert",
    ),
    (
        act.SetScramUser(
            name="alpha-scram",
            user="ada",
            source="users",
            version="",
            leader=Endpoint(node_id=IDS[0], host="h", port=1),
            replaces=False,
            message="user ada is made",
            permit=permit(permits.ChangeUser),
        ),
        "ScramUserMade",
        "ada",
    ),
    (
        act.RemoveScramUser(
            name="alpha-scram",
            user="ada",
            version="1",
            leader=Endpoint(node_id=IDS[0], host="h", port=1),
            message="user ada is removed",
            permit=permit(permits.ChangeUser),
        ),
        "ScramUserRemoved",
        "ada",
    ),
    (
        act.WithdrawAuthority(name="alpha-ca", sha256="ab", version="1", message="alpha-ca has the present one only"),
        "AuthorityWithdrawn",
        "alpha-ca",
    ),
    (
        act.PromoteAuthority(
            name="alpha-ca", sha256="ab", version="1", message="alpha-ca has it", permit=permit(permits.EndAuthority)
        ),
        "AuthorityEnded",
        "alpha-ca",
    ),
    (
        act.ComposeLeaf(
            name="alpha-operator-tls",
            holder=OPERATOR,
            generation=2,
            dns_names=(),
            life_s=1,
            authority="ab",
            trust="",
            before=None,
            message="certificate 2 of the operator",
            permit=permit(permits.ShowLeaf),
        ),
        "CertificateMade",
        "certificate 2",
    ),
    (
        act.ReloadListener(
            leader=Endpoint(node_id=IDS[0], host="h", port=1),
            node_id=IDS[1],
            listener="CONTROLLER",
            sha256="ab",
            message="controller 3001 loads it",
            permit=permit(permits.Reload),
        ),
        "CertificateLoaded",
        "3001",
    ),
    (act.FinishOperation(id="x", reason="Completed", message="is added"), "OperationCompleted", "is added"),
    (act.CreateInspector(work=InspectDisk(source=DISK), revision=revision()), "DiskInspected", "alpha-3001-g1"),
    (
        act.CreateInspector(
            work=CompareDisk(source=DISK, epochs=(), end=LogEnd(epoch=7, offset=500)), revision=revision()
        ),
        "DiskCompared",
        "alpha-3001-g1",
    ),
    (
        act.CreateCopy(
            name="alpha-3001-g1-copy-0123456789",
            claim=CLAIM,
            node_id=IDS[1],
            epoch=1,
            permit=permit(recovery_guards.CopyDisks),
        ),
        "CopyCreated",
        ("alpha-3001-g1-copy-0123456789", CLAIM.name),
    ),
    (
        act.CreateCopier(
            work=CopyDisk(source=DISK, copy="alpha-3001-g1-copy-0123456789", epoch=1),
            revision=revision(),
            permit=permit(recovery_guards.CopyDisks),
        ),
        "DiskCopied",
        "alpha-3001-g1-copy-0123456789",
    ),
    (
        act.CreateRewriter(work=rewriting(), revision=revision(), permit=permit(recovery_guards.Rewrite)),
        "LogRewritten",
        (str(key(3000)), "offset 500 in epoch 7"),
    ),
    (
        act.DeleteWorker(worker=worker(InspectDisk(source=DISK), None), message="it is not needed any more"),
        "DiskPodDeleted",
        "not needed",
    ),
    (
        act.DeleteCopy(
            copy=copy("alpha-3001-g1-copy-0123456789"),
            message="a person released it",
            permit=permit(recovery_guards.ReleaseDisks),
        ),
        "CopyReleased",
        "released",
    ),
]


@pytest.mark.parametrize(("action", "reason", "words"), EVERY, ids=lambda value: type(value).__name__)
def test_narrated(action: Action, reason: str, words: str | tuple[str, ...]) -> None:
    """The reason is CamelCase, and the sentence names the object of the action."""
    said, note = narrate(action)
    assert said == reason
    assert re.fullmatch("[A-Z][A-Za-z]+", said)
    assert all(word in note for word in ((words,) if isinstance(words, str) else words))


def test_an_event_says_nothing_too_early() -> None:
    """When a stage begins, its event does not say that what the stage is for is done already."""
    changes = (RecordChange.COPY_METADATA, RecordChange.GIVE_BACK)
    assert [narrate(written(bound(), change, "a stage begins"))[0] for change in changes] == [
        "BrokersMigrate",
        "GivingZooKeeperBack",
    ]


def test_nothing_is_left_out() -> None:
    """The table has every kind of action."""
    assert {type(action) for action, _, _ in EVERY} == set(get_args(Action))


def outcome(action: Action, message: str, *, done: bool = True, held: bool = False) -> Outcome:
    """The outcome of an action."""
    return Outcome(action=action, done=done, unknown=False, held=held, message=message)


def claim_of(node_id: NodeID) -> act.CreateClaim:
    """A claim for this controller."""
    return act.CreateClaim(node_id=node_id, generation=1)


def test_same_act_of_several_controllers_is_one_event() -> None:
    """The same action for three controllers in one pass is one event that names all three."""
    (notice,) = notices(outcome(claim_of(node), narrate(claim_of(node))[1]) for node in IDS[:3])
    assert (notice.reason, notice.warning) == ("ClaimCreated", False)
    assert mentions(notice.message, 3000, 3001, 3002)


def test_failures_that_differ_in_numbers_are_one_series() -> None:
    """A failure that repeats with other numbers belongs to the same series."""
    said = ("the look is 2.3 s old", "the look is 14 s old")
    first, second = (notices([outcome(claim_of(IDS[0]), text, done=False)])[0] for text in said)
    assert first.series == second.series
    assert (first.reason, first.warning, first.message) == ("ActionFailed", True, said[0])


def test_what_was_put_off_is_no_event() -> None:
    """An outcome that is held, for example by a disruption budget, is no event."""
    assert notices([outcome(claim_of(IDS[0]), "later", done=False, held=True)]) == ()
