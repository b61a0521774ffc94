"""Settings come from the environment; what cannot be used is named, before anything starts."""

import pytest

from kafka_quorum.model.ids import usable_uuid
from kafka_quorum.settings import Settings, SettingsError, SystemIds, from_environment


def test_nothing_set_gives_the_defaults() -> None:
    """An empty environment is a valid one."""
    assert from_environment({}) == Settings()


def test_everything_set_is_taken() -> None:
    """Every variable of the chart reaches its setting."""
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
            "KQ_LEASE_NAMESPACE": "operators",
            "KQ_LEASE_NAME": "mine",
            "HOSTNAME": "operator-0",
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
        holder="operator-0",
        lease_namespace="operators",
        lease_name="mine",
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
    ],
)
def test_what_cannot_be_used_is_named(name: str, value: str) -> None:
    """The error names the variable and repeats its value."""
    with pytest.raises(SettingsError, match=f"{name} is '{value}'"):
        from_environment({name: value})


def test_random_ids_are_version_4_uuids() -> None:
    """Sixteen bytes with version and variant set, different each time, and nearly always usable as a Kafka UUID."""
    made = [SystemIds().uuid_bytes() for _ in range(200)]
    assert all(len(raw) == 16 and raw[6] >> 4 == 4 and raw[8] >> 6 == 2 for raw in made)
    assert len(set(made)) == len(made)
    assert sum(map(usable_uuid, made)) > 180
