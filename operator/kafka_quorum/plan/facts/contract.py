"""What the quorum requires of brokers now: the contract that shall be published, from the record and the spec.

The settings follow the controllers that exist. The release follows them on the way up, and precedes them on the way
down: so no broker is ever newer than a controller.
"""

from dataclasses import replace

from kafka_quorum.model.beside import began_beside
from kafka_quorum.model.contract import Contract, Match, Setting
from kafka_quorum.model.desired import ControllerListener, Runtime
from kafka_quorum.model.generations import FIRST, newest
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR
from kafka_quorum.model.migration import FoundBy, Keeper, Listens
from kafka_quorum.model.names import host_name
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.trust import IssuerKind
from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kafka_quorum.plan.facts.formats import release_numbers
from kafka_quorum.plan.facts.migrating import overlay_of_brokers
from kafka_quorum.plan.facts.preflight import ACL, IBP, STANDARD
from kafka_quorum.plan.facts.secured import secrets_for, secured
from kit.text import name

BOOTSTRAP = "controller.quorum.bootstrap.servers"
VOTERS = "controller.quorum.voters"
LISTENER_NAMES = "controller.listener.names"
_ENDS_MAX = 8
"""A broker that is older than so many generations is judged by the oldest of them."""
_NOTHING_NEXT = "nothing. A broker that has these settings needs no change"


def due_contract(situation: Situation, old: Contract | None, *, may_go_down: bool, least_revision: int = 1) -> Contract:
    """The contract that shall be stored in place of `old`.

    `may_go_down`: the levels allow the release of the spec if it is older than that of the contract. `least_revision`
    is the lowest revision that it may have.
    """
    record = situation.record
    settings = _settings(situation)
    made_from = _released(situation, old, may_go_down=may_go_down)
    addresses = _addresses(situation)
    due = Contract(
        cluster_id=record.cluster_id,
        release=name(made_from[0]),
        image=name(made_from[1]),
        revision=least_revision,
        settings=settings,
        controllers=addresses,
        controller_ids=record.node_ids,
        next_step=_next_step(situation, made_from[0]),
        secrets=secrets_for(settings, situation.desired.name),
        base=addresses,
        young=not record.had_leader and not began_beside(situation),  # a cluster of ZooKeeper has brokers
        zookeeper=_zookeeper(situation),
        certificates=_certificates(situation, settings),
        given=_is_given(situation, settings),
        principals=_principals(situation, old) if _is_given(situation, settings) else (),
        certificate_ends=_certificate_ends(situation, old, settings),
    )
    if old is None:
        return due
    due = replace(due, resource_version=old.resource_version)
    if _must_follow(old, due):
        return replace(due, revision=max(old.revision + 1, least_revision))
    return replace(due, revision=max(old.revision, least_revision), base=old.base or old.controllers)


def _certificates(situation: Situation, settings: tuple[Setting, ...]) -> int:
    """Brokers show no certificate to controllers with SASL_SSL, so no setting names the file of pools' listeners."""
    named = any(each.match is Match.FILE and each.key.endswith(".keystore.location") for each in settings)
    return 0 if named or not secrets_for(settings, situation.desired.name) else situation.runtime.certificates


def _is_given(situation: Situation, settings: tuple[Setting, ...]) -> bool:
    """Whether a person gives the certificates. Of cert-manager the operator asks for those of pools, too."""
    person = situation.desired.trust.issuer.kind is IssuerKind.SECRET
    return person and bool(secrets_for(settings, situation.desired.name))


def _principals(situation: Situation, old: Contract | None) -> tuple[str, ...]:
    """The users of brokers and of the operator at listeners with mutual TLS. Unknown changes nothing."""
    material = situation.observed.material
    seen = [] if material is None else [material.leaf(holder) for holder in (BROKERS, OPERATOR)]
    leafs = [each.value for each in seen if isinstance(each, Known) and each.value is not None]
    if len(leafs) != len((BROKERS, OPERATOR)):
        return () if old is None else old.principals
    return tuple(f"User:{leaf.certificate.subject}" for leaf in leafs)


