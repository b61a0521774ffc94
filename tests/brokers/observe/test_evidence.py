"""What runs of a pod's script found empty: which runs count together, and the note of them on the pod."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.edges import api_server, pod_name
from tests.brokers.looks import CRASHES, look, ran, refused
from tests.brokers.observe.test_snapshot import taken
from tests.brokers.test_reconcile import KEY, at_rest
from tests.brokers.values import desired, record

from kafka_brokers.model import names
from kafka_brokers.model.evidence import FOLLOWS_WITHIN_S, empty_for_s, empty_in, is_news, noted
from kafka_brokers.model.found import FoundEmpty, Run, SinceEmpty
from kafka_brokers.model.observed import DisksReport, Pod
from kafka_brokers.resources.notes import note_of, text_of
from kafka_quorum.model.pods import DiskFound
from kit.kube.protocol import Json
from kit.stamps import seconds_of

EMPTY, DATA = DiskFound.EMPTY, DiskFound.FORMATTED
POD = replace(look(ran(record(), desired())).pods[1], container=CRASHES)


def report(number: int, *found: DiskFound, ended_s: float = 0.0, container: str = "kafka") -> DisksReport:
    """What this run found; runs are 20 s apart unless it is said."""
    return refused(ended_s or 1_000.0 + 20 * number, *found, run=Run(container=container, number=number))


def after(*reports: tuple[DisksReport, float]) -> Pod:
    """The pod after these reports, each noted then (seconds since the epoch) if it is news."""
    pod = POD
    for one, now_s in reports:
        pod = replace(pod, report=one)
        if is_news(pod):
            pod = replace(pod, noted=noted(pod, now_s))
    return pod


def test_runs_that_follow_each_other_count_from_the_first() -> None:
    """The lesser of both clocks counts; the same run seen again is one run."""
    first, second, third = ((report(number), 1_100.0 + 20 * number) for number in (1, 2, 3))
    assert empty_for_s(after(first), 0) == 0.0
    assert empty_for_s(after(first, first), 0) == 0.0
    assert empty_for_s(after(first, second), 0) == 20.0
    assert empty_for_s(after(first, second, third), 0) == 40.0
    assert empty_for_s(after(first, (report(2, ended_s=1_021.0), 1_140.0)), 0) == 1.0
    assert empty_for_s(after(first, (report(2), 1_121.0)), 0) == 1.0


def test_a_note_from_the_future_begins_again() -> None:
    """The operator that wrote it had another clock: it would count as nothing for as long as that clock is ahead."""
    first = (report(1), 9_999.0)
    assert empty_for_s(after(first, (report(2), 1_140.0)), 0) == 0.0
    assert empty_for_s(after(first, (report(2), 1_140.0), (report(3), 1_160.0)), 0) == 20.0


@pytest.mark.parametrize("number", [0, 1, 3, 9])
def test_a_run_that_nobody_saw_ends_the_evidence(number: int) -> None:
    """It may have found the data; so does a count that begins again, and another container."""
    first = (report(1), 1_100.0)
    assert empty_for_s(after(first, (report(number, ended_s=2_000.0), 2_000.0)), 0) <= 0
    other = (report(2, container="verify", ended_s=2_000.0), 2_000.0)
    assert empty_for_s(after(first, other), 0) == 0.0


def test_a_count_that_begins_again_adds_nothing() -> None:
    """The same number with another end is another run, and a number that seems to be the next one came much later."""
    first, second = (report(0), 1_100.0), (report(1), 1_120.0)
    late = (report(1, ended_s=1_000.0 + FOLLOWS_WITHIN_S + 1), 9_000.0)
    assert empty_for_s(after(first, late), 0) == 0.0
    again = (report(1, ended_s=1_021.0), 1_121.0)
    assert empty_for_s(after(first, second), 0) == 20.0
    assert empty_for_s(after(first, second, again), 0) == 0.0
    assert empty_for_s(after(first, (report(1, ended_s=999.0), 1_120.0)), 0) == 0.0
    pod = after(first, second)
    assert not is_news(replace(pod, report=report(1, ended_s=1_020.7)))
    assert is_news(replace(pod, report=again[0]))
    assert empty_for_s(replace(pod, report=again[0]), 0) == 0.0
    assert empty_for_s(replace(pod, report=report(2, ended_s=1_020.0 + FOLLOWS_WITHIN_S)), 0) == 20.0
    assert empty_for_s(replace(pod, report=report(2, ended_s=1_021.0 + FOLLOWS_WITHIN_S)), 0) == 0.0


def test_data_that_the_other_script_found_ends_the_evidence() -> None:
    """A new sandbox runs the init container between two runs of Kafka's own one; the evidence begins after that."""
    first, second, third = ((report(number), 1_100.0 + 20 * number) for number in (1, 2, 3))
    data = report(7, DATA, container="verify", ended_s=1_030.0)
    pod = replace(after(first), beside=data, report=second[0])
    assert empty_for_s(replace(pod, noted=noted(replace(pod, beside=None), 1_140.0)), 0) == 0.0
    pod = replace(pod, noted=noted(pod, 1_140.0))
    assert empty_for_s(pod, 0) == 0.0
    pod = replace(pod, report=third[0])
    assert empty_for_s(replace(pod, noted=noted(pod, 1_160.0)), 0) == 20.0
    for harmless in (
        replace(data, finished_at_s=1_019.0),
        report(7, EMPTY, container="verify", ended_s=1_030.0),
    ):
        assert empty_for_s(replace(after(first, second), beside=harmless), 0) == 20.0
    assert empty_for_s(replace(after(first, second), beside=replace(data, finished_at_s=1_020.0)), 0) == 0.0


