"""What a person requests: an application, and what its instances are made from."""

from dataclasses import dataclass
from enum import StrEnum

from kafka_streams.model.release import StreamsRelease
from kafka_streams.model.way import Protocol


class Approve(StrEnum):
    """Who begins a change of the release."""

    AUTOMATIC = "Automatic"
    MANUAL = "Manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """What must hold before the next instance stops. Times in seconds, lag in records.

    `threads` is how many members each instance has; 0 if it may be any number above 0.
    """

    stable_s: float = 5.0
    max_lag: int | None = None
    threads: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What an instance is made from, except `upgrade.from`. The two templates are canonical JSON."""

    release: StreamsRelease
    protocol: Protocol
    image: str
    container: str
    template_metadata: str
    template_spec: str
    upgrade_variable: str
    """The environment variable that the image takes `upgrade.from` from; empty if `properties` has it."""
    properties: tuple[str, str] | None = None
    """A file of properties that gets `upgrade.from`: its path in the container, and its text without that line."""
    state_path: str = ""
    """Where the volume of the local state is mounted; empty if the application's state is ephemeral."""
    restarted_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """One application as its resource requests it.

    `offline_to` is the release that a person allows an offline change to; `approved` the plan that a person approved,
    by its hash.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    paused: bool
    application_id: str
    replicas: int
    runtime: Runtime
    gates: Gates
    approve: Approve = Approve.AUTOMATIC
    approved: str = ""
    offline_to: str = ""
    state_size: str = ""
    """The size of each instance's volume, as a quantity; empty for ephemeral state."""
    state_class: str = ""
    servers: str = ""
    """Where the operator reaches brokers: HOST:PORT, with commas; empty if `pools` say it."""
    pools: tuple[str, ...] = ()
