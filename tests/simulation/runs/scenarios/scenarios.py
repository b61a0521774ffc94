"""The tables of deliberate acts of users and of the cluster; each is tried with one fault at a time."""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import HIDDEN_DISKS, Loss
from tests.simulation.runs.scenarios.admission_scenarios import REFUSED
from tests.simulation.runs.scenarios.certificate_scenarios import CERTIFICATES
from tests.simulation.runs.scenarios.claim_scenarios import CLAIM_SCENARIOS
from tests.simulation.runs.scenarios.evidence_scenarios import EVIDENCE_SCENARIOS
from tests.simulation.runs.scenarios.issuer_scenarios import ISSUERS
from tests.simulation.runs.scenarios.later_scenarios import LATER_SCENARIOS
from tests.simulation.runs.scenarios.listener_scenarios import CHANGES_OF_TRUST
from tests.simulation.runs.scenarios.look_scenarios import LOOKS
from tests.simulation.runs.scenarios.metrics_scenarios import METRICS
from tests.simulation.runs.scenarios.migration_scenarios import MIGRATIONS
from tests.simulation.runs.scenarios.pause_scenarios import PAUSES
from tests.simulation.runs.scenarios.recovery_returns import RETURNS
from tests.simulation.runs.scenarios.recovery_scenarios import RECOVERIES
from tests.simulation.runs.scenarios.release_scenarios import RELEASES
from tests.simulation.runs.scenarios.release_scenes import forgets_removed
from tests.simulation.runs.scenarios.renewal_scenarios import RENEWALS
from tests.simulation.runs.scenarios.scenes import (
    Scenario,
    after,
    always,
    annotates_claim_wrongly,
    applies,
    bare_claims,
    deletes,
    deletes_record,
    deletes_record_and_status,
    deletes_service,
    does_nothing,
    edits_record,
    erases_status,
    foreign_disk,
    go_blank,
    goes_away,
    goes_blank,
    has_a_new_disk,
    has_copies,
    has_new_process,
    has_processes,
    has_retired,
    image_vanishes,
    is_changing,
    is_gone,
    is_ready,
    keeps_retired,
    lacks_the_disk_of_before,
    loses,
    loses_node_and_room,
    orphans,
    removes_leader,
    removes_one_that_is_down,
    restores_snapshot,
    says,
    shows_disk_of_newest,
    shows_disks,
    spec_of,
    strangers_come,
    strangers_left,
    strips_claim,
    tells,
    turn,
    volume_goes_and_comes,
    volumes_go_anywhere,
    without_owner,
)
from tests.simulation.runs.scenarios.scram_scenarios import SCRAM
from tests.simulation.runs.scenarios.standing_scenarios import STANDING
from tests.simulation.runs.scenarios.status_scenarios import STATUS_SCENARIOS
from tests.simulation.runs.scenarios.tail_scenarios import TAILS
from tests.simulation.runs.scenarios.time_scenarios import TIMES
from tests.simulation.runs.scenarios.token_scenarios import TOKENS
from tests.simulation.runs.scenarios.word_scenarios import WORDS
from tests.simulation.runs.scenarios.zookeeper_scenarios import BESIDE

from kit.kube.protocol import Json

_THREE = spec_of("InitialControllers", 3)
_ALONE = spec_of("Standalone", 1)
_DELETE = {"storage": {"retentionPolicy": {"whenDeleted": "Delete"}}}


EXHAUSTIVE: Final = (
    Scenario(name="initial-1", spec=spec_of("InitialControllers", 1), exhaustive=True),
    Scenario(name="initial-3", spec=_THREE, exhaustive=True),
    Scenario(name="initial-5", spec=spec_of("InitialControllers", 5)),
    Scenario(name="standalone-1", spec=_ALONE, exhaustive=True),
    Scenario(name="standalone-3", spec=spec_of("Standalone", 3), exhaustive=True),
    Scenario(
        name="standalone-1-to-3",
        spec=_ALONE,
        turns=(turn("asks for three", is_ready, applies(spec_of("Standalone", 3))),),
        exhaustive=True,
    ),
)


