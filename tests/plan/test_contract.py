"""The broker contract: published with the identity, in step with the controllers, and its revision never goes down."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.certificates import leaf_seen, looked, material, recorded, wanted, with_leaf
from tests.model.values import (
    at_rest,
    bound,
    claim_uid,
    desired,
    directory,
    key,
    minted,
    mirrored,
    revision,
    running,
    runtime,
    saying,
    situation,
    speaking,
    with_pod,
)
from tests.plan.reading import every, planned

from kafka_quorum.model.actions import ApplyContract
from kafka_quorum.model.contract import Contract, Match, StoredContract
from kafka_quorum.model.desired import BootstrapMode, ControllerListener, Desired, Protocol
from kafka_quorum.model.identity import with_claim, with_nodes, with_report, with_revision, without_node
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, Material, UsersSeen
from kafka_quorum.model.names import keystore_file, trust_file
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity
from kafka_quorum.plan.brokers.contract import CERTIFICATE_ENDED, FILES_MISSING, contract
from kafka_quorum.plan.facts.contract import due_contract
from kafka_quorum.plan.part import Part

OLD, NEW = runtime(release="4.3.0"), runtime(release="4.4.0")


def looking(look: Observed, stored: Contract | None, *, adrift: bool = False) -> Observed:
    """The same look with this stored contract."""
    value = None if stored is None else StoredContract(contract=stored, adrift=adrift)
    return replace(look, contract=Known(value=value))


def published(look: Observed, stored: Contract | None = None, wanted: Desired | None = None) -> Contract | None:
    """The contract that the plan writes, if it writes one."""
    found = every(planned(looking(look, stored), wanted or desired()), ApplyContract)
    return found[0].contract if found else None


def first(look: Observed | None = None, wanted: Desired | None = None) -> Contract:
    """The contract of a quorum, as it is then stored."""
    made = published(look or at_rest(), None, wanted)
    assert made is not None
    return replace(made, resource_version="5")


def hosts(*node_ids: int) -> str:
    """The addresses of controllers."""
    return ",".join(f"alpha-{node_id}.alpha-controllers.kafka.svc:9093" for node_id in node_ids)


def settings(of: Contract) -> dict[str, tuple[str, Match]]:
    """The settings by key."""
    return {each.key: (each.value, each.match) for each in of.settings}


def test_published_with_the_identity() -> None:
    """As soon as there is a record, before a disk or a pod exists, the contract is complete."""
    made = first(at_rest(minted()))
    assert settings(made) == {
        "controller.quorum.bootstrap.servers": (hosts(3000, 3001, 3002), Match.SOME),
        "controller.quorum.voters": ("", Match.UNSET),
        "controller.listener.names": ("CONTROLLER", Match.HAS),
        "listener.security.protocol.map": ("CONTROLLER:PLAINTEXT", Match.HAS),
    }
    assert (made.revision, made.release, made.image) == (1, "4.4.0", "")
    assert made.controllers == tuple(hosts(3000, 3001, 3002).split(","))
    assert made.controller_ids == (3000, 3001, 3002)


def secured(protocol: Protocol, stored: Contract | None = None, **changes: Any) -> Contract:  # noqa: ANN401 - any field
    """What a quorum publishes whose controllers' listener is secured."""
    listener = ControllerListener(name="CONTROLLER", port=9093, protocol=protocol)
    of = runtime(listener=listener, **{"trust": "authority", "certificates": 3, **changes})
    runs = revision(of)
    record = replace(running(), listener=listener, applied_revision=runs.name)
    look = at_rest(record, revisions=(runs,), material=with_files(trust_file(of.trust), keystore_file(of.certificates)))
    made = published(look, stored, desired(runtime=of))
    assert made is not None
    return replace(made, resource_version="5")


def with_files(*files: str) -> Material:
    """The brokers' Secret has these files."""
    leaf = leaf_seen(BROKERS, generation=3, files=frozenset(files))
    users = UsersSeen(listeners=frozenset({"CONTROLLER"}), version="1")
    return Material(own=Unknown(reason=""), leafs=((BROKERS, Known(value=leaf)),), users=Known(value=users))


TRUST = trust_file("authority")
_SSL = "listener.name.controller.ssl"