def test_each_volume_counts_by_itself() -> None:
    """One whose data a run found begins again."""
    pod = after((report(1, EMPTY, EMPTY), 1_100.0), (report(2, DATA, EMPTY), 1_120.0))
    assert (empty_for_s(pod, 0), empty_for_s(pod, 1), empty_for_s(pod, 2)) == (0.0, 20.0, 0.0)
    pod = after(
        (report(1, EMPTY, EMPTY), 1_100.0), (report(2, DATA, EMPTY), 1_120.0), (report(3, EMPTY, EMPTY), 1_140.0)
    )
    assert (empty_for_s(pod, 0), empty_for_s(pod, 1)) == (0.0, 40.0)


def test_the_next_run_adds_to_what_is_noted() -> None:
    """Until it is noted as well, the runs before it count for as long as they did."""
    pod = after((report(1), 1_100.0), (report(2), 1_120.0))
    assert empty_for_s(replace(pod, report=report(3)), 0) == 20.0


def test_an_older_note_is_no_evidence() -> None:
    """Of another run than the last one or the one before it, or beside a report that cannot be told from others."""
    pod = after((report(1), 1_100.0), (report(2), 1_120.0))
    for number in (0, 1, 4):
        assert empty_for_s(replace(pod, report=report(number, ended_s=1_050.0)), 0) == 0.0
    assert empty_for_s(replace(pod, report=report(3, container="verify")), 0) == 0.0
    assert empty_for_s(replace(pod, report=report(2, DATA)), 0) == 0.0
    assert empty_for_s(replace(pod, report=report(3, DATA)), 0) == 0.0
    assert empty_for_s(replace(pod, report=None), 0) == 0.0
    assert empty_for_s(replace(pod, noted=None), 0) == 0.0
    assert empty_for_s(replace(pod, report=replace(report(2), run=None)), 0) == 0.0


def test_what_is_news() -> None:
    """A run that is known, ended at a known time, found something empty, and is not noted yet."""
    for said, news in (
        (report(1), True),
        (report(1, DATA, EMPTY), True),
        (report(1, DATA), False),
        (report(1, DiskFound.UNREADABLE), False),
        (replace(report(1), run=None), False),
        (replace(report(1), finished_at_s=0.0), False),
        (None, False),
    ):
        pod = replace(POD, report=said)
        assert is_news(pod) is news
        if not news:
            with pytest.raises(ValueError, match="nothing that is to be noted"):
                noted(pod, 1.0)
    assert not is_news(after((report(1), 1_100.0)))
    assert empty_in(report(1, DATA, EMPTY)) == (1,)


NOTE = FoundEmpty(
    run=Run(container="kafka", number=7),
    finished_at_s=1_767_225_600.0,
    noted_at_s=1_767_225_601.0,
    volumes=(SinceEmpty(index=2, finished_at_s=1_767_225_500.0, noted_at_s=1_767_225_502.0),),
)


def test_a_note_is_read_back_as_it_was_written() -> None:
    """As text in an annotation."""
    assert note_of(text_of(NOTE)) == NOTE
    assert json.loads(text_of(NOTE))["run"] == "kafka/7"


def changed(**changes: Any) -> str:  # noqa: ANN401 - any JSON
    """The note's text with other fields."""
    return json.dumps({**json.loads(text_of(NOTE)), **changes})


