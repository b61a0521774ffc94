"""Rule 13: no trust is cut that a running server needs."""

from typing import Final

from kafka_quorum.api.release import parse_release
from kafka_quorum.model.bundles import has_authority, have_ended
from kafka_quorum.model.cutoff import accept_nobody
from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.generations import may_lack
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import Holder, LeafSeen, Shown, UsersSeen
from kafka_quorum.model.permit import EndAuthority, GiveUsers, Reload, ShowLeaf
from kafka_quorum.model.pods import Pod, PodRole, Waiting
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.leader import leader_runtime
from kafka_quorum.plan.facts.trusting import trusting_runtimes
from kafka_quorum.plan.guards.registry import Answer, guard, unless

RELOADS_SINCE: Final = (4, 3)
"""The first release whose leader takes a setting of a controller of a dynamic quorum.

In a static quorum every release does, and what the listener itself runs does not matter: measured on 3.9.2, 4.1.2,
4.3.0 and 4.4.0. 4.2 has the condition of 4.1.
"""


@guard(ShowLeaf)
def may_show_leaf(situation: Situation, holder: Holder, authority: str, why: str) -> Answer:
    """Rule 13: a leaf is put into a Secret only if every server that may run trusts its authority.

    A process may load it at any moment: when its container restarts. Brokers are asked by the gates of a migration.
    """
    first = f"Did not give {holder} another certificate"
    blind, unknown = _blind(situation, authority), _unknown(situation)
    return unless(
        (
            (bool(unknown), f"{first}: {unknown}"),
            (not authority, f"{first}: no known authority has signed it"),
            (bool(blind), f"{first}: {blind} does not trust its authority yet"),
        ),
        why,
    )


@guard(GiveUsers)
def may_give_users(situation: Situation, seen: UsersSeen | None, name: str) -> Answer:
    """Rule 13: users get passwords only while no controller that runs has earlier ones.

    Controllers log in to each other, so one that starts with other passwords than the rest is alone.
    """
    pods = () if seen is not None else situation.observed.pods
    having = [str(pod.node_id) for pod in pods if _has_users(situation, pod)]
    way_out = "Restore it from a backup, or delete the pods of all controllers at once: then new passwords are made"
    said = f"Did not make Secret {name} again: controller {', '.join(having)} runs with the passwords that it had"
    return unless(((bool(having), f"{said}. {way_out}"),), "no controller has other passwords")


@guard(EndAuthority)
def may_end_authority(situation: Situation, trust: str) -> Answer:
    """Rule 13: an authority ends when every server runs with the trust that lacks it, and no leaf needs it."""
    material = situation.observed.material
    first = "Waiting to end the earlier authority"
    others = dict.fromkeys(name for name, runtime in trusting_runtimes(situation) if runtime.trust != trust)
    pools = material.pools.reason if material is not None and isinstance(material.pools, Unknown) else ""
    running = [pod for pod in situation.observed.pods if pod.role is PodRole.KAFKA]
    unknown = [pod.name for pod in running if situation.observed.revision(pod.revision) is None]
    signed = (
        [] if material is None else [str(one) for one, leaf in material.known_leafs() if not _by(trust, leaf.authority)]
    )
    return unless(
        (
            (material is None, f"{first}: the Secrets were not read"),
            (bool(pools), f"{first}: it is not known which pools show a certificate of it ({pools})"),
            (bool(unknown), f"{first}: it is not known what pod {', '.join(unknown)} trusts"),
            (bool(others), f"{first}: {', '.join(others)} still trusts it"),
            (bool(signed), f"{first}: the certificate of {', '.join(signed)} is signed by it"),
        ),
        "every controller runs without it",
    )


@guard(Reload)
def may_reload(situation: Situation, shown: Shown, leaf: LeafSeen, runtime: Runtime) -> Answer:
    """Rule 13: a listener loads a leaf whose authority every server trusts, from a pod that has it.

    The listener loads what its pod has, and Kafka does not ask who signed that. A renewal may come late to the pod: it
    then has the leaf before, which is good. It may also be one that a person put there, or that has ended.
    A leader that is too old refuses every request: then the listener loads its leaf when its controller restarts.
    """
    first = f"Did not let controller {shown.node_id} load its certificate again"
    blind, unknown = _blind(situation, leaf.authority), _unknown(situation)
    led = isinstance(situation.observed.quorum, Known)
    old, restart = _too_old(situation), "The restart of the controller brings the certificate"
    late = "its pod may still have what was in its Secret before, and that is not known, or has ended"
    return unless(
        (
            (not led, f"{first}: the quorum has no leader, and Kafka stores the request in the metadata log"),
            (bool(old), f"{first}: the leader runs Kafka {old}, which refuses that. {restart}"),
            (not runtime.encrypted, f"{first}: its listener has no certificate"),
            (bool(unknown), f"{first}: {unknown}"),
            (bool(blind), f"{first}: {blind} does not trust its authority yet"),
            (may_lack(leaf, situation.now_s), f"{first}: {late}"),
        ),
        "its Secret has a renewed one",
    )


def _too_old(situation: Situation) -> str:
    """The release of the leader, if it is known to refuse settings of controllers; else empty."""
    leader = leader_runtime(situation)
    release = None if leader is None else parse_release(leader.release)
    if leader is None or release is None or leader.static_voters or release[:2] >= RELOADS_SINCE:
        return ""
    return leader.release


def _has_users(situation: Situation, pod: Pod) -> bool:
    """Whether this pod may have read passwords: unless it is certain that it has not begun, it may have."""
    if pod.role is not PodRole.KAFKA or pod.finished:
        return False
    made = situation.observed.revision(pod.revision)
    begun = not isinstance(pod.container, Waiting) or pod.container.last_exit is not None or pod.report is not None
    return begun and (made is None or made.runtime.needs_users)


def _blind(situation: Situation, authority: str) -> str:
    """Which controllers do not trust this authority, now or next.

    A controller that accepts nobody any more, for good, is not asked: no leaf can make that worse.
    """
    runtimes = ((name, one.trust) for name, one in trusting_runtimes(situation))
    found = (name for name, trust in runtimes if not has_authority(trust, authority))
    observed, record, now_s = situation.observed, situation.record, situation.now_s
    ended = {
        name
        for name, one in trusting_runtimes(situation)
        if have_ended(one.trust, now_s) or accept_nobody(observed, record, one.trust, now_s)
    }
    return ", ".join(dict.fromkeys(name for name in found if name not in ended))


def _unknown(situation: Situation) -> str:
    """Which controllers run from a revision that is gone, so that it is not known what they trust; with the way out."""
    observed = situation.observed
    running = [pod for pod in observed.pods if pod.role is PodRole.KAFKA and pod.running]
    found = ", ".join(pod.name for pod in running if observed.revision(pod.revision) is None)
    way_out = "Restore the ControllerRevision from a backup, or restart these controllers"
    return f"it is not known what pod {found} trusts. {way_out}" if found else ""


def _by(trust: str, authority: str) -> bool:
    return bool(authority) and has_authority(trust, authority)