def test_mutual_tls() -> None:
    """Brokers of controllers with mutual TLS need the files of one Secret: trust by its digest, keys by generation."""
    made = secured(Protocol.SSL)
    assert made.secrets == ("alpha-brokers-tls",)
    has = settings(made)
    assert has["listener.security.protocol.map"] == ("CONTROLLER:SSL", Match.HAS)
    assert {key: value for key, value in has.items() if key.startswith("listener.name")} == {
        f"{_SSL}.keystore.location": ("keystore-3.pem", Match.FILE),
        f"{_SSL}.keystore.type": ("PEM", Match.EQUALS),
        f"{_SSL}.truststore.location": (TRUST, Match.FILE),
        f"{_SSL}.truststore.type": ("PEM", Match.EQUALS),
    }


def test_users_in_tls() -> None:
    """Brokers of controllers with SASL_SSL need the trust, and a user, of which the contract has only the mechanism."""
    made = secured(Protocol.SASL_SSL)
    assert made.secrets == ("alpha-brokers-tls",)
    has = settings(made)
    assert has["listener.security.protocol.map"] == ("CONTROLLER:SASL_SSL", Match.HAS)
    assert has["sasl.mechanism.controller.protocol"] == ("PLAIN", Match.EQUALS)
    assert has[f"{_SSL}.truststore.location"] == (TRUST, Match.FILE)
    assert f"{_SSL}.keystore.location" not in has


@pytest.mark.parametrize("changes", [{"trust": "another"}, {"certificates": 4}])
def test_another_file_is_another_revision(changes: dict[str, Any]) -> None:
    """Other authorities, or renewed certificates, are something that a running broker must follow."""
    before = secured(Protocol.SSL)
    assert secured(Protocol.SSL, before, **changes).revision == before.revision + 1


@pytest.mark.parametrize(
    ("material", "severity", "words"),
    [
        (None, Severity.PROGRESS, "keystore-4.pem"),
        (with_files(TRUST, "keystore-3.pem"), Severity.PROGRESS, "keystore-4.pem"),
        (replace(with_files(), leafs=((BROKERS, Known(value=None)),)), Severity.PROGRESS, "keystore-4.pem"),
        (replace(with_files(), leafs=((BROKERS, Unknown(reason="it is foreign")),)), Severity.HELD, "it is foreign"),
    ],
    ids=["not read yet", "earlier files", "lost", "foreign"],
)
def test_files_that_the_secret_lacks_are_not_published(
    material: Material | None, severity: Severity, words: str
) -> None:
    """The earlier contract stays until the brokers' Secret is known to have what the next one names."""
    listener = ControllerListener(name="CONTROLLER", port=9093, protocol=Protocol.SSL)
    before = secured(Protocol.SSL)
    runs = revision(runtime(listener=listener, trust="authority", certificates=4))
    record = replace(running(), listener=listener, applied_revision=runs.name)
    look = looking(at_rest(record, revisions=(runs,), material=material), before)
    found = contract(situation(desired(runtime=runs.runtime), look, record))
    assert found.actions == ()
    assert [(wait.severity, wait.reason, words in wait.message) for wait in found.waits] == [
        (severity, FILES_MISSING, True)
    ]
    first_one = contract(situation(desired(runtime=runs.runtime), looking(look, None), record))
    assert (first_one.actions, len(first_one.waits)) == ((), 1)
    ready = replace(look, material=with_files(TRUST, "keystore-4.pem"))
    assert len(contract(situation(desired(runtime=runs.runtime), ready, record)).actions) == 1


def test_an_ended_certificate_is_not_published() -> None:
    """Brokers restart for what the contract names: no file that has a certificate which has ended, now or before."""
    listener = ControllerListener(name="CONTROLLER", port=9093, protocol=Protocol.SSL)
    runs = revision(runtime(listener=listener, trust="authority", certificates=4))
    record = replace(running(), listener=listener, applied_revision=runs.name)
    leaf = leaf_seen(BROKERS, files=frozenset({TRUST, "keystore-4.pem"}))
    end_s = leaf.ends_s

    def at(now_s: float, generation: int, before_ends_s: int = 0) -> Part:
        changed = replace(leaf, generation=generation, before_ends_s=before_ends_s)
        material = with_leaf(with_files(), BROKERS, changed)
        look = looking(at_rest(record, revisions=(runs,), material=material), secured(Protocol.SSL))
        return contract(situation(desired(runtime=runs.runtime), look, record, now_s=now_s))

    assert len(at(end_s - 1, generation=4).actions) == 1
    for held in (at(end_s, generation=4), at(end_s - 1, generation=5, before_ends_s=end_s - 1)):
        assert held.actions == ()
        assert [(wait.severity, wait.reason) for wait in held.waits] == [(Severity.HELD, CERTIFICATE_ENDED)]
    assert len(at(end_s - 1, generation=5, before_ends_s=end_s).actions) == 1