BAD: list[object] = [
    None,
    7,
    "",
    "[]",
    "{}",
    "{" * 5_000,
    "x" * 20_000,
    changed(schemaVersion=2),
    changed(run="kafka"),
    changed(run="kafka/-1"),
    changed(run="kafka/" + "9" * 30),
    changed(run=7),
    changed(finishedAt=""),
    changed(notedAt="yesterday"),
    changed(notedAt=7),
    changed(empty=[]),
    changed(empty={"a": {"finishedAt": "2026-01-01T00:00:00Z", "notedAt": "2026-01-01T00:00:00Z"}}),
    changed(empty={"0": {"finishedAt": "2026-01-01T00:00:00Z"}}),
    changed(empty={"0": {"finishedAt": "1969-01-01T00:00:00Z", "notedAt": "2026-01-01T00:00:00Z"}}),
    changed(empty={"0": None}),
    changed(empty={"0": {"finishedAt": "9999-12-31T23:59:59-23:59", "notedAt": "2026-01-01T00:00:00Z"}}),
]


@pytest.mark.parametrize("said", BAD, ids=range(len(BAD)))
def test_any_other_text_is_no_note(said: object) -> None:
    """Anybody may write it, and a later version may have: the evidence begins again."""
    assert note_of(said) is None


def shown(state: Json, last: Json, count: object, identity: str = "c4") -> Json:
    """A pod whose Kafka container has this state, last state, number of restarts, and identity."""
    row: Json = {"name": "kafka", "state": state, "lastState": last, "containerID": identity}
    return row if count is None else row | {"restartCount": count}


def ends(message: str, at: str = "2026-01-01T00:00:10Z", identity: str = "c4") -> Json:
    """A container that has ended."""
    return {"terminated": {"exitCode": 1, "message": message, "finishedAt": at, "containerID": identity}}


def text(found: str) -> str:
    """The report of a script on one volume."""
    row = {"index": 0, "found": found, "clusterID": "", "nodeID": "", "directoryID": ""}
    return json.dumps({"script": 1, "volumes": [row], "accepted": False, "message": f"the volume is {found}"})


TEXT = text("empty")
WAITING: Json = {"waiting": {"reason": "CrashLoopBackOff"}}
INITIALIZING: Json = {"waiting": {"reason": "PodInitializing"}}


@pytest.mark.parametrize(
    ("row", "number"),
    [
        (shown(ends(TEXT), {}, 0), 0),
        (shown(ends(TEXT), ends("log", identity="c3"), 4), 4),
        (shown(WAITING, ends(TEXT), 4), 4),
        (shown(ends(TEXT), {}, None), None),
        (shown(ends(TEXT), {}, "4"), None),
        (shown(ends(TEXT), {}, -1), None),
    ],
)
async def test_which_run_wrote_a_report(row: Json, number: int | None) -> None:
    """The newest one. While a container waits, its last state is that."""
    kube = api_server()
    kube.objects[pod_name(1)]["status"]["containerStatuses"] = [row]
    said = (await taken(kube)).pods[1].report
    assert said is not None
    assert said.run == (None if number is None else Run(container="kafka", number=number))


@pytest.mark.parametrize(
    "row",
    [
        shown(ends("log of Kafka", identity="c5"), ends(TEXT), 5, "c5"),
        shown(ends("", identity="c5"), ends(TEXT), 5, "c5"),
        shown(WAITING, ends(TEXT), 5, "c5"),
        shown(INITIALIZING, ends(TEXT), 5, ""),
        shown(INITIALIZING, {"terminated": {"message": TEXT}}, 5, ""),
    ],
    ids=["Kafka ended", "the machine ended", "created since", "lost by the runtime", "no identity"],
)
async def test_what_an_earlier_run_found_is_no_report(row: Json) -> None:
    """Kafka has run on the data since then, or may have."""
    kube = api_server()
    kube.objects[pod_name(1)]["status"]["containerStatuses"] = [row]
    assert (await taken(kube)).pods[1].report is None


@pytest.mark.parametrize("index", [-1, 2**40, True, "0.0"])
async def test_a_report_of_an_impossible_volume_is_none(index: object) -> None:
    """Anything in the container may have written it. It could be noted, and not read back."""
    body = json.loads(TEXT)
    body["volumes"].append({**body["volumes"][0], "index": index})
    kube = api_server()
    kube.objects[pod_name(1)]["status"]["containerStatuses"] = [shown(WAITING, ends(json.dumps(body)), 4)]
    assert (await taken(kube)).pods[1].report is None


