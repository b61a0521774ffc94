"""A rewritten disk has one new batch that ends with the survivor alone; all else is refused, or was done before."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from tests.kraftlog import disks, logs

from kraftlog.disk import DiskError, Endpoint, FormError, UnreadableDiskError, look, to_json
from kraftlog.disk.model import Voter
from kraftlog.rewrite import EPOCH_GAP, At, RewritePlan, plan_of, read_plan, rewrite, seed, seed_plan_of
from kraftlog.rewrite.plan import EPOCH_LATER_MAX, VOTERS_MAX
from kraftlog.rewrite.rewriting import voters_batch

NOW_MS = 1_700_000_000_000
NEW = (Endpoint(name="CONTROLLER", host="new", port=9093),)
LONG = (Endpoint(name="CONTROLLER", host="x" * 4000, port=9093),)


def survivor(home: Path) -> RewritePlan:
    """The plan for a disk as it is."""
    return plan_of(look(home))


def test_a_rewritten_log(tmp_path: Path) -> None:
    """Behind the earlier bytes there is one control batch, 1000 epochs later, that ends with the survivor alone."""
    home = disks.make(tmp_path / "a")
    before, plan = disks.files(home), survivor(home)
    done = rewrite(home, plan, now_ms=NOW_MS)
    assert (done.changed, done.offset, done.last_offset) == (True, 8, 9)
    assert (done.leader_epoch, done.cut_bytes) == (5 + EPOCH_GAP, 0)
    after = disks.files(home)
    name = str(disks.segment(home).relative_to(home))
    assert after[name].startswith(before[name])
    assert after | {name: b""} == before | {name: b""}
    records, faults = logs.read(disks.segment(home))
    assert not faults
    last = records[-1]
    assert (last["offset"], last["leader_epoch"], last["control"], last["type"]) == (9, 1005, True, "KRaftVoters")
    assert last["data"]["voters"] == [
        {
            "voterId": 1,
            "voterDirectoryId": disks.IDS[1],
            "endpoints": [{"name": "CONTROLLER", "host": "c-1", "port": 9093}],
            "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
        }
    ]
    found = look(home)
    assert found.voters is not None
    assert (found.end_offset, found.last_epoch, len(found.voters.voters)) == (10, 1005, 1)


def test_the_batch_is_that_of_the_writer(tmp_path: Path) -> None:
    """Its bytes are those of the package's writer, which Kafka's tools read."""
    plan = survivor(disks.make(tmp_path / "a"))
    expected = bytearray(disks.control(8, disks.voters(1, 2), disks.voters(1), epoch=1005))
    expected[27:43] = NOW_MS.to_bytes(8, "big") * 2
    expected[17:21] = logs.crc(bytes(expected[21:])).to_bytes(4, "big")
    assert voters_batch(plan, NOW_MS) == bytes(expected)


@pytest.mark.parametrize("named", [True, False], ids=["voters named", "voters of the disk"])
def test_a_second_run_changes_nothing(tmp_path: Path, *, named: bool) -> None:
    """A later run recognizes the batch, also when a server has gone on behind it."""
    home = disks.make(tmp_path / "a")
    whole, plan = disks.segment(home).read_bytes(), survivor(home)
    batch = voters_batch(plan, NOW_MS)
    plan = plan if named else replace(plan, voters=None)
    rewrite(home, plan, now_ms=NOW_MS)
    assert disks.segment(home).read_bytes() == whole + batch
    for more in (b"", disks.topics(10, "later", epoch=1006)):
        with disks.segment(home).open("ab") as file:
            file.write(more)
        if more:
            (home / disks.LOG / "quorum-state").write_text(disks.state(1006))
        before = disks.files(home)
        done = rewrite(home, plan)
        assert (done.changed, done.offset, done.leader_epoch) == (False, 8, 1005)
        assert disks.files(home) == before


@pytest.mark.parametrize("named", [True, False], ids=["voters named", "voters of the disk"])
def test_a_run_that_was_lost_at_any_byte(tmp_path: Path, *, named: bool) -> None:
    """Whatever part of the batch an interrupted run wrote, with zeros or without, the next run completes it."""
    home = disks.make(tmp_path / "a")
    plan, whole = survivor(home), disks.segment(home).read_bytes()
    batch = voters_batch(plan, NOW_MS)
    plan = plan if named else replace(plan, voters=None)
    for size in range(len(batch)):
        for rest in (b"", bytes(len(batch) - size), bytes(4096)):
            disks.segment(home).write_bytes(whole + batch[:size] + rest)
            complete = (batch[:size] + rest).startswith(batch)  # its last byte is zero
            assert rewrite(home, plan, now_ms=NOW_MS).changed is not complete
            assert disks.segment(home).read_bytes().rstrip(b"\0") == (whole + batch).rstrip(b"\0")


def test_a_batch_of_other_voters_is_not_ours(tmp_path: Path) -> None:
    """A plan that leaves the voters open takes no batch for its own that does not end with the survivor alone."""
    home = disks.make(tmp_path / "a")
    plan = replace(survivor(home), voters=None)
    with disks.segment(home).open("ab") as file:
        file.write(disks.control(8, disks.voters(1, 2), epoch=1005))
    unchanged(home, plan, "its last leader epoch is 1005, not 4")


def lose(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Lets the call of fsync with this number fail, as a volume that goes away."""
    left, real = [number], os.fsync

    def fsync(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(5, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)


def until_done(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> int:
    """Runs an act again and again, lost at a later point each time; returns how often it was lost."""
    for number in range(100):
        with monkeypatch.context() as patched:
            lose(patched, number)
            try:
                run()
            except UnreadableDiskError:
                continue
            return number
    raise AssertionError("never done")


def test_a_volume_that_goes_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is lost before its bytes are durable fails, and a later one makes them durable."""
    home = disks.make(tmp_path / "a")
    plan, whole = survivor(home), disks.segment(home).read_bytes()
    assert until_done(monkeypatch, lambda: rewrite(home, plan, now_ms=NOW_MS)) == 2
    assert disks.segment(home).read_bytes() == whole + voters_batch(plan, NOW_MS)


@pytest.mark.parametrize("tail", [b"\0", b"\7" * 70, bytes(9000), disks.topics(8, "x")[:-1]])
def test_a_tail_is_cut(tmp_path: Path, tail: bytes) -> None:
    """What no write ended is cut, and the batch follows the last valid one."""
    home = disks.make(tmp_path / "a")
    whole = disks.segment(home).read_bytes()
    disks.segment(home).write_bytes(whole + tail)
    plan = survivor(home)
    assert rewrite(home, plan, now_ms=NOW_MS).cut_bytes == len(tail)
    assert disks.segment(home).read_bytes() == whole + voters_batch(plan, NOW_MS)


def named(plan: RewritePlan) -> tuple[Voter, ...]:
    """The voters that a plan names."""
    assert plan.voters is not None
    return plan.voters


def unchanged(home: Path, plan: RewritePlan, words: str) -> None:
    """Checks that a rewrite is refused with these words, and that the disk is as before."""
    before = disks.files(home)
    with pytest.raises(DiskError, match=words):
        rewrite(home, plan)
    assert disks.files(home) == before


def test_another_disk_than_that_of_the_plan(tmp_path: Path) -> None:
    """Any difference between disk and plan is refused, and the message names it."""
    home = disks.make(tmp_path / "a")
    plan = survivor(home)
    unchanged(home, replace(plan, cluster_id="x"), "its cluster id is")
    unchanged(home, replace(plan, node_id=2), "its node id is 1, not 2")
    unchanged(home, replace(plan, directory_id=disks.IDS[2]), "its directory id is")
    unchanged(home, replace(plan, last_epoch=3), "its last leader epoch is 4, not 3")
    unchanged(home, replace(plan, end_offset=7), "its end offset is 8, not 7")
    unchanged(home, replace(plan, end_offset=9), "its end offset is 8, not 9")
    unchanged(home, replace(plan, checkpoint=None), "its newest checkpoint is offset 0 of leader epoch 0, not none")
    unchanged(home, replace(plan, checkpoint=At(offset=3, epoch=1)), "its newest checkpoint is")
    unchanged(home, replace(plan, voters=named(plan)[:2]), "its last voter set is 1 .* 3 .*, not 1 ")
    unchanged(home, replace(plan, voters=()), "its last voter set is .*, not none")
    assert rewrite(home, replace(plan, leader_epoch=70)).leader_epoch == 70 + EPOCH_GAP


def test_a_controller_that_asked_for_votes_after_the_plan(tmp_path: Path) -> None:
    """A later epoch in quorum-state is accepted, as long as the new batch stays far above it."""
    home = disks.make(tmp_path / "a")
    plan = survivor(home)
    state = home / disks.LOG / "quorum-state"
    state.write_text(disks.state(5 + EPOCH_LATER_MAX + 1))
    unchanged(home, plan, "its quorum-state has leader epoch 506, above 505")
    state.write_text(disks.state(5 + EPOCH_LATER_MAX))
    assert rewrite(home, plan).leader_epoch == 5 + EPOCH_GAP


def test_a_disk_that_was_rewritten_by_another_plan(tmp_path: Path) -> None:
    """The batch of another plan is not taken for one's own."""
    home = disks.make(tmp_path / "a")
    plan = survivor(home)
    rewrite(home, plan)
    unchanged(home, replace(plan, leader_epoch=9), "its end offset is 10, not 8")
    unchanged(home, replace(plan, endpoints=NEW), "its end offset is 10, not 8")


def test_a_static_quorum(tmp_path: Path) -> None:
    """A static quorum is refused, by a plan and by a rewrite, with its own way out."""
    pieces = {0: disks.topics(0, "a")}
    home = disks.make(tmp_path / "a", pieces, {})
    with pytest.raises(DiskError, match=r"controller\.quorum\.voters"):
        plan_of(look(home), NEW)
    dynamic = disks.make(tmp_path / "b", pieces)
    unchanged(home, replace(survivor(dynamic), checkpoint=None, voters=()), "only entry of controller.quorum.voters")


def test_disks_that_no_quorum_can_continue_from(tmp_path: Path) -> None:
    """A damaged checkpoint, a log without a segment, and a kraft.version of later releases are refused."""
    whole = disks.checkpoint(1, 2, 3)
    for name, checkpoint, segments, words in (
        ("cut", whole[:-1], None, "checkpoint, of offset 0, is damaged"),
        ("empty", whole, {}, "no segment"),
        ("later", disks.checkpoint(1, kraft_version=2), {0: disks.topics(0, "a")}, "use a later version"),
    ):
        home = disks.make(tmp_path / name, segments, {disks.FIRST: checkpoint})
        with pytest.raises(DiskError, match=words):
            plan_of(look(home), NEW)


def test_damage_needs_consent(tmp_path: Path) -> None:
    """Valid batches behind damage are cut only with consent, and only in the last segment."""
    pieces = disks.parts()
    pieces[2] = pieces[2][:-1] + b"\7"
    whole = disks.make(tmp_path / "whole")
    home = disks.make(tmp_path / "a", {0: b"".join(pieces)})
    plan = replace(survivor(whole), end_offset=5)
    unchanged(home, plan, "damaged at offset 5 .* 2 valid batches up to offset 7 .* cut_damage")
    with pytest.raises(DiskError, match="cut_damage"):
        plan_of(look(home))
    consent = plan_of(look(home), cut_damage=True)
    assert consent == replace(plan, cut_damage=True)
    done = rewrite(home, consent, now_ms=NOW_MS)
    assert (done.offset, look(home).end_offset, look(home).damage) == (5, 7, None)
    for name, segments in (
        ("early", {0: b"".join(pieces[:3]), 6: b"".join(pieces[3:])}),
        ("hole", {0: b"".join(pieces[:2]), 6: pieces[3]}),
    ):
        unchanged(disks.make(tmp_path / name, segments), replace(plan, cut_damage=True), "use another disk")


def test_an_empty_last_segment(tmp_path: Path) -> None:
    """A log that goes on in an empty segment gets its batch there."""
    home = disks.make(tmp_path / "a", {0: b"".join(disks.parts()), 8: b""})
    assert rewrite(home, survivor(home), now_ms=NOW_MS).segment_base == 8
    assert disks.segment(home, 8).read_bytes() == voters_batch(plan_of(look(disks.make(tmp_path / "b"))), NOW_MS)
    assert look(home).end_offset == 10


def test_a_running_server(tmp_path: Path) -> None:
    """A disk whose lock a server holds is refused."""
    home = disks.make(tmp_path / "a")
    (home / ".lock").touch()
    held = (
        "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    )
    command = [sys.executable, "-c", held, str(home / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"1\n"
        unchanged(home, survivor(home), "a Kafka server uses it: stop the server first")
        server.communicate(b"\n")
    assert rewrite(home, survivor(home)).changed


def test_plans(tmp_path: Path) -> None:
    """A plan is read back from JSON, and one from which no voter set can be made is refused."""
    plan = survivor(disks.make(tmp_path / "a"))
    assert read_plan(to_json(plan)) == plan
    for wrong in (
        replace(plan, directory_id="A" * 21),
        replace(plan, directory_id="A" * 21 + "B"),
        replace(plan, node_id=2**31),
        replace(plan, leader_epoch=2**31 - EPOCH_GAP),
        replace(plan, end_offset=2**63 - 1),
        replace(plan, endpoints=()),
        replace(plan, voters=named(plan) * 2),
        replace(plan, voters=tuple(replace(named(plan)[0], node_id=each) for each in range(VOTERS_MAX + 1))),
        replace(plan, voters=(replace(named(plan)[0], node_id=9, endpoints=LONG * 300), *named(plan))),
        replace(plan, voters=(replace(named(plan)[0], node_id=9, max_kraft_version=2**15), *named(plan))),
        replace(plan, endpoints=NEW + NEW),
        replace(plan, endpoints=(replace(NEW[0], port=65_536),)),
        replace(plan, endpoints=(replace(NEW[0], host=""),)),
    ):
        with pytest.raises(FormError, match="RewritePlan: "):
            read_plan(to_json(wrong))


def test_a_plan_for_a_controller_that_was_no_voter(tmp_path: Path) -> None:
    """A controller that is not in the last voter set needs endpoints."""
    home = disks.make(tmp_path / "a", {0: disks.topics(0, "a")}, {disks.FIRST: disks.checkpoint(2, 3)})
    with pytest.raises(DiskError, match="give its endpoints"):
        plan_of(look(home))
    done = rewrite(home, plan_of(look(home), NEW))
    assert done.last_offset - done.offset == 2
    voters = look(home).voters
    assert voters is not None
    assert [(each.node_id, each.endpoints) for each in voters.voters] == [(1, NEW)]


@pytest.mark.parametrize(
    ("before", "survivor_id", "chain"),
    [
        ((), 1, [{1}]),
        ((1,), 1, [{1}]),
        ((3,), 1, [{1, 3}, {1}]),
        ((1, 2, 3), 1, [{1, 2}, {1}]),
        ((1, 2, 3), 2, [{1, 2}, {2}]),
        ((2, 3), 1, [{1, 2, 3}, {1, 2}, {1}]),
    ],
)
def test_the_voter_sets_of_a_batch(
    before: tuple[int, ...], survivor_id: int, chain: list[set[int]], tmp_path: Path
) -> None:
    """From the last set of a log or checkpoint to the survivor alone, one voter comes or goes with each record."""
    topics = {0: disks.topics(0, "a")}
    last = disks.checkpoint(*before)
    home = disks.make(tmp_path / "a", topics, {disks.FIRST: last}, node=survivor_id)
    if before:
        pieces = {0: disks.control(0, disks.level(1), disks.voters(*before))}
        other = disks.make(tmp_path / "b", pieces, {}, node=survivor_id)
        assert plan_of(look(other), NEW).records == plan_of(look(home), NEW).records
    plan = plan_of(look(home), NEW)
    sets = [{each.node_id: each for each in found} for found in plan.voter_sets]
    assert [set(each) for each in sets] == chain
    own = plan.survivor
    assert own.endpoints == NEW
    old = {each.node_id: each for each in named(plan)} | {survivor_id: own}
    assert all(voter == old[node] for each in sets for node, voter in each.items())
    for one, two in pairwise([before, *sets] if before else sets):
        assert len(set(one) ^ set(two)) == (0 if before == (survivor_id,) else 1)


def test_another_disk_of_the_same_controller(tmp_path: Path) -> None:
    """The survivor takes the place of its own earlier disk in one step, because a set has a node id once."""
    home = disks.make(tmp_path / "a")
    plan = replace(survivor(home), directory_id=disks.IDS[2], endpoints=NEW)
    own, second, third = plan.survivor, *named(plan)[1:]
    assert plan.voter_sets == ((own, second, third), (own, second), (own,))
    assert replace(plan, voters=named(plan)[:1]).voter_sets == ((own,),)


def fresh(home: Path) -> Path:
    """A directory as Kafka 4.4 formats it without initial controllers."""
    made = disks.make(home, {}, {disks.FIRST: disks.checkpoint(kraft_version=1)}, node=3, leader_epoch=None)
    (made / disks.LOG / "partition.metadata").unlink()
    return made


def test_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A formatted directory gets a broker's log and the new voter set, however often the run is lost."""
    pieces = disks.parts()
    broker = disks.make(
        tmp_path / "broker", {0: b"".join(pieces[:2]), 5: b"".join(pieces[2:]) + b"\0\0"}, leader_epoch=9
    )
    (broker / disks.LOG / "00000000000000000000.index").write_bytes(b"index")
    before, target = disks.files(broker), fresh(tmp_path / "target")
    own = plan_of(look(broker), NEW)
    plan = seed_plan_of(look(broker), 3, disks.IDS[3], own)
    assert until_done(monkeypatch, lambda: seed(broker, target, plan, now_ms=NOW_MS)) > 3
    assert disks.files(broker) == before
    found = look(target)
    assert (found.node_id, found.end_offset, found.last_epoch, found.tail) == (3, 10, 9 + EPOCH_GAP, None)
    assert found.voters is not None
    assert [(each.node_id, each.directory_id) for each in found.voters.voters] == [(3, disks.IDS[3])]
    expected = {
        name: content.removesuffix(b"\0\0") + voters_batch(plan.target, NOW_MS) if name.endswith("5.log") else content
        for name, content in before.items()
        if not name.endswith(("quorum-state", ".index", "meta.properties"))
    }
    after = disks.files(target)
    assert {name: content for name, content in after.items() if name != "meta.properties"} == expected
    assert not seed(broker, target, plan).changed
    assert disks.files(target) == after
    (target / disks.LOG / "quorum-state").write_text(disks.state(9 + EPOCH_GAP))
    for each in (plan, replace(plan, target=replace(plan.target, voters=None))):
        assert not seed(broker, target, each).changed, "a server has run on the seeded disk"


def test_a_seed_without_a_checkpoint(tmp_path: Path) -> None:
    """If the broker's log begins with offset 0 and has no checkpoint, that of the format is removed."""
    broker = disks.make(tmp_path / "broker", checkpoints={}, node=2)
    target = fresh(tmp_path / "target")
    plan = seed_plan_of(look(broker), 3, disks.IDS[3], plan_of(look(broker), NEW))
    assert seed(broker, target, plan).changed
    found = look(target)
    assert (found.checkpoint, found.end_offset) == (None, 10)


def test_seeds_that_are_refused(tmp_path: Path) -> None:
    """A target with a log or a server of its own, of another cluster, or that the plan does not name, is refused."""
    broker = disks.make(tmp_path / "broker", node=2)
    plan = seed_plan_of(look(broker), 3, disks.IDS[3], plan_of(look(broker), NEW))
    target = fresh(tmp_path / "target")

    def keeps(words: str) -> None:
        before = disks.files(target)
        with pytest.raises(DiskError, match=words):
            seed(broker, target, plan)
        assert disks.files(target) == before
        shutil.rmtree(target)
        fresh(target)

    disks.segment(target).write_bytes(disks.topics(0, "own"))
    keeps("not overwritten")
    disks.segment(target, 3).touch()
    keeps("has a log of its own")
    (target / disks.LOG / "00000000000000000003-0000000001.checkpoint").touch()
    keeps("has a log of its own")
    (target / disks.LOG / "quorum-state").write_text(disks.state(1))
    keeps("a server has run on this disk")
    disks.meta(target, 3, cluster_id="other")
    keeps("its cluster id is other")
    disks.meta(target, 1)
    keeps("its node id is 1, not 3")
    with disks.segment(broker).open("ab") as file:
        file.write(disks.topics(8, "later"))
    keeps("its end offset is 9, not 8")


def test_no_link_is_written_through(tmp_path: Path) -> None:
    """A link in place of the directory that is changed is refused: it could lead to any other one."""
    home, broker = disks.make(tmp_path / "a"), disks.make(tmp_path / "b")
    plan, link = survivor(home), tmp_path / "link"
    link.symlink_to(home)
    seeding = seed_plan_of(look(broker), 1, disks.IDS[1], plan)
    before = disks.files(home)
    with pytest.raises(DiskError, match="a link is not followed"):
        rewrite(link, plan)
    with pytest.raises(DiskError, match="a link is not followed"):
        seed(broker, link, seeding)
    assert disks.files(home) == before


def test_no_seed_is_written_through_a_link(tmp_path: Path) -> None:
    """A link in place of the log directory of the target is refused, wherever it leads."""
    broker, target, other = disks.make(tmp_path / "broker"), tmp_path / "target", tmp_path / "other"
    target.mkdir()
    disks.meta(target)
    other.mkdir()
    seeding = seed_plan_of(look(broker), 1, disks.IDS[1], survivor(broker))
    for leads_to in (other, tmp_path / "nothing"):
        (target / disks.LOG).symlink_to(leads_to)
        with pytest.raises(DiskError):
            seed(broker, target, seeding)
        (target / disks.LOG).unlink()
    assert list(other.iterdir()) == []
    assert not (tmp_path / "nothing").exists()