def test_the_generation_of_pools_certificates() -> None:
    """It is told where no setting names the file; a renewal changes nothing that a broker must follow."""
    made = secured(Protocol.SASL_SSL)
    assert (made.certificates, secured(Protocol.SSL).certificates, first().certificates) == (3, 0, 0)
    again = secured(Protocol.SASL_SSL, replace(made, resource_version="5"), certificates=4)
    assert (again.certificates, again.revision) == (4, made.revision)


def test_a_number_above_all_others_is_no_generation_of_the_contract() -> None:
    """A person may have written it into the brokers' Secret: the true ends stay, and such numbers go again."""
    certified = recorded()
    seen, end_s = material(certified), leaf_seen(BROKERS).ends_s

    def ends(generation: int, old: Contract | None, *, of: Material = seen) -> tuple[tuple[int, int], ...]:
        leaf = leaf_seen(BROKERS, generation=generation, before_ends_s=end_s)
        look = looked(certified, with_leaf(of, BROKERS, leaf))
        return due_contract(situation(wanted(), look, certified), old, may_go_down=False).certificate_ends

    look = looked(certified, seen)
    right = due_contract(situation(wanted(), look, certified), None, may_go_down=False)
    assert right.certificate_ends == ((1, end_s),)
    assert ends(1000, right) == right.certificate_ends
    wrong = replace(right, certificate_ends=((1, end_s), (999, 1), (1000, 2)))
    assert ends(1, wrong) == right.certificate_ends
    unread = replace(seen, leafs=tuple((one, Unknown(reason="no answer")) for one, _ in seen.leafs))
    assert ends(2, wrong, of=unread) == wrong.certificate_ends


def test_nothing_to_write_at_rest() -> None:
    """A stored contract that is as it should be is not written again, except to repair labels and owner."""
    assert published(at_rest(), first()) is None
    adrift = looking(at_rest(), first(), adrift=True)
    assert [one.contract for one in every(planned(adrift), ApplyContract)] == [first()]


def test_unknown_is_not_absent() -> None:
    """A contract that cannot be read is not written over: a person is told."""
    look = replace(at_rest(), contract=Unknown(reason="ConfigMap alpha-brokers is no broker contract"))
    said = planned(look)
    assert every(said, ApplyContract) == []
    assert [wait.reason for wait in said.waits] == ["ContractUnreadable"]


def test_paused() -> None:
    """While paused, nothing is published."""
    assert published(at_rest(), None, desired(paused=True)) is None


def test_static_voters() -> None:
    """Brokers of a static quorum need its exact voters, until no controller is made with them any more."""
    static = replace(bound(mode=BootstrapMode.STATIC))
    made = first(at_rest(static))
    voters = ",".join(f"{node}@{hosts(node)}" for node in (3000, 3001, 3002))
    assert settings(made)["controller.quorum.voters"] == (voters, Match.EQUALS)
    assert "controller.quorum.bootstrap.servers" not in settings(made)


def test_the_static_form_stays_until_every_controller_has_left_it() -> None:
    """While one controller still runs with static voters the contract keeps them; then its revision goes up."""
    with_voters = revision(runtime(static_voters=(NodeID(3000), NodeID(3001), NodeID(3002))), number=2)
    record = running()
    look = replace(at_rest(record), revisions=(revision(), with_voters))
    half = with_pod(look, 3001, revision=with_voters.name)
    static = first(half)
    assert settings(static)["controller.quorum.voters"][1] is Match.EQUALS
    after = published(look, static)
    assert after is not None
    assert settings(after)["controller.quorum.voters"][1] is Match.UNSET
    assert (after.revision, after.resource_version) == (2, "5")