def _replicas(count: int) -> Callable[[World, Checker], None]:
    return applies({"controllers": {"replicas": count}})


def _ids(*node_ids: int) -> Json:
    return {"replicas": len(node_ids), "nodeIDs": list(node_ids)}


_RETAIN = {"storage": {"retentionPolicy": {"whenScaled": "Retain"}}}
_MANUAL = {"replacement": {"lostDisk": "Manual", "lostNode": "Manual", "lostNodeAfterSeconds": 10}}
_FIVE = spec_of("InitialControllers", 5)

MEMBERSHIP: Final = (
    Scenario(
        name="scale-1-3-5-3-1",
        spec=_ALONE,
        turns=(
            turn("asks for three", is_ready, _replicas(3)),
            turn("asks for five", is_ready, _replicas(5)),
            turn("asks for three", is_ready, _replicas(3)),
            turn("asks for one", is_ready, _replicas(1)),
        ),
    ),
    *(
        Scenario(
            name=f"scale-{begin}-to-{end}",
            spec=spec_of("InitialControllers", begin),
            turns=(turn(f"asks for {end}", is_ready, _replicas(end)),),
            exhaustive=True,
            holds=forgets_removed,
        )
        for begin, end in ((1, 3), (3, 5), (5, 3), (5, 1), (3, 1), (2, 3), (4, 3))
    ),
    Scenario(
        name="scale-5-to-3-at-rest",
        spec=_FIVE,
        turns=(turn("rests", is_ready, does_nothing), turn("asks for three", after(20), _replicas(3))),
    ),
    Scenario(
        name="scale-3-to-1-retained",
        spec=spec_of("InitialControllers", 3, controllers=_RETAIN),
        turns=(turn("asks for one", is_ready, _replicas(1)), turn("asks for three", is_ready, _replicas(3))),
        exhaustive=True,
    ),
    Scenario(
        name="scale-5-to-3-retained",
        spec=spec_of("InitialControllers", 5, controllers=_RETAIN),
        turns=(turn("asks for three", is_ready, _replicas(3)),),
        holds=keeps_retired(2),
    ),
    Scenario(
        name="scale-3-to-2-and-back",
        spec=_THREE,
        turns=(turn("asks for two", is_ready, _replicas(2)), turn("asks for three", is_ready, _replicas(3))),
    ),
    Scenario(
        name="scale-4-to-3-and-back",
        spec=spec_of("InitialControllers", 4),
        turns=(
            turn("asks for three", is_ready, _replicas(3)),
            turn("asks for four again", is_changing, _replicas(4)),
        ),
    ),
    Scenario(
        name="target-changed-half-way",
        spec=_THREE,
        turns=(
            turn("asks for five", is_ready, _replicas(5)),
            turn("asks for three again", is_changing, _replicas(3)),
        ),
        exhaustive=True,
    ),
    Scenario(
        name="removal-called-off",
        spec=_THREE,
        turns=(
            turn("asks for one", is_ready, _replicas(1)),
            turn("asks for three again", is_changing, _replicas(3)),
        ),
        exhaustive=True,
    ),
    Scenario(
        name="ids-swapped",
        spec=spec_of("InitialControllers", 3, controllers=_ids(3000, 3001, 3002)),
        turns=(turn("wants others", is_ready, applies({"controllers": _ids(3001, 3003, 3004)})),),
        exhaustive=True,
    ),
    Scenario(
        name="all-ids-swapped",
        spec=_THREE,
        turns=(turn("wants three others", is_ready, applies({"controllers": _ids(3007, 3008, 3009)})),),
        exhaustive=True,
    ),
    Scenario(
        name="all-ids-swapped-and-four-asked",
        spec=_THREE,
        turns=(
            turn("wants three others", is_ready, applies({"controllers": _ids(3007, 3008, 3009)})),
            turn("asks for four", is_changing, applies({"controllers": {"replicas": 4, "nodeIDs": None}})),
        ),
    ),
    Scenario(
        name="active-controller-removed",
        spec=_THREE,
        turns=(turn("removes the leader", is_ready, removes_leader),),
        exhaustive=True,
    ),
    Scenario(
        name="follower-removed-while-it-is-down",
        spec=_THREE,
        turns=(turn("removes a follower that is down", is_ready, removes_one_that_is_down),),
    ),
    *(
        Scenario(
            name=f"lost-disk-of-{who}",
            spec=_THREE,
            turns=(turn(f"loses the disk of the {who}", is_ready, loses(Loss.CLAIM_DELETED, who)),),
            exhaustive=True,
        )
        for who in ("leader", "follower", "bootstrap-node")
    ),
    *(
        Scenario(
            name=f"emptied-disk-of-{who}",
            spec=_THREE,
            turns=(turn(f"empties the disk of the {who}", is_ready, loses(Loss.EMPTIED_AND_KILLED, who)),),
            exhaustive=True,
        )
        for who in ("leader", "follower")
    ),
    Scenario(
        name="emptied-disk-and-two-asked",
        spec=_THREE,
        turns=(
            turn("empties the disk of a follower", is_ready, loses(Loss.EMPTIED_AND_KILLED, "follower")),
            turn("asks for two", always, _replicas(2)),
        ),
        exhaustive=True,
    ),
    Scenario(
        name="orphaned-and-applied-again",
        spec=_THREE,
        turns=(
            turn("deletes it with --cascade=orphan", is_ready, orphans),
            turn("applies it again", always, applies(_THREE)),
            turn("waits", after(60), does_nothing),
        ),
        holds=without_owner,
    ),
    Scenario(
        name="labels-lost",
        spec=_THREE,
        turns=(turn("loses the labels of a claim", is_ready, strips_claim), turn("waits", after(60), does_nothing)),
        holds=bare_claims,
    ),
    Scenario(
        name="strangers",
        spec=_THREE,
        turns=(turn("labels what is not ours", is_ready, strangers_come), turn("waits", after(60), does_nothing)),
        ends="ForeignObject",
        holds=strangers_left,
    ),
    Scenario(
        name="attachable-volume-of-a-lost-node",
        spec=_THREE,
        turns=(
            turn("wants volumes that go anywhere", always, volumes_go_anywhere),
            turn("deletes a node, and no other has room", is_ready, loses_node_and_room),
        ),
        exhaustive=True,
    ),
    Scenario(
        name="two-of-three-blank",
        spec=_THREE,
        turns=(turn("hides two disks for half a minute", is_ready, goes_blank(60, "leader", "follower")),),
        exhaustive=True,
    ),
    *(
        Scenario(
            name=f"two-of-three-blank-for-{steps // 2}-s",
            spec=_THREE,
            turns=(
                turn("hides two disks, one after the other", is_ready, go_blank(steps, 20)),
                turn("waits", after(180), does_nothing),
            ),
            backs_off=True,
        )
        for steps in (60, 80, 160)
    ),
    Scenario(
        name="two-of-three-blank-and-one-empty",
        spec=_THREE,
        turns=(
            turn("hides two disks, of which one is empty afterwards", is_ready, go_blank(160, 20, empty=True)),
            turn("waits", after(280), does_nothing),
        ),
        backs_off=True,
        holds=has_a_new_disk,
    ),
    Scenario(
        name="given-up-and-back",
        spec=_THREE,
        turns=(
            turn("hides a disk", is_ready, goes_away),
            turn("shows it once it is given up", has_retired, shows_disks),
            turn("waits", after(90), does_nothing),
        ),
        holds=lacks_the_disk_of_before,
    ),
    Scenario(
        name="given-up-formatted-and-back",
        spec=_THREE,
        turns=(
            turn("hides a disk", is_ready, goes_away),
            turn("shows it once another runs in its place", has_new_process, shows_disk_of_newest),
            turn("waits", after(130), does_nothing),
        ),
        holds=lacks_the_disk_of_before,
    ),
    Scenario(
        name="volume-away-for-a-moment",
        spec=_THREE,
        turns=(
            turn("deletes the object of a volume, and makes it again", is_ready, volume_goes_and_comes(16)),
            turn("waits", after(60), does_nothing),
        ),
    ),
    Scenario(
        name="two-of-three-blank-at-first",
        spec=_THREE,
        turns=(turn("hides two disks", has_processes(3), goes_blank(60, "bootstrap-node", "follower")),),
    ),
    Scenario(
        name="the-only-disk-blank",
        spec=_ALONE,
        turns=(turn("hides it for half a minute", is_ready, goes_blank(60, "leader")),),
    ),
    *(
        Scenario(
            name=f"{loss.value}-of-{who}",
            spec=_THREE,
            turns=(turn(f"{loss.value} of the {who}", is_ready, loses(loss, who)),),
        )
        for loss in sorted(HIDDEN_DISKS, key=str)
        for who in ("leader", "follower")
    ),
    Scenario(
        name="two-lost-disks-of-five",
        spec=_FIVE,
        turns=(
            turn("loses the leader's disk", is_ready, loses(Loss.VOLUME_LOST, "leader")),
            turn("loses another", always, loses(Loss.EMPTIED_AND_KILLED, "follower")),
        ),
        exhaustive=True,
    ),
    *(
        Scenario(
            name=name,
            spec=_THREE,
            turns=(turn(f"{loss.value} of the {who}", is_ready, loses(loss, who)),),
            exhaustive=True,
        )
        for name, loss, who in (
            ("lost-node", Loss.NODE_KILLED, "follower"),
            ("lost-node-of-leader", Loss.NODE_DELETED, "leader"),
            ("flapping-node", Loss.NODE_FLAPS, "leader"),
            ("partitioned-node", Loss.NODE_CUT, "leader"),
            ("zombie", Loss.NODE_SILENT, "follower"),
        )
    ),
    Scenario(
        name="lost-node-while-scaling",
        spec=_THREE,
        turns=(
            turn("asks for five", is_ready, _replicas(5)),
            turn("loses a node", is_changing, loses(Loss.NODE_KILLED, "follower")),
        ),
        exhaustive=True,
    ),
    Scenario(
        name="pair-not-to-be-interrupted",
        spec=spec_of("InitialControllers", 3, controllers={"allowInterruption": False}),
        turns=(turn("asks for one", is_ready, _replicas(1)),),
        ends="RemovingController",
    ),
    Scenario(
        name="lost-disk-manual",
        spec=spec_of("InitialControllers", 3, controllers=_MANUAL),
        turns=(turn("loses a disk", is_ready, loses(Loss.CLAIM_DELETED, "follower")),),
        ends="LostDisk",
    ),
    Scenario(
        name="lost-node-manual",
        spec=spec_of("InitialControllers", 3, controllers=_MANUAL),
        turns=(turn("loses a node", is_ready, loses(Loss.NODE_KILLED, "follower")),),
        ends="LostNode",
    ),
    Scenario(
        name="lost-node-manual-and-not-wanted",
        spec=spec_of("InitialControllers", 4, controllers=_MANUAL),
        turns=(
            turn("loses a node", is_ready, loses(Loss.NODE_KILLED, "follower")),
            turn("asks for three", always, _replicas(3)),
        ),
    ),
    Scenario(
        name="restored-from-a-snapshot",
        spec=_THREE,
        turns=(
            turn("waits", is_ready, does_nothing),
            turn("restores a claim from a snapshot", after(40), restores_snapshot),
        ),
        ends="IdentityConflict",
    ),
)

