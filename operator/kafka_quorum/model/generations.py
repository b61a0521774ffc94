"""Generations of certificates: which one each Secret has, and which one every controller shall show as a client.

Leafs are renewed together, as one generation. A listener loads a renewed one without a restart. A controller loads the
leaf that it shows as a client only when it starts, so each one restarts once before the earlier leaf ends.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_quorum.model.bundles import has_authority
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder, LeafSeen, Material, Source, controller
from kafka_quorum.model.observed import Observed, Revision, revision_named
from kafka_quorum.model.pods import PodRole
from kit.pki.authority import SKEW

FIRST: Final = 1
"""The generation of the first leafs."""
MOUNTED_AFTER_S: Final = 60.0
"""How long after a write a new pod mounts this content of a Secret, or later content: a kubelet may read it late."""
LATE: Final = 0.125
"""The share of the time for a renewal that is left when it should be complete. Half of that time is for restarts."""
BROUGHT_AFTER_S: Final = 180.0
"""How long after a write a running pod has this content: twice the 90 s after which a kubelet looks at a pod again."""

BROKERS_PAUSE_S: Final = 3600.0
"""How long after a generation a leaf of brokers asks for another one. Less, if the certificates live for hours only."""
_SOON: Final = 1 / 6
"""The share of that pause that always passes, and that is left at most before the end of a leaf when it is replaced."""
_LASTS: Final = 2 / 3
"""The share of that pause for which a given leaf must be valid, so that the pause ends sooner for it."""


def newest(material: Material, observed: Observed, record: IdentityRecord) -> int:
    """The newest generation that a controller was made for, or that is in a Secret of one or the operator; 0 if none.

    Secrets may be lost, and a controller shows the lost leaf until it starts again. A Secret of brokers does not count:
    one that has a later generation, which a person wrote there, gets the common one again.
    """
    made = made_for(observed.revisions, record)
    return max((made, *(leaf.generation for leaf in material.leading_leafs(made))))


def lost(material: Material, observed: Observed, record: IdentityRecord) -> Iterator[Holder]:
    """Controllers with a pod whose Secret is gone: the end of the leaf that they may show is stored nowhere.

    So it is if a Secret has an earlier leaf than its pod is made for: the pod counts as one that shows the later leaf,
    and would never restart to show it. A controller without a leader may have started like that, and a person may put
    an earlier content back.
    """
    for node in record.nodes:
        seen = material.leaf(controller(node.node_id))
        if not isinstance(seen, Known):
            continue
        made = _made(observed, node.node_id)
        if made is not None and (seen.value is None or seen.value.generation < made):
            yield controller(node.node_id)


def due_for_lost(material: Material, observed: Observed, record: IdentityRecord) -> int:
    """The generation that all leafs get because some are lost: above that of their controllers, so that these restart.

    It may be one that a Secret already has. A lost Secret may be refused for a long time while the other controllers
    restart, so what those are made for does not count.
    """
    ids = {holder.node_id for holder in lost(material, observed, record)}
    pods = [pod for pod in observed.pods if pod.node_id in ids and pod.role is PodRole.KAFKA]
    made = [observed.revision(pod.revision) for pod in pods]
    known = [each.runtime.certificates for each in made if each is not None]
    if len(known) < len(made):
        known.append(made_for(observed.revisions, record))
    return max(max(known, default=0) + 1, newest(material, observed, record))


def pauses_until_s(desired: Desired, material: Material, holder: Holder, leaf: LeafSeen, now_s: float) -> float:
    """Until when this leaf brings no other generation, because it would follow too soon on the present one; else 0.

    Otherwise a Secret that changes again and again would leave no minute in which a controller's Secret is mounted, and
    would restart the controllers each time. The operator's own leafs for controllers and itself are renewed when due.
    Given ones wait no longer than until the restarts to them must begin, if pods can mount what was written last. For
    those of brokers see `_of_brokers_until_s`.
    """
    of_brokers = holder.role == BROKERS.role
    if not of_brokers and desired.trust.issuer.own:
        return 0.0
    leading = material.leading_leafs(0)
    life_s = min(each.certificate.life_s for each in leading)
    longest_s = min(BROKERS_PAUSE_S, desired.trust.renew_before(life_s) * LATE) if of_brokers else 0.0
    latest_s = max(written_s(each, now_s) for each in leading)
    pause_s = max(BROUGHT_AFTER_S, longest_s)
    until_s = latest_s + pause_s
    if of_brokers:
        return _of_brokers_until_s(desired, material.source(holder), leaf, until_s, pause_s, now_s)
    roll_s = desired.trust.renewal_s(leaf.ends_s, leaf.certificate.life_s, 1 / 2) - MOUNTED_AFTER_S
    return min(max(min(until_s, roll_s), latest_s + MOUNTED_AFTER_S), leaf.ends_s)


def _of_brokers_until_s(
    desired: Desired, source: Knowable[Source], leaf: LeafSeen, until_s: float, pause_s: float, now_s: float
) -> float:
    """The same for a leaf of brokers: until the pause is over, or the restarts must begin, so that it does not end.

    Leafs of the own authority live as long as those that decide the pause; given ones may end within it. The users who
    give them must not restart all servers again and again. So the pause ends sooner only for a leaf that is valid for
    most of a pause from then on, and only shortly before the end of the one that it replaces. Two leafs that follow
    each other like this are half a pause apart, whatever their beginnings say. A part of the pause always passes,
    because more users may write the Secret that brokers mount.
    """
    if isinstance(source, Unknown):
        return until_s
    part_s = pause_s * _SOON
    restarts_s = max(desired.trust.renewal_s(leaf.ends_s, leaf.certificate.life_s, 1 / 2), leaf.ends_s - part_s)
    soonest_s = until_s - pause_s + max(BROUGHT_AFTER_S, part_s)
    sooner_s = max(soonest_s, min(restarts_s - MOUNTED_AFTER_S, until_s))
    lasts_s = source.value.certificate.not_after_s - max(sooner_s, now_s)
    return min(sooner_s, until_s) if lasts_s >= pause_s * _LASTS else until_s


def _made(observed: Observed, node_id: NodeID) -> int | None:
    """The generation that the pod of a controller is made for, 0 if that is unknown; None without a pod."""
    pods = [pod for pod in observed.pods if pod.node_id == node_id and pod.role is PodRole.KAFKA]
    known = [each for each in (observed.revision(pod.revision) for pod in pods) if each is not None]
    return max((each.runtime.certificates for each in known), default=0) if pods else None


def made_for(revisions: tuple[Revision, ...], record: IdentityRecord) -> int:
    """The newest generation that a controller of the record is made for; 0 if there is none."""
    names = (record.applied_revision, *(node.revision for node in record.nodes))
    begun = (revision_named(revisions, name) for name in names)
    return max((each.runtime.certificates for each in begun if each is not None), default=0)


def complete(material: Material, record: IdentityRecord) -> int:
    """The generation that the Secret of every controller has, at least; 0 if one is missing or could not be read.

    Those of brokers, pools and the operator do not count: they must not block the renewal of the controllers.
    """
    return _complete(material, [controller(node_id) for node_id in record.node_ids])


def _complete(material: Material, every: Sequence[Holder]) -> int:
    leafs = _leafs(material, every)
    return min((leaf.generation for leaf in leafs), default=0) if len(leafs) == len(every) else 0


def _leafs(material: Material, every: Sequence[Holder]) -> list[LeafSeen]:
    """The known leafs of these holders."""
    found = [material.leaf(holder) for holder in every]
    return [seen.value for seen in found if isinstance(seen, Known) and seen.value is not None]


def generation_due(desired: Desired, observed: Observed, record: IdentityRecord, now_s: float) -> int:
    """The generation that every controller shall show as a client: it goes up when the earlier leafs end soon.

    Then a roll follows. It has half of the time between a renewal and the end of the earlier leaf. Leafs of a new
    authority are shown at once, so that the earlier authority can end.

    One Secret that cannot be read or written does not stop the restarts of the other controllers: otherwise they would
    all show a leaf that has ended. `5-restart` holds the controller of such a Secret.
    """
    material = observed.material
    present = made_for(observed.revisions, record)
    if material is None:
        return present
    controllers = [controller(node_id) for node_id in record.node_ids]
    if present == 0:
        return _complete(material, [*controllers, OPERATOR, BROKERS])
    if (everywhere := complete(material, record)) > present and _all_signed_by_new(material, record):
        return everywhere
    reached = max((leaf.generation for leaf in _leafs(material, controllers)), default=0)
    later = [leaf for _, leaf in material.known_leafs() if leaf.generation > present]
    due = reached > present and any(now_s >= _roll_at_s(desired, leaf, now_s) for leaf in later)
    return reached if due else present


def _all_signed_by_new(material: Material, record: IdentityRecord) -> bool:
    """Whether the new authority has signed every leaf, while the authorities are changed."""
    change = None if record.migration is None else record.migration.trust
    if change is None or not record.overlay.signed_by_new:
        return False
    return all(has_authority(change.after, leaf.authority) for _, leaf in material.known_leafs())


def _roll_at_s(desired: Desired, leaf: LeafSeen, now_s: float) -> float:
    """When the restarts begin that make controllers show this leaf as clients: in the middle of the time that is left.

    If the end of the earlier one is unknown, they begin when no pod can mount an earlier content any more.
    """
    middle_s = desired.trust.renewal_s(leaf.before_ends_s, leaf.certificate.life_s, 1 / 2)
    return max(middle_s, written_s(leaf, now_s) + MOUNTED_AFTER_S)


def is_mounted(leaf: LeafSeen, now_s: float) -> bool:
    """Whether a new pod mounts this leaf, and not what was in its Secret before."""
    return now_s >= written_s(leaf, now_s) + MOUNTED_AFTER_S


def written_s(leaf: LeafSeen, now_s: float) -> float:
    """When this leaf was put into its Secret. A time in the future, which anybody may write there, counts for nothing.

    The clock of another operator may be ahead by some seconds. Of another issuer's leaf the copy alone counts: its
    begin says nothing. An own one begins some minutes before it is made.
    """
    if 0 < leaf.composed_s <= now_s + MOUNTED_AFTER_S:
        return leaf.composed_s
    return leaf.certificate.not_before_s + SKEW.total_seconds()


def is_due(desired: Desired, leaf: LeafSeen, end_s: float, now_s: float, part: float) -> bool:
    """Whether only this part of the time for a renewal is left before an end of this leaf, or of the one before it.

    If the spec asks for shorter lives by now, the renewal begins as late as for such a leaf.
    """
    shorter_s = min(leaf.certificate.life_s, desired.trust.leaf_s + SKEW.total_seconds())
    return now_s >= desired.trust.renewal_s(end_s, shorter_s, part)


def may_lack(leaf: LeafSeen, now_s: float) -> bool:
    """Whether the pod may still have the earlier content of the Secret, which may be unusable.

    A leaf that replaced a foreign one, or one in a recreated Secret, has no end of an earlier leaf.
    """
    return leaf.before_ends_s <= now_s < written_s(leaf, now_s) + BROUGHT_AFTER_S