def test_revision_stays_while_the_lists_overlap() -> None:
    """Controllers come and go without a new revision, as long as a broker of that revision still finds one of them."""
    four = with_claim(with_nodes(running(), (NodeID(3003),)), NodeID(3003), claim_uid(3003))
    four = with_report(four, NodeID(3003), directory(3003))
    grown = published(at_rest(four), first(), desired(replicas=4))
    assert grown is not None
    assert (grown.revision, grown.controller_ids) == (1, (3000, 3001, 3002, 3003))
    # 3000 to 3002 leave one by one: the base stays the first list, whatever was listed in between.
    last = grown
    for leaving in (3000, 3001):
        four = without_node(four, NodeID(leaving))
        found = published(at_rest(four), replace(last, resource_version="6"), desired(replicas=len(four.nodes)))
        assert found is not None
        last = found
        assert last.revision == 1
    alone = without_node(four, NodeID(3002))
    moved = published(at_rest(alone), replace(last, resource_version="6"), desired(node_ids=(NodeID(3003),)))
    assert moved is not None
    assert (moved.revision, moved.base) == (2, (hosts(3003),))


def test_a_lost_contract_does_not_begin_again() -> None:
    """If the ConfigMap is deleted, the next one has a higher revision than the status ever reported."""
    look = at_rest(status=mirrored(running(), contract_revision=7))
    made = published(look)
    assert made is not None
    assert made.revision == 8


def test_a_contract_of_another_cluster() -> None:
    """A contract with another cluster id is replaced, with a higher revision."""
    found = published(at_rest(), replace(first(), cluster_id=key(1).directory_id, revision=4))  # type: ignore[arg-type]
    assert found is not None
    assert (found.revision, found.cluster_id) == (5, running().cluster_id)


def rolling(moved: tuple[int, ...], *, from_: str, to: str) -> Observed:
    """A quorum whose controllers `moved` run the release `to`, and the others `from_`."""
    old, new = revision(runtime(release=from_)), revision(runtime(release=to), number=2)
    record = replace(running(), applied_revision=old.name)
    if len(moved) == len(record.nodes):
        record = replace(record, applied_revision=new.name)
    else:
        record = with_revision(record, new.name, map(NodeID, moved))
    return replace(speaking(record, saying(min(from_, to))), revisions=(old, new))


@pytest.mark.parametrize(("moved", "release"), [((), "4.3.0"), ((3000, 3001), "4.3.0"), ((3000, 3001, 3002), "4.4.0")])
def test_release_follows_the_controllers_up(moved: tuple[int, ...], release: str) -> None:
    """On the way up brokers get the new release when every controller runs it, and not before."""
    before = first(rolling((), from_="4.3.0", to="4.4.0"), desired(runtime=OLD))
    assert before.release == "4.3.0"
    look = rolling(moved, from_="4.3.0", to="4.4.0")
    found = published(look, before, desired(runtime=NEW)) or before
    assert (found.release, found.revision) == (release, 1)
    assert first(look, desired(runtime=NEW)).release == release


def test_release_waits_for_the_last_to_catch_up() -> None:
    """A last controller that runs the new release and has not caught up holds the contract back."""
    look = rolling((3000, 3001, 3002), from_="4.3.0", to="4.4.0")
    before = first(rolling((), from_="4.3.0", to="4.4.0"), desired(runtime=OLD))
    assert isinstance(look.quorum, Known)
    view = look.quorum.value
    lagging = replace(view, caught_up=view.caught_up - {key(3002)})
    found = published(replace(look, quorum=Known(value=lagging)), before, desired(runtime=NEW))
    assert (found or before).release == "4.3.0"


def test_release_precedes_the_controllers_down() -> None:
    """On the way down brokers get the older release at once, before a controller has it."""
    before = first(rolling((), from_="4.4.0", to="4.3.0"), desired(runtime=NEW))
    look = replace(speaking(said=saying("4.3.0")), revisions=(revision(), revision(OLD, number=2)))
    found = published(look, before, desired(runtime=OLD))
    assert found is not None
    assert (found.release, found.revision) == ("4.3.0", 1)
    assert "go back to Kafka 4.3.0" in found.next_step


def test_a_release_that_the_levels_exclude_is_not_published() -> None:
    """An older release that cannot read the finalized levels is requested of no broker."""
    before = first(speaking())
    found = published(speaking(), before, desired(runtime=OLD))
    assert (found or before).release == "4.4.0"