_TYPO = {"kafka": {"version": "4.4.0", "image": "apache/kafka:typo"}}
_OLDER = {"kafka": {"version": "4.1.2", "image": ""}}
_MIRROR = {"kafka": {"version": "4.4.0", "image": "mirror/kafka:4.4.0"}}
_RIGHT = {"kafka": {"version": "4.4.0", "image": "apache/kafka:4.4.0"}}

FURTHER: Final = (
    Scenario(
        name="paused",
        spec={**_THREE, "paused": True},
        turns=(turn("resumes", says("Progressing", "Paused"), applies({"paused": False})),),
    ),
    Scenario(
        name="typo-before-the-barrier",
        spec={**_THREE, **_TYPO},
        turns=(turn("corrects the image", says("Degraded", "PodStuck"), applies(_RIGHT)),),
    ),
    Scenario(
        name="status-erased",
        spec=_THREE,
        turns=(turn("erases the status", is_ready, erases_status),),
    ),
    Scenario(
        name="record-deleted",
        spec=_THREE,
        turns=(turn("deletes the record", is_ready, deletes_record),),
    ),
    *(
        Scenario(
            name=f"record-deleted-{mode.lower()}",
            spec=spec_of(mode, 3),
            turns=(turn("deletes the record", has_copies, deletes_record),),
        )
        for mode in ("InitialControllers", "Standalone", "Static")
    ),
    Scenario(
        name="record-and-status-gone",
        spec=_THREE,
        turns=(turn("deletes the record and the status", is_ready, deletes_record_and_status),),
    ),
    Scenario(
        name="service-deleted",
        spec=_THREE,
        turns=(turn("deletes the service", is_ready, deletes_service),),
    ),
    Scenario(
        name="retained-and-applied-again",
        spec=_THREE,
        turns=(
            turn("deletes the resource", is_ready, deletes(with_volumes=False)),
            turn("applies it again", is_gone, applies(_THREE)),
        ),
    ),
    Scenario(
        name="deleted-and-applied-at-once",
        spec=spec_of("InitialControllers", 3, controllers=_DELETE),
        turns=(
            turn("deletes the resource", is_ready, deletes(with_volumes=True)),
            turn("applies it again", lambda _: True, applies(spec_of("InitialControllers", 3, controllers=_DELETE))),
        ),
    ),
    Scenario(
        name="retention-changed",
        spec=_THREE,
        turns=(
            turn("wants Delete", is_ready, applies({"controllers": _DELETE})),
            turn("waits", after(60), does_nothing),
        ),
    ),
    Scenario(
        name="storage-grown",
        spec=_THREE,
        turns=(
            turn("asks for more", is_ready, applies({"controllers": {"storage": {"size": "20Gi"}}})),
            turn("waits", after(60), does_nothing),
        ),
    ),
    Scenario(
        name="foreign-files",
        spec=spec_of("InitialControllers", 1),
        turns=(turn("puts files on the volume", lambda world: bool(world.volumes.by_claim), foreign_disk),),
        ends="ForeignDisk",
    ),
    Scenario(
        name="another-claim",
        spec=_THREE,
        turns=(turn("annotates a claim wrongly", is_ready, annotates_claim_wrongly),),
        ends="IdentityConflict",
    ),
    Scenario(
        name="record-unreadable",
        spec=_THREE,
        turns=(turn("breaks the record", is_ready, edits_record("{")),),
        ends="IdentityUnreadable",
    ),
    Scenario(
        name="fewer-replicas",
        spec=_THREE,
        turns=(turn("asks for one", is_ready, applies({"controllers": {"replicas": 1}})),),
    ),
    Scenario(
        name="older-image",
        spec={**_THREE, **_TYPO},
        turns=(
            turn("asks for less", says("Degraded", "PodStuck"), applies({"kafka": {"version": "4.1.2", "image": ""}})),
        ),
    ),
    Scenario(
        name="image-gone",
        spec=_THREE,
        turns=(
            turn("the image vanishes", is_ready, image_vanishes),
            turn("asks for less", says("Degraded", "PodStuck"), applies(_OLDER)),
            turn("names a mirror", tells("Ready", "and the quorum has"), applies(_MIRROR)),
        ),
    ),
)

ALL: Final = (
    *EXHAUSTIVE,
    *MEMBERSHIP,
    *FURTHER,
    *RELEASES,
    *MIGRATIONS,
    *TIMES,
    *TAILS,
    *TOKENS,
    *METRICS,
    *LOOKS,
    *REFUSED,
    *STANDING,
    *STATUS_SCENARIOS,
    *CLAIM_SCENARIOS,
    *LATER_SCENARIOS,
    *EVIDENCE_SCENARIOS,
    *BESIDE,
    *CERTIFICATES,
    *RENEWALS,
    *ISSUERS,
    *PAUSES,
    *CHANGES_OF_TRUST,
    *SCRAM,
    *WORDS,
    *RECOVERIES,
    *RETURNS,
)
