"""Rule 13: the gates of a change of authorities, by handshakes with the listeners themselves. Unknown is a no."""

from collections.abc import Callable, Iterable, Iterator

from kafka_quorum.model.bundles import bundle_of, has_authority, is_too_large, together
from kafka_quorum.model.certified import holders
from kafka_quorum.model.conformance import why_brokers_hold
from kafka_quorum.model.desired import ControllerListener, Protocol
from kafka_quorum.model.generations import complete
from kafka_quorum.model.handshakes import Handshake, Served, refuses_client
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import OPERATOR, Holder, Material, controller
from kafka_quorum.model.migration import TrustChange
from kafka_quorum.model.permit import ChangedTrust, DropOld, TrustNew, TurnTrust
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.trust import IssuerKind
from kafka_quorum.plan.facts.contract import everywhere, why_not_published
from kafka_quorum.plan.facts.room import why_no_room
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless


@guard(TrustNew)
def may_trust_new(situation: Situation) -> Answer:
    """Rule 13: the new authority signs when every listener accepts a client of it, and every broker trusts it.

    Listeners with SASL_SSL ask for no client's certificate: what their controllers are made from counts.
    """
    first = "Waiting to sign certificates with the new authority"
    material, change = situation.observed.material, _change(situation)
    if material is not None and change is not None and not situation.desired.trust.issuer.own:
        return _given_trusts_new(situation, material, change)
    return _after_handshakes(situation, first, "has not accepted a certificate of the new authority", _accepts)


@guard(DropOld)
def may_drop_old(situation: Situation) -> Answer:
    """Rule 13: the earlier authority is given up when no listener serves, and no server shows, a leaf of it."""
    first = "Waiting to give up the earlier authority"
    material, change = situation.observed.material, _change(situation)
    if material is None or change is None:
        return no(f"{first}: the Secrets with certificates were not read")
    if isinstance(material.pools, Unknown):
        return no(f"{first}: it is not known which pools show a certificate of it ({material.pools.reason})")
    every = holders(situation.record, material.known_pools)
    showing = [holder for holder in every if not _shows_none(situation, material, holder)]
    other = [holder for holder in showing if not _signed_by(material, change, holder)]
    older = situation.runtime.certificates != complete(material, situation.record)
    unproven = [words for pod, listener in _listeners(situation) if (words := _serves_other(material, pod, listener))]
    return unless(
        (
            (bool(other), f"{first}: the certificate of {_all(other)} is not signed by the new one yet"),
            (older, f"{first}: the controllers do not show their new certificates yet"),
            (bool(why := _why_not_everywhere(situation)), f"{first}: {why}"),
            (bool(unproven), f"{first}: {'; '.join(unproven)}"),
        ),
        "every certificate that is served or shown is one of the new authority",
    )


@guard(ChangedTrust)
def may_end_change(situation: Situation) -> Answer:
    """Rule 13: the change ends when every listener refuses a client of the earlier authority.

    If its key is lost, nobody can sign such a client's certificate: what the controllers are made from counts then.
    """
    first = "Waiting to complete the change of authorities"
    material, change = situation.observed.material, _change(situation)
    if material is None or change is None:
        return no(f"{first}: the Secrets with certificates were not read")
    if isinstance(material.own, Unknown) and material.own.reason:
        return no(f"{first}: {material.own.reason}")
    if not earlier_key(material, change):
        why = _why_not_everywhere(situation)
        return unless(((bool(why), f"{first}: {why}"),), "every server trusts the new authority only")
    return _after_handshakes(situation, first, "has not refused a certificate of the earlier authority", _refuses)


@guard(TurnTrust)
def may_turn_trust(situation: Situation) -> Answer:
    """Rule 13: another authority is wanted than the change leads to. It begins again, and trusts all of them first."""
    first = "Did not turn the change of authorities"
    material = situation.observed.material
    if material is None:
        return no(f"{first}: the Secrets with certificates were not read")
    wanted = material.wanted_trust
    if isinstance(wanted, Unknown):
        return no(f"{first}: {wanted.reason or 'the wanted authority is not known'}")
    change = _change(situation)
    every = "" if change is None else together(change.before, change.after)
    large = change is not None and is_too_large(together(every, wanted.value))
    room = "" if change is None else why_no_room(situation, TrustChange(before=every, after=wanted.value), change)
    way_out = "Wait until this change is complete, or take authorities out of the bundle"
    return unless(
        (
            (large, f"{first}: all authorities together are too many. {way_out}"),
            (bool(room), f"{first}: {room}, or wait until this change is complete"),
        ),
        "another authority is wanted, and every server goes on to trust the others until it is complete",
    )


def _given_trusts_new(situation: Situation, material: Material, change: TrustChange) -> Answer:
    """The same with certificates of another issuer. The leaf that it gave the operator is the one that is shown.

    If that leaf is of an authority which is trusted before and after, it proves nothing: what the controllers are made
    from counts.
    """
    first = "Waiting to use certificates of the new authority"
    source = material.source(OPERATOR)
    if isinstance(source, Unknown):
        return no(f"{first}: {source.reason or 'the certificate for the operator was not read'}")
    signed = source.value.authorities
    new = _only(change.after, change.before)
    if not signed & frozenset(bundle_of(change.after).fingerprints):
        return no(f"{first}: put a certificate of it into Secret {source.value.secret}")
    if new and not signed & new:
        why = _why_not_everywhere(situation)
        return unless(((bool(why), f"{first}: {why}"),), "every controller is made with the new authority")
    lacks = "has not accepted the operator's certificate of the new authority"
    return _after_handshakes(situation, first, lacks, _accepts)


