"""A resource without a valid spec has every condition and a complete row, and nothing that looks current."""

from tests.model.values import NAME
from tests.status.contradictions import contradictions
from tests.status.passes import FAULT, done

from kafka_quorum.api.status import KafkaQuorumStatus
from kafka_quorum.observe.objects import status_from
from kafka_quorum.status.build import build
from kafka_quorum.status.news import news
from kafka_quorum.status.refused import refused
from kit.conditions.patch import patch_of

NOW = "2026-01-01T00:00:00Z"


def test_resource_that_never_was_valid() -> None:
    """DOING and MESSAGE report the field and what to write, and Ready is false because of the spec."""
    status = refused({}, (FAULT,), name=NAME, generation=2, now=NOW)
    assert contradictions(status, generation=2) == []
    KafkaQuorumStatus.model_validate(status, by_alias=True, by_name=False, extra="forbid")
    rows = {row["type"]: (row["status"], row["reason"]) for row in status["conditions"]}
    assert rows["Ready"] == rows["Progressing"] == ("False", "InvalidSpec")
    assert rows["Available"] == ("False", "NotStarted")
    assert (status["doing"], status["message"]) == ("InvalidSpec", f"{FAULT.field}: {FAULT.message}")
    assert (status["replicas"], status["quorum"]["summary"]) == (0, "0/0")


def test_what_was_there_is_not_shown_as_current() -> None:
    """For an earlier quorum the identity stays, the health is unknown, and there is no leader."""
    old = build(done(), {}, generation=1, now="2025-01-01T00:00:00Z")
    status = refused(old, (FAULT,), name=NAME, generation=2, now=NOW)
    assert contradictions(status, generation=2) == []
    assert status_from({"status": status}) == status_from({"status": old})
    rows = {row["type"]: row["status"] for row in status["conditions"]}
    assert rows["Available"] == rows["Degraded"] == "Unknown"
    assert status["quorum"]["summary"] == "?/3"
    assert status["quorum"]["unknownSince"] == NOW
    assert {row["role"] for row in status["controllers"]} == {"Unknown"}


def test_it_is_told_once() -> None:
    """The refusal is one event, again only for other faults; a repetition changes nothing."""
    first = refused({}, (FAULT,), name=NAME, generation=1, now=NOW)
    (notice,) = news({}, first)
    assert (notice.reason, notice.warning) == ("InvalidSpec", True)
    again = refused(first, (FAULT,), name=NAME, generation=1, now="2026-01-02T00:00:00Z")
    assert news(first, again) == ()
    assert patch_of(first, again) == {}
