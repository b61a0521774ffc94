"""Record and revisions of a pool are read back exactly as stored, and unreadable ones are reported."""

import json

from tests.brokers.values import desired, record, revision

from kafka_brokers.resources.stored import record_from, record_object, revision_from, revision_object


def test_round_trip() -> None:
    """A record and a revision are read back as they were written."""
    item = json.loads(json.dumps(record_object(desired(), record(volumes=2))))
    item["metadata"]["resourceVersion"] = ""
    assert record_from(item) == record(volumes=2)
    stored = json.loads(json.dumps(revision_object(desired(), revision(), {"quorum": "events"})))
    assert revision_from(stored) == (revision(), {"quorum": "events"})
