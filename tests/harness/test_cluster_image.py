"""Two images of a cluster differ in exactly the facts that differ, each named in one sentence."""

from dataclasses import replace

import pytest

from harness.cluster_image import ClusterImage, TopicImage, differences

ORDERS = TopicImage(topic_id="J7Vu6wdCSw6QOJFLzRAkqA", replicas={0: (1, 2), 1: (2, 1)}, settings={"retention.ms": "1"})
IMAGE = ClusterImage(
    cluster_id="abc",
    topics={"orders": ORDERS},
    broker_settings={"": {"message.max.bytes": "1"}, "1": {}},
    acls=frozenset({"User:a on TOPIC 'orders' (LITERAL): ALLOW READ from *"}),
    users={"alice": {"SCRAM_SHA_512": 4096}},
    quotas={"user=alice": {"producer_byte_rate": 1.0}},
)


def _with_topic(topic: TopicImage) -> ClusterImage:
    return replace(IMAGE, topics={"orders": topic})


def test_an_image_does_not_differ_from_itself() -> None:
    """Nothing is named, whatever the order of its parts."""
    other = replace(ORDERS, replicas={1: (2, 1), 0: (1, 2)})
    assert differences(IMAGE, IMAGE) == ()
    assert differences(IMAGE, _with_topic(other)) == ()


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        pytest.param(replace(IMAGE, cluster_id="xyz"), "cluster id: abc before, xyz after", id="cluster id"),
        pytest.param(
            _with_topic(replace(ORDERS, topic_id="B")),
            "topic orders, id: J7Vu6wdCSw6QOJFLzRAkqA before, B after",
            id="topic id",
        ),
        pytest.param(
            _with_topic(replace(ORDERS, replicas={0: (2, 1), 1: (2, 1)})),
            "topic orders, partition 0, replicas: 1, 2 before, 2, 1 after",
            id="order of replicas",
        ),
        pytest.param(
            _with_topic(replace(ORDERS, replicas={0: (1, 2)})),
            "topic orders, partition 1, replicas: 2, 1 before, and is missing",
            id="partition",
        ),
        pytest.param(
            _with_topic(replace(ORDERS, settings={})),
            "topic orders, retention.ms: 1 before, and is missing",
            id="topic setting",
        ),
        pytest.param(
            replace(IMAGE, broker_settings={"": {"message.max.bytes": "1"}, "1": {"num.io.threads": "9"}}),
            "broker 1, num.io.threads: 9, which was not there before",
            id="broker setting",
        ),
        pytest.param(
            replace(IMAGE, broker_settings={"1": {}}),
            "broker <default>, message.max.bytes: 1 before, and is missing",
            id="default setting",
        ),
        pytest.param(
            replace(IMAGE, acls=frozenset()),
            "ACL User:a on TOPIC 'orders' (LITERAL): ALLOW READ from *: there before, and is missing",
            id="ACL",
        ),
        pytest.param(
            replace(IMAGE, users={"alice": {"SCRAM_SHA_512": 8192}}),
            "SCRAM user alice, SCRAM_SHA_512, iterations: 4096 before, 8192 after",
            id="iterations",
        ),
        pytest.param(
            replace(IMAGE, quotas={"user=alice": {"producer_byte_rate": 2.0}}),
            "quota user=alice, producer_byte_rate: 1.0 before, 2.0 after",
            id="quota",
        ),
    ],
)
def test_each_fact_that_differs_is_named(after: ClusterImage, sentence: str) -> None:
    """One sentence for it, and no other."""
    assert differences(IMAGE, after) == (sentence,)


def test_a_missing_topic_is_named_with_everything_of_it() -> None:
    """Its id, its partitions and its settings; in the other direction they are new."""
    empty = replace(IMAGE, topics={})
    assert len(differences(IMAGE, empty)) == 4
    assert all(row.endswith("and is missing") for row in differences(IMAGE, empty))
    assert all(row.endswith("not there before") for row in differences(empty, IMAGE))