def _certificate_ends(
    situation: Situation, old: Contract | None, settings: tuple[Setting, ...]
) -> tuple[tuple[int, int], ...]:
    """The ends of the last generations of the brokers' certificates. Unknown changes nothing."""
    if not secrets_for(settings, situation.desired.name):
        return ()
    known = {} if old is None else dict(old.certificate_ends)
    material = situation.observed.material
    seen = Unknown(reason="") if material is None else material.leaf(BROKERS)
    if material is not None and isinstance(seen, Known) and (leaf := seen.value) is not None:
        latest = max(newest(material, situation.observed, situation.record), FIRST)
        if material.knows_leading:  # a number above all others, which anybody may have written there, is corrected
            known = {number: end_s for number, end_s in known.items() if number <= latest}
        if leaf.generation > latest:
            return tuple(sorted(known.items()))
        if leaf.before_ends_s and leaf.generation > 1:
            known.setdefault(leaf.generation - 1, leaf.before_ends_s)
        known[leaf.generation] = leaf.ends_s
    return tuple(sorted(known.items()))[-_ENDS_MAX:]


def is_published(situation: Situation) -> bool:
    """Whether the stored contract has the settings that brokers must have now."""
    stored = situation.observed.contract
    return (
        isinstance(stored, Known)
        and stored.value is not None
        and stored.value.contract.settings == _settings(situation)
        and stored.value.contract.zookeeper == _zookeeper(situation)
    )


def why_not_published(situation: Situation) -> str:
    """Why no broker can be judged by the stored contract; empty if it can, or if there is no broker."""
    brokers = situation.observed.brokers
    if is_published(situation) or (isinstance(brokers, Known) and not brokers.value):
        return ""
    return f"ConfigMap {situation.desired.name}-brokers does not have the present broker contract"


def _zookeeper(situation: Situation) -> ZooKeeperAccess | None:
    """The ZooKeeper that brokers use now, if they use one."""
    if overlay_of_brokers(situation).keeper not in (Keeper.PLAIN, Keeper.MIGRATES):
        return None
    migrate = situation.desired.migrate
    beside = situation.runtime.zookeeper or (None if migrate is None else migrate.beside)
    return None if beside is None else beside.access


def _settings(situation: Situation) -> tuple[Setting, ...]:
    """The settings of brokers: of KRaft, or of a stage of the migration from ZooKeeper."""
    match overlay_of_brokers(situation).keeper:
        case Keeper.NONE:
            # A broker whose owner still has ZooKeeper's authorizer in its settings would not start.
            return (*(_authorizer(situation) if began_beside(situation) else ()), *_of_kraft(situation))
        case Keeper.PLAIN:
            return (
                _OLD_LEVEL,
                _MIGRATES_NOT,
                *_old_authorizer(situation),
                Setting(key=VOTERS, value="", match=Match.UNSET),
                # Without migration mode, a broker of ZooKeeper that has it does not start (KafkaConfig of 3.9).
                Setting(key=LISTENER_NAMES, value="", match=Match.UNSET),
            )
        case Keeper.MIGRATES:
            migrates = Setting(key=MIGRATION, value="true", match=Match.EQUALS)
            return (_OLD_LEVEL, migrates, *_old_authorizer(situation), *_of_kraft(situation))
        case Keeper.RETURNS:
            role = Setting(key="process.roles", value="broker", match=Match.EQUALS)
            return (role, _MIGRATES_NOT, *_authorizer(situation), *_of_kraft(situation))


MIGRATION = "zookeeper.metadata.migration.enable"
_OLD_LEVEL = Setting(key="inter.broker.protocol.version", value=",".join(IBP), match=Match.ONE_OF)
_MIGRATES_NOT = Setting(key=MIGRATION, value="false", match=Match.EQUALS)


def _authorizer(situation: Situation) -> tuple[Setting, ...]:
    """Brokers of ZooKeeper that have ACLs need another authorizer in KRaft: that of the controllers."""
    name_ = dict(situation.runtime.config).get("authorizer.class.name")
    return (Setting(key="authorizer.class.name", value=name_, match=Match.EQUALS),) if name_ else ()


def _old_authorizer(situation: Situation) -> tuple[Setting, ...]:
    """With ZooKeeper brokers cannot have KRaft's authorizer: they do not answer then (measured on 3.9.2)."""
    if dict(situation.runtime.config).get("authorizer.class.name") != STANDARD:
        return ()
    return (Setting(key="authorizer.class.name", value=ACL, match=Match.EQUALS),)


def _of_kraft(situation: Situation) -> tuple[Setting, ...]:
    listener = listener_of_brokers(situation)
    return (
        *_found_by(situation),
        Setting(key=LISTENER_NAMES, value=listener.name, match=_names_match(situation, listener)),
        Setting(
            key="listener.security.protocol.map", value=f"{listener.name}:{listener.protocol.value}", match=Match.HAS
        ),
        *secured(listener, situation.runtime),
    )


