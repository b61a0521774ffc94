"""Settings come from the environment, and a value that cannot be used is named before the start."""

import pytest

from kafka_quorum.model.ids import usable_uuid
from kafka_quorum.settings import ObservationSettings, PodException, Settings, SettingsError, from_environment
from kit.ids import SystemIds


def test_nothing_set_gives_the_defaults() -> None:
    """An empty environment gives the defaults."""
    assert from_environment({}) == Settings()


def test_everything_set_is_taken() -> None:
    """Every variable of the chart sets its setting."""
    settings = from_environment(
        {
            "KQ_IMAGE_TEMPLATE": "mirror/kafka:{version}-slim",
            "KQ_IMAGE_PULL_POLICY": "Never",
            "KQ_WATCH_NAMESPACES": "a, b,",
            "KQ_LOG_LEVEL": "debug",
            "KQ_LOG_FORMAT": "json",
            "KQ_TICK_S": "2.5",
            "KQ_RESYNC_S": "60",
            "KQ_PROBE_PORT": "9000",
            "KQ_METRICS_PORT": "9001",
            "KQ_LEASE_NAMESPACE": "operators",
            "KQ_LEASE_NAME": "mine",
            "HOSTNAME": "operator-0",
            "KQ_OBSERVATIONS_TARGET": "/observations",
            "KQ_OBSERVATIONS_MAX_MEBIBYTES": "64",
            "KQ_OBSERVATIONS_FILE_S": "30",
            "KQ_OBSERVATIONS_KAFKA_TOPIC": "looks",
            "KQ_OBSERVATIONS_KAFKA_BOOTSTRAP": "kafka:9092",
            "KQ_OBSERVATIONS_KAFKA_CONFIG": "/etc/client.properties",
            "KQ_INTROSPECTION": "true",
        }
    )
    assert settings == Settings(
        image_template="mirror/kafka:{version}-slim",
        image_pull_policy="Never",
        namespaces=("a", "b"),
        log_level="DEBUG",
        log_format="json",
        tick_s=2.5,
        resync_s=60.0,
        probe_port=9000,
        metrics_port=9001,
        holder="operator-0",
        observations=ObservationSettings(
            target="/observations",
            max_mebibytes=64.0,
            file_s=30.0,
            topic="looks",
            bootstrap="kafka:9092",
            kafka_config="/etc/client.properties",
        ),
        lease_namespace="operators",
        lease_name="mine",
        introspection=True,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KQ_IMAGE_TEMPLATE", "apache/kafka:4.4.0"),
        ("KQ_IMAGE_PULL_POLICY", "Sometimes"),
        ("KQ_LOG_LEVEL", "LOUD"),
        ("KQ_LOG_FORMAT", "xml"),
        ("KQ_TICK_S", "soon"),
        ("KQ_TICK_S", "0"),
        ("KQ_TICK_S", "nan"),
        ("KQ_RESYNC_S", "inf"),
        ("KQ_PROBE_PORT", "-1"),
        ("KQ_METRICS_PORT", "-1"),
        ("KQ_METRICS_PORT", "65536"),
        ("KQ_METRICS_PORT", "8081.5"),
        ("KQ_OBSERVATIONS_TARGET", "observations"),
        ("KQ_OBSERVATIONS_MAX_MEBIBYTES", "0"),
        ("KQ_OBSERVATIONS_FILE_S", "-5"),
        ("KQ_INTROSPECTION", "yes"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, value: str) -> None:
    """The error names the variable and repeats its value."""
    with pytest.raises(SettingsError, match=f"{name}.*'{value}'"):
        from_environment({name: value})


def test_metrics_are_off_by_a_port_of_zero() -> None:
    """Port 0 is no port: then there is no server of metrics."""
    assert from_environment({"KQ_METRICS_PORT": "0"}).metrics_port == 0


@pytest.mark.parametrize("name", ["KQ_OBSERVATIONS_KAFKA_TOPIC", "KQ_OBSERVATIONS_KAFKA_BOOTSTRAP"])
def test_topic_and_servers_belong_together(name: str) -> None:
    """The topic without the servers, or the reverse, is refused with both names."""
    with pytest.raises(SettingsError, match=r"KQ_OBSERVATIONS_KAFKA_TOPIC.*KQ_OBSERVATIONS_KAFKA_BOOTSTRAP"):
        from_environment({name: "x"})


def test_random_ids_are_version_4_uuids() -> None:
    """Sixteen bytes with version and variant set, different each time, and nearly always usable as a Kafka UUID."""
    made = [SystemIds().uuid_bytes() for _ in range(200)]
    assert all(len(raw) == 16 and raw[6] >> 4 == 4 and raw[8] >> 6 == 2 for raw in made)
    assert len(set(made)) == len(made)
    assert sum(map(usable_uuid, made)) > 180


def test_a_selector_that_cannot_be_read() -> None:
    """A label selector with a fault is named with the place; a good one is kept as it is written."""
    assert from_environment({"KQ_SELECTOR": "shard in (a,b)"}).selector.text == "shard in (a,b)"
    assert from_environment({}).selector.selects(None)
    with pytest.raises(SettingsError, match=r"KQ_SELECTOR is 'shard>1': from 'shard>1' on"):
        from_environment({"KQ_SELECTOR": "shard>1"})


def test_exceptions_from_the_pod_policy() -> None:
    """Every existing exception can be listed; an unknown one is named, with the existing ones."""
    listed = from_environment({"KQ_POD_POLICY_ALLOW": ", ".join(PodException)})
    assert listed.pod_exceptions == frozenset(PodException)
    with pytest.raises(SettingsError, match=r"everything.*root, secretVariables"):
        from_environment({"KQ_POD_POLICY_ALLOW": "root,everything"})