def both(main: Json, init: Json) -> Json:
    """A pod's status with these states of Kafka's container and of the init container."""
    return {
        "containerStatuses": [shown(main, ends(TEXT), 4)],
        "initContainerStatuses": [shown(init, {}, 1, "i1") | {"name": "verify"}],
    }


def seen(at: str) -> Json:
    """The init container has found the data."""
    return ends(text("formatted"), at, "i1")


@pytest.mark.parametrize(
    ("status", "report_of", "beside"),
    [
        (both(ends(TEXT), seen("2026-01-01T00:00:10Z")), "kafka", "verify"),
        (both(ends(TEXT), seen("2026-01-01T00:00:11Z")), "verify", "kafka"),
        (both({"running": {}}, seen("2026-01-01T00:00:11Z")), "verify", None),
        (both(ends(TEXT), {"running": {}}), None, None),
    ],
    ids=["in the same second", "later", "Kafka runs", "it runs again"],
)
async def test_what_the_other_script_found(status: Json, report_of: str | None, beside: str | None) -> None:
    """The init container runs again in a new sandbox. The later report counts as that of the pod."""
    kube = api_server()
    kube.objects[pod_name(1)]["status"] |= status
    pod = (await taken(kube)).pods[1]
    ran = [one and one.run and one.run.container for one in (pod.report, pod.beside)]
    assert ran == [report_of, beside]


FIRST_S, SECOND_S = seconds_of("2026-01-01T00:00:10Z"), seconds_of("2026-01-01T00:05:11Z")


@pytest.mark.parametrize(
    ("main", "for_s"),
    [
        (ends("log of Kafka", "2026-01-01T00:05:00Z"), 0.0),
        (ends("", "2026-01-01T00:00:10Z"), 0.0),
        (ends("log of Kafka", "2026-01-01T00:00:09Z"), 301.0),
        (ends(TEXT, "2026-01-01T00:05:00Z"), 301.0),
        (ends("", ""), 301.0),
        (INITIALIZING, 301.0),
    ],
    ids=["Kafka ran", "in that second", "before", "its script found the same", "at no known time", "it never ran"],
)
async def test_kafka_that_ran_between_two_sandboxes_ends_the_evidence(main: Json, for_s: float) -> None:
    """The init container counts from 0 again in each: its second run may seem to follow the noted one."""
    since = SinceEmpty(index=0, finished_at_s=FIRST_S, noted_at_s=FIRST_S)
    run = Run(container="verify", number=0)
    kube = api_server()
    item = kube.objects[pod_name(1)]
    item["metadata"]["annotations"][names.FOUND_EMPTY] = text_of(
        FoundEmpty(run=run, finished_at_s=FIRST_S, noted_at_s=FIRST_S, volumes=(since,))
    )
    init = shown(WAITING, ends(TEXT, "2026-01-01T00:05:11Z", "i1"), 1, "i1") | {"name": "verify"}
    item["status"] |= {"containerStatuses": [shown(main, {}, 1)], "initContainerStatuses": [init]}
    pod = (await taken(kube)).pods[1]
    assert empty_for_s(replace(pod, noted=noted(pod, SECOND_S)), 0) == for_s


async def test_the_operator_writes_the_note_and_reads_it() -> None:
    """On the pod whose script found it, and only once for each run."""
    bench = await at_rest()
    pod = bench.kube.objects[pod_name(1)]
    pod["status"]["containerStatuses"] = [shown(WAITING, ends(TEXT), 4)]
    pod["metadata"]["resourceVersion"] = "51"
    bench.reconciler.changed(KEY)
    await bench.run()
    (metadata,) = (call.body["metadata"] for call in bench.acts() if call.body and names.FOUND_EMPTY in str(call.body))
    assert (metadata["uid"], metadata["resourceVersion"]) == (pod["metadata"]["uid"], "51")
    written = metadata["annotations"][names.FOUND_EMPTY]
    note = note_of(written)
    assert note is not None
    assert (note.run, [row.index for row in note.volumes]) == (Run(container="kafka", number=4), [0])
    pod["metadata"]["annotations"][names.FOUND_EMPTY] = written
    pod["metadata"]["resourceVersion"] = "52"
    bench.reconciler.changed(KEY)
    bench.kube.calls.clear()
    await bench.run()
    assert [call for call in bench.acts() if names.FOUND_EMPTY in str(call.body)] == []