def listener_of_brokers(situation: Situation) -> ControllerListener:
    """The controllers' listener that brokers must use now."""
    reached = situation.record.migration
    change = None if reached is None else reached.listeners
    if reached is None or change is None:
        return situation.runtime.listener
    return change.new if reached.present.brokers.listens is Listens.NEW else change.old


def _names_match(situation: Situation, listener: ControllerListener) -> Match:
    """A broker uses the first of its listeners of controllers. So it may have no other one once they are changed.

    Before that the setting stays as brokers have it: they need no restart.
    """
    stored = situation.observed.contract
    before = stored.value.contract.setting(LISTENER_NAMES) if isinstance(stored, Known) and stored.value else None
    if before is None or not before.value:
        return Match.HAS
    return before.match if before.value == listener.name else Match.EQUALS


def _found_by(situation: Situation) -> tuple[Setting, ...]:
    """How brokers find the controllers."""
    record = situation.record
    if overlay_of_brokers(situation).found_by is FoundBy.VOTERS:
        pairs = zip(record.node_ids, _addresses(situation), strict=True)
        voters = ",".join(f"{node_id}@{address}" for node_id, address in pairs)
        return (Setting(key=VOTERS, value=voters, match=Match.EQUALS),)
    return (
        Setting(key=BOOTSTRAP, value=",".join(_addresses(situation)), match=Match.SOME),
        Setting(key=VOTERS, value="", match=Match.UNSET),
    )


def _addresses(situation: Situation) -> tuple[str, ...]:
    desired, port = situation.desired, listener_of_brokers(situation).port
    ids = situation.record.node_ids
    return tuple(f"{host_name(desired.namespace, desired.member(node_id))}:{port}" for node_id in ids)


def _released(situation: Situation, old: Contract | None, *, may_go_down: bool) -> tuple[str, str]:
    """The release and the image that brokers shall run."""
    wanted = situation.runtime
    applied = situation.observed.revision(situation.record.applied_revision)
    if old is None:
        present = wanted if applied is None or everywhere(situation) else applied.runtime
        return min((_pair(present), _pair(wanted)), key=_numbers) if may_go_down else _pair(present)
    before = (old.release, old.image)
    if everywhere(situation) or (may_go_down and _numbers(_pair(wanted)) < _numbers(before)):
        return _pair(wanted)
    return before


def everywhere(situation: Situation) -> bool:
    """Whether every controller is made from the target revision, runs, and is caught up."""
    observed = situation.observed
    if situation.older or not isinstance(observed.quorum, Known):
        return False
    view = observed.quorum.value
    return all(node.key in view.caught_up and observed.serving(node.node_id) for node in situation.record.nodes)


def _pair(runtime: Runtime) -> tuple[str, str]:
    return runtime.release, runtime.image


def _numbers(pair: tuple[str, str]) -> tuple[int, ...]:
    return release_numbers(pair[0])


def _must_follow(old: Contract, due: Contract) -> bool:
    """Whether a running broker that follows the old contract has to be changed to follow the new one.

    A setting that is not required any more may stay.
    """
    exact = [{one for one in each.settings if one.match is not Match.SOME} for each in (old, due)]
    first_contacts = [{one.key for one in each.settings if one.match is Match.SOME} for each in (old, due)]
    unknown = not set(old.base or old.controllers) & set(due.controllers)
    other = old.cluster_id != due.cluster_id or (old.zookeeper is None) != (due.zookeeper is None)
    return other or not exact[1] <= exact[0] or first_contacts[0] != first_contacts[1] or unknown


def _next_step(situation: Situation, release: str) -> str:
    """One sentence that changes only when the contract is about to change."""
    wanted = situation.runtime.release
    if release_numbers(wanted) > release_numbers(release):
        return f"Kafka {wanted}, when every controller runs it. Brokers must not run it before"
    if (reached := situation.record.migration) is not None and reached.present.brokers_next:
        return reached.present.brokers_next
    if situation.older and release_numbers(wanted) < _newest(situation):
        return f"the controllers go back to Kafka {wanted}, when no broker runs a later release any more"
    return _NOTHING_NEXT


def _newest(situation: Situation) -> tuple[int, ...]:
    """The newest release that a controller is made from."""
    made = (situation.revision_of(node) for node in situation.record.nodes)
    return max((release_numbers(each.runtime.release) for each in made if each is not None), default=())
