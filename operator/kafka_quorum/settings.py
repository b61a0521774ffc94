"""What the operator takes from its environment."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kit.conditions.last_look import EVERY_S
from kit.selector import EVERYTHING, Selector, SelectorError, parse

_PORT_MAX: Final = 65535
_AT_REST_S: Final = 10.0


class PodException(StrEnum):
    """What `podPolicy.allow` of the chart may list: exceptions from the policy for pods (`api.podpolicy`)."""

    SERVICE_ACCOUNTS = "serviceAccounts"
    SECRET_VARIABLES = "secretVariables"  # noqa: S105 - the name of an exception
    ROOT = "root"
    UNCONFINED = "unconfined"


class SettingsError(ValueError):
    """An environment variable that cannot be used; the text names it and what it should hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationSettings:
    """Where observations go. `target` is a directory or a URL that fsspec supports; empty for none, as `topic` is.

    `max_mebibytes` bounds what is kept at the target; `file_s` is how long unimportant lines wait for a file to fill.
    `bootstrap` are Kafka's bootstrap servers, `kafka_config` names a file of librdkafka's properties.
    """

    target: str = ""
    max_mebibytes: float = 256.0
    file_s: float = 300.0
    topic: str = ""
    bootstrap: str = ""
    kafka_config: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The operator's settings. `namespaces` is empty for all; `image_template` has a `{version}` in it.

    `look_max_age_s` is how old the look may be that an act on the quorum is judged by (`docs/safety.md`).
    `holder` is the name under which this process holds the lease, which must be no other process's.
    `resync_s` is how long remembered Kubernetes objects are trusted while no watch reports an event.
    """

    image_template: str = "apache/kafka:{version}"
    operator_image: str = ""
    """The operator's own image: pods get the agent that reports metrics from it."""
    image_pull_policy: str = "IfNotPresent"
    namespaces: tuple[str, ...] = ()
    selector: Selector = EVERYTHING
    """Only resources with such labels are served: the share of one of several operators."""
    log_level: str = "INFO"
    log_format: str = "text"
    tick_s: float = 10.0
    resync_s: float = 120.0
    look_max_age_s: float = 2.0
    holder: str = "kafka-quorum-operator"
    lease_namespace: str = "default"
    lease_name: str = "kafka-quorum-operator"
    probe_port: int = 8080
    metrics_port: int = 8081
    """Where metrics are scraped; 0 for nowhere."""
    pod_exceptions: frozenset[PodException] = frozenset()
    """What creators of KafkaQuorums may do through pods beyond the policy."""
    observations: ObservationSettings = field(default_factory=ObservationSettings)
    introspection: bool = False
    """Whether looks are written and questions are answered. The chart sets it, with the rights that it needs."""

    @property
    def rest_s(self) -> float:
        """The pause between two glances at a quorum at rest, in seconds: a longer tick would miss what happens."""
        return min(self.tick_s, _AT_REST_S)

    @property
    def idle_s(self) -> float:
        """The pause after a pass that decided nothing, in seconds: a longer tick would break what stamps promise."""
        return min(self.tick_s, EVERY_S)


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read `KQ_…` variables; SettingsError names the first that cannot be used."""
    defaults = Settings()
    template = environment.get("KQ_IMAGE_TEMPLATE") or defaults.image_template
    if "{version}" not in template:
        raise SettingsError(
            f"KQ_IMAGE_TEMPLATE is {template!r}: write {{version}} into it, as apache/kafka:{{version}}"
        )
    level = (environment.get("KQ_LOG_LEVEL") or defaults.log_level).upper()
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise SettingsError(f"KQ_LOG_LEVEL is {level!r}: use DEBUG, INFO, WARNING or ERROR")
    log_format = environment.get("KQ_LOG_FORMAT") or defaults.log_format
    if log_format not in ("text", "json"):
        raise SettingsError(f"KQ_LOG_FORMAT is {log_format!r}: use text or json")
    policy = environment.get("KQ_IMAGE_PULL_POLICY") or defaults.image_pull_policy
    if policy not in ("Always", "IfNotPresent", "Never"):
        raise SettingsError(f"KQ_IMAGE_PULL_POLICY is {policy!r}: use Always, IfNotPresent or Never")
    watched = environment.get("KQ_WATCH_NAMESPACES", "")
    return Settings(
        image_template=template,
        operator_image=environment.get("KQ_OPERATOR_IMAGE", ""),
        image_pull_policy=policy,
        namespaces=tuple(name.strip() for name in watched.split(",") if name.strip()),
        selector=_selector(environment),
        log_level=level,
        log_format=log_format,
        tick_s=_positive(environment, "KQ_TICK_S", defaults.tick_s),
        resync_s=_positive(environment, "KQ_RESYNC_S", defaults.resync_s),
        holder=environment.get("HOSTNAME") or defaults.holder,
        lease_namespace=environment.get("KQ_LEASE_NAMESPACE") or defaults.lease_namespace,
        lease_name=environment.get("KQ_LEASE_NAME") or defaults.lease_name,
        probe_port=int(_positive(environment, "KQ_PROBE_PORT", defaults.probe_port)),
        metrics_port=_port(environment, "KQ_METRICS_PORT", defaults.metrics_port),
        pod_exceptions=_exceptions(environment),
        observations=_observations(environment),
        introspection=_switch(environment, "KQ_INTROSPECTION", default=defaults.introspection),
    )


def _selector(environment: Mapping[str, str]) -> Selector:
    text = environment.get("KQ_SELECTOR", "")
    try:
        return parse(text)
    except SelectorError as error:
        raise SettingsError(f"KQ_SELECTOR is {text!r}: {error}") from None


def _exceptions(environment: Mapping[str, str]) -> frozenset[PodException]:
    text = environment.get("KQ_POD_POLICY_ALLOW", "")
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    known = frozenset(PodException)
    if unknown := sorted(names - known):
        raise SettingsError(f"KQ_POD_POLICY_ALLOW lists {', '.join(unknown)}: it may list {', '.join(sorted(known))}")
    return frozenset(PodException(name) for name in names)


def _observations(environment: Mapping[str, str]) -> ObservationSettings:
    defaults = ObservationSettings()
    target = environment.get("KQ_OBSERVATIONS_TARGET", "")
    if target and "://" not in target and not target.startswith("/"):
        raise SettingsError(
            f"KQ_OBSERVATIONS_TARGET is {target!r}: use an absolute path, or a URL as s3://bucket/folder"
        )
    topic = environment.get("KQ_OBSERVATIONS_KAFKA_TOPIC", "")
    bootstrap = environment.get("KQ_OBSERVATIONS_KAFKA_BOOTSTRAP", "")
    if bool(topic) != bool(bootstrap):
        raise SettingsError("KQ_OBSERVATIONS_KAFKA_TOPIC and KQ_OBSERVATIONS_KAFKA_BOOTSTRAP belong together: set both")
    return ObservationSettings(
        target=target,
        max_mebibytes=_positive(environment, "KQ_OBSERVATIONS_MAX_MEBIBYTES", defaults.max_mebibytes),
        file_s=_positive(environment, "KQ_OBSERVATIONS_FILE_S", defaults.file_s),
        topic=topic,
        bootstrap=bootstrap,
        kafka_config=environment.get("KQ_OBSERVATIONS_KAFKA_CONFIG", ""),
    )


def _switch(environment: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = environment.get(name, "")
    if text not in ("", "true", "false"):
        raise SettingsError(f"{name} is {text!r}: use true or false")
    return text == "true" if text else default


def _port(environment: Mapping[str, str], name: str, default: int) -> int:
    """A port; 0 for none."""
    text = environment.get(name, "")
    if text and not (text.isascii() and text.isdigit() and len(text) <= len(str(_PORT_MAX)) and int(text) <= _PORT_MAX):
        raise SettingsError(f"{name} is {text!r}: it must be a port from 1 to {_PORT_MAX}, or 0 for none")
    return int(text) if text else default


def _positive(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise SettingsError(f"{name} is {text!r}: it must be a number above zero")
    return value
