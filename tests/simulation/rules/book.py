"""The list of rules: their names, and what the operator never does. Simulation and mutants use these.

A number is that of docs/safety.md; a name with a number and a word is one of the things that the rule comes to. Rules
without a number are not the operator's alone: what every resource, status or quorum has to keep.
"""

from typing import Final

RULES: Final = {
    "1": "formats a quorum's initial voters after the quorum may have started",
    "2": "runs a directory id on a disk that is not its own",
    "2, data": "gives a disk up that has its data, and can be read again",
    "2, kept": "stops a pod with which a needed disk goes",
    "2, removed by another": "makes a pod for a replica that is retired",
    "3": "takes an action after which the projected voter set has no live, caught-up majority",
    "3, disks": "changes the voters so that a majority needs a disk that goes with its pod",
    "3, fewer": "removes a voter before its successor is ready, so that fewer than wanted stay",
    "4": "has two voter changes in flight",
    "4, committed": "takes a voter set for committed that is not",
    "5": "restarts a second controller before the first is a caught-up voter again, or the active one too early",
    "5, a successor": "stops a controller whose new pod the API server refuses",
    "5, needless": "restarts a controller for nothing",
    "5, no place": "stops a voter whose Kubernetes node takes no new pod",
    "5, the first": "goes on with an image of which the first pod is not well",
    "5, token": "stops a voter that keeps up without the disruption token",
    "6": "deletes a volume whose replica is still a voter, or that has the only caught-up copy",
    "7": "raises a feature that a node does not support, or starts an image that is older than the levels",
    "7, done": "takes a feature step for done that the leader does not report",
    "7, ghost": "takes the registration of a node away that runs",
    "7, one level": "skips a level of metadata.version",
    "7, soaked": "raises a feature before the quorum has been well for long enough",
    "7, the roll": "raises a feature while pods run from two revisions",
    "7, validated": "sends a step that the leader has not just allowed",
    "8": "treats unknown as empty",
    "10": "loses an acknowledged record",
    "10, formats": "formats a disk of the only broker that may lead a partition with everything that was acknowledged",
    "10, leaves": "unregisters a broker that runs, or is a replica of a partition",
    "11": "makes a partition unavailable that could stay available",
    "11, held": "makes a partition unavailable that no order of restarts keeps available, and nobody consented",
    "11, leaderless": "stops a broker while the quorum has no leader",
    "11, together": "stops a broker before those that it stopped are back, unless they share no partition",
    "9": "formats with a release version, or with two commands where one would do",
    "committed records": "what was committed is never lost",
    "conditions": "the conditions of a status do not contradict each other",
    "given up": "no disk is given up whose Kafka runs, or which the quorum needs",
    "identity": "the identity record can be read, and never changes its cluster",
    "lease": "one operator acts at a time",
    "names": "pods and claims carry the node id that their name says",
    "no fault of the operator": "no pass ends in an exception that nobody expected",
    "one user of a claim": "no two pods use a claim at the same time",
    "revisions": "no revision is deleted from which a pod is made, or may be",
    "stored": "what a later version stored is changed by nobody, and the accepted spec is kept",
    "static": "a static quorum keeps its voters, and formats no disk once it has run",
}