def earlier_key(material: Material, change: TrustChange) -> str:
    """The digest of an authority that is trusted before only, and whose key is still there; empty if there is none."""
    own = material.own.value if isinstance(material.own, Known) else None
    if own is None or own.present is None or own.following is None:
        return ""
    sha256 = own.present.sha256
    return sha256 if has_authority(change.before, sha256) and not has_authority(change.after, sha256) else ""


def _after_handshakes(
    situation: Situation, first: str, lacks: str, proven: Callable[[Situation, Pod, ControllerListener], bool]
) -> Answer:
    """Allows if every listener that asks for clients' certificates has answered a probe as it must."""
    if situation.observed.material is None:
        return no(f"{first}: the Secrets with certificates were not read")
    asking = [pair for pair in _listeners(situation) if pair[1].protocol is Protocol.SSL]
    missing = [_named(pod, listener) for pod, listener in asking if not proven(situation, pod, listener)]
    return unless(
        (
            (bool(why := _why_not_everywhere(situation)), f"{first}: {why}"),
            (bool(missing), f"{first}: {', '.join(missing)} {lacks} yet"),
        ),
        "every listener of every controller has proven what it trusts",
    )


def _why_not_everywhere(situation: Situation) -> str:
    """Whether every controller runs from the revision of this stage, and every broker follows its contract."""
    observed = situation.observed
    unknown = [pod.name for pod in _kafka(situation) if observed.revision(pod.revision) is None]
    if unknown:
        return f"it is not known what pod {', '.join(unknown)} trusts"
    if not everywhere(situation):
        return f"every controller must run from revision {situation.target}, and be caught up"
    stray = [pod.name for pod in _kafka(situation) if pod.revision != situation.target or not pod.serves]
    if stray:
        return f"pod {', '.join(stray)} does not run from revision {situation.target}"
    return why_brokers_hold(situation) or why_not_published(situation)


def _kafka(situation: Situation) -> list[Pod]:
    return [pod for pod in situation.observed.pods if pod.role is PodRole.KAFKA]


def _listeners(situation: Situation) -> Iterator[tuple[Pod, ControllerListener]]:
    """Every encrypted listener of every controller that runs."""
    for pod in _kafka(situation):
        made = situation.observed.revision(pod.revision)
        for listener in () if made is None else made.runtime.listeners:
            if listener.protocol.encrypted:
                yield pod, listener


def _named(pod: Pod, listener: ControllerListener) -> str:
    return f"listener {listener.name} of controller {pod.node_id}"


def _all(each: Iterable[object]) -> str:
    return ", ".join(str(one) for one in each)


def _change(situation: Situation) -> TrustChange | None:
    return None if situation.record.migration is None else situation.record.migration.trust


def _answers(situation: Situation, pod: Pod, listener: ControllerListener) -> Iterator[tuple[str, Handshake]]:
    """How this very container answered clients, by the authority of their certificates."""
    material = situation.observed.material
    for one in () if material is None else material.probed:
        if (one.node_id, one.listener, one.instance) == (pod.node_id, listener.name, pod.instance):
            yield one.authority, one.handshake


def _accepts(situation: Situation, pod: Pod, listener: ControllerListener) -> bool:
    """Whether it accepts a client of an authority that is new, or of the wanted one if none is."""
    change = _change(situation)
    new = frozenset[str]()
    if change is not None:
        new = _only(change.after, change.before) or frozenset(bundle_of(change.after).fingerprints)
    return any(
        authority in new and isinstance(answer, Served) and answer.accepted
        for authority, answer in _answers(situation, pod, listener)
    )


def _refuses(situation: Situation, pod: Pod, listener: ControllerListener) -> bool:
    """Whether it refuses a client of an authority that is not trusted any more."""
    change = _change(situation)
    old = frozenset[str]() if change is None else _only(change.before, change.after)
    return any(authority in old and refuses_client(answer) for authority, answer in _answers(situation, pod, listener))


def _only(one: str, other: str) -> frozenset[str]:
    """The digests of the authorities in one bundle and not in the other."""
    return frozenset(bundle_of(one).fingerprints) - frozenset(bundle_of(other).fingerprints)


def _signed_by(material: Material, change: TrustChange, holder: Holder) -> bool:
    seen = material.leaf(holder)
    leaf = seen.value if isinstance(seen, Known) else None
    return leaf is not None and has_authority(change.after, leaf.authority)


def _shows_none(situation: Situation, material: Material, holder: Holder) -> bool:
    """Whether this is a pool that no issuer shall give a certificate, and that has none."""
    if not holder.pool or situation.desired.trust.issuer.kind is not IssuerKind.SECRET:
        return False
    named = any(each.secret for each in material.known_pools if each.name == holder.pool)
    return not named and material.leaf(holder) == Known(value=None)


def _serves_other(material: Material, pod: Pod, listener: ControllerListener) -> str:
    """In which way a listener is not known to serve the leaf of its Secret; empty if it serves it."""
    seen = material.leaf(controller(pod.node_id))
    leaf = seen.value if isinstance(seen, Known) else None
    for shown in material.shown:
        if (shown.node_id, shown.listener, shown.instance) != (pod.node_id, listener.name, pod.instance):
            continue
        answer = shown.handshake
        if leaf is not None and shown.whole and isinstance(answer, Served) and answer.digest == leaf.digest:
            return ""
    return f"{_named(pod, listener)} has not served its new certificate yet"
