"""`status`: one screen from the status of a quorum."""

import pytest
from tests.kubectl_kq.worlds import NOW, ago, listed, look, pool, quorum, saying, silent, wait

from kubectl_kq.answers import NotRead, Why
from kubectl_kq.page import DONE, UNKNOWN
from kubectl_kq.render import as_text, data
from kubectl_kq.sources import Source
from kubectl_kq.status import list_page, status_page

SCREEN_LINES = 50


def test_a_quorum_that_is_well_fits_on_one_screen() -> None:
    """A quorum of three with a pool takes at most 50 lines of 100 columns, and says what one looks for."""
    page = status_page(look(), NOW)
    text = as_text(page)
    assert text.count("\n") <= SCREEN_LINES
    assert max(map(len, text.splitlines())) <= 100
    assert page.code == DONE
    for words in ("Done", "3/3", "3001", "4.4-IV2 (33)", "12s ago", "demo-3002-g1", "worker-3", "brokers"):
        assert words in text
    assert "Not read" not in text


def test_what_is_not_of_now_is_named() -> None:
    """An old look, a pause, and a spec that was not acted on are said in the head."""
    item = saying({"lastLook": ago(3600), "observedGeneration": 2}, {"paused": True})
    found = data(status_page(look({Source.QUORUM: item}), NOW))
    assert "No operator has looked for 1h" in found["stale"]
    assert found["paused"] is True
    assert "generation 3" in found["notYet"]
    assert not {"stale", "paused", "notYet"} & set(data(status_page(look(), NOW)))


def test_a_deletion_is_named_and_its_generation_is_not() -> None:
    """A deletion raises the generation, which no operator ever acts on."""
    item = saying({"observedGeneration": 2})
    item["metadata"]["deletionTimestamp"] = ago(60)
    found = data(status_page(look({Source.QUORUM: item}), NOW))
    assert "being deleted" in found["stale"]
    assert "notYet" not in found


def test_waits_stand_with_their_controllers() -> None:
    """Every wait is a row with its controllers and its age."""
    item = saying({"waits": [wait("Rolling", "Progress", "Waiting for voter 3002", 3000, 3001, seconds=75)]})
    (row,) = data(status_page(look({Source.QUORUM: item}), NOW))["waits"]
    assert row["nodeIDs"] == [3000, 3001]
    assert row["since"] == {"at": ago(75), "age": "1m15s ago"}


def test_a_pool_that_does_not_answer_is_a_row() -> None:
    """Pools that were not read are listed as such, and the exit code says so; the quorum is shown."""
    page = status_page(look({Source.POOLS: silent()}), NOW)
    assert data(page)["notRead"] == [{"what": "KafkaBrokerPools", "why": "NoAnswer", "words": "no answer within 6 s"}]
    assert data(page)["name"] == "demo"
    assert page.code == UNKNOWN


def test_an_operator_without_pools_is_no_fault() -> None:
    """An API server without the kind of pools, as with an older operator, leaves the list out without a word."""
    page = status_page(look({Source.POOLS: NotRead(why=Why.NO_KIND, words="no such resource")}), NOW)
    assert data(page)["notRead"] == []
    assert page.code == DONE


def test_pools_of_other_quorums_are_left_out() -> None:
    """Only pools whose spec names this quorum are shown."""
    other = pool()
    other["spec"]["quorum"] = "another"
    assert data(status_page(look({Source.POOLS: listed(other)}), NOW))["pools"] == []


def later() -> dict[str, object]:
    """The quorum as an operator of the next minor version might write it: more fields, words and rows."""
    item = quorum()
    item["spec"]["novelty"] = {"a": [1]}
    item["status"] |= {"novelty": {"deep": [{"x": 1}]}, "waits": [wait("Novelty", "Curious", "of a later version")]}
    item["status"]["controllers"][0] |= {"role": "Candidate", "shelf": 3}
    item["status"]["conditions"].append({"type": "Novel", "status": "True", "extra": {}})
    return item


def earlier() -> dict[str, object]:
    """The quorum as an earlier operator writes it: without fields that came later."""
    item = quorum()
    for name in ("lastLook", "metadataVersion", "waits", "observedGeneration"):
        del item["status"][name]
    item["status"]["quorum"] = {"summary": "3/3"}
    return item


def broken() -> dict[str, object]:
    """A status in which every field has a wrong type."""
    item = quorum()
    item["status"] = {name: 7 if isinstance(value, (dict, list)) else [value] for name, value in item["status"].items()}
    return item


@pytest.mark.parametrize("make", [later, earlier, broken, dict], ids=["later", "earlier", "broken", "empty"])
def test_another_version_is_no_error(make: object) -> None:
    """Unknown, missing and wrong fields are no error: what is understood is shown, a wrong value as `?`."""
    assert callable(make)
    page = status_page(look({Source.QUORUM: make()}), NOW)
    assert as_text(page)
    if make is later:
        found = data(page)
        assert found["waits"][0]["reason"] == "Novelty"
        assert found["controllers"][0]["role"] == "Candidate"
        assert found["conditions"][-1]["type"] == "Novel"
    if make is broken:
        assert data(page)["doing"] == "?"


def test_several_quorums_are_listed() -> None:
    """Without a name and with several quorums there is a line for each; without any, a sentence."""
    text = as_text(list_page([quorum(), saying({"doing": "NoLeader", "message": "no leader answers"})], "kafka", NOW))
    assert "no leader answers" in text
    assert text.count("demo") == 2
    assert "There is no KafkaQuorum in namespace kafka" in as_text(list_page([], "kafka", NOW))
