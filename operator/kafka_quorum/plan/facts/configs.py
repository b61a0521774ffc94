"""The config maps that pods mount: which are needed now, and which pod waits for one that nothing creates any more.

A config map's name has a hash of the inputs and of the node ids. When node ids come or go, the needed name changes; a
pod that was created for the earlier name mounts that one, and nothing creates it again if it is gone.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from kafka_quorum.model.nodes import all_initial_formatted, config_of
from kafka_quorum.model.observed import Observed, Revision
from kafka_quorum.model.pods import CRASHED, DiskFound, Pod, Waiting
from kafka_quorum.model.situation import Situation


def needed_configs(situation: Situation) -> Mapping[str, Revision]:
    """The config maps that pods are created with now, by name, each with the revision that it is made from."""
    observed, record, quorum = situation.observed, situation.record, situation.desired.name
    needed: dict[str, Revision] = {}
    fleet = observed.revision(record.applied_revision)
    if fleet is not None and not all_initial_formatted(record):
        needed[config_of(quorum, record, fleet, initial=True)] = fleet
    for node in record.nodes:
        for revision in (situation.revision_of(node), fleet):
            if revision is not None:
                needed[config_of(quorum, record, revision)] = revision
    return needed


def is_of_earlier_identity(situation: Situation, pod: Pod) -> bool:
    """Whether a pod refuses its formatted disk, and nothing is created with its config map any more.

    Such a pod comes from a request of before a recovery: it expects the number that the disk had. A pod that is created
    now has another config map, so this is true of a pod once.
    """
    report = pod.report
    refuses = report is not None and not report.accepted and report.found is DiskFound.FORMATTED
    return refuses and not pod.running and _is_unneeded(situation, pod)


def _is_unneeded(situation: Situation, pod: Pod) -> bool:
    return bool(pod.config_name) and pod.config_name not in needed_configs(situation)


def lacks_config(situation: Situation, pod: Pod) -> bool:
    """Whether a pod that has not started waits for a config map that does not exist, and is not needed any more.

    A container that crashed has its volumes: the kubelet restarts it without the config map.
    """
    if not isinstance(pod.container, Waiting) or pod.container.reason == CRASHED:
        return False
    present = present_configs(situation.observed)
    return pod.config_name not in present and _is_unneeded(situation, pod)


def present_configs(observed: Observed) -> AbstractSet[str]:
    """The names of the config maps that exist."""
    return {item.name for item in observed.support if item.kind == "ConfigMap"}
