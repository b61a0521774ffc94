"""The feature levels of the small world: who is registered, what is finalized, and how Kafka answers about a step."""

from dataclasses import dataclass, field

from tests.simulation.rules.book import rule

from kafka_quorum.api.features import KRAFT, METADATA, default_levels, supported_by
from kafka_quorum.api.release import Release, parse_release
from kafka_quorum.model.desired import BootstrapMode
from kafka_quorum.model.identity import Format
from kafka_quorum.model.quorum import FeatureRange, FeatureStep, FinalizedFeature, NodeVersions
from kafka_quorum.plan.releases.ghosts import UNREGISTER_SINCE


@dataclass(slots=True, kw_only=True)
class Features:
    """`levels` are the finalized ones. `registered` must read them: every controller that ran, and `brokers`."""

    levels: dict[str, int] = field(default_factory=dict)
    epoch: int = 1
    """The epoch of the finalized levels: it rises with every change of one."""
    registered: dict[int, tuple[FeatureRange, ...]] = field(default_factory=dict)
    brokers: dict[int, str] = field(default_factory=dict)
    """Brokers by node id, with their releases."""
    lossy: frozenset[int] = frozenset()
    """The levels of metadata.version that Kafka does not lower by one."""
    changes: list[str] = field(default_factory=list)
    """The feature steps that were carried out, in order."""

    def made_by(self, format_: Format) -> None:
        """The levels that a quorum has after its format, and the brokers that have joined it."""
        static = format_.mode is BootstrapMode.STATIC
        named = {each.name: each.level for each in format_.features}
        self.levels = (default_levels(numbers(format_.release)) or {}) | named | ({KRAFT: 0} if static else {})
        self.registered |= {number: ranges(release) for number, release in self.brokers.items()}

    def says(self, release: str) -> NodeVersions:
        """What a controller of this release reports of itself."""
        levels = (FinalizedFeature(name=name, level=level) for name, level in sorted(self.levels.items()) if level)
        return NodeVersions(supported=ranges(release), finalized=tuple(levels), finalized_epoch=self.epoch)

    def read_by(self, node_id: int, release: str) -> None:
        """Starts a controller: it must be able to read every level, and registers."""
        supported = {each.name: each for each in ranges(release)}
        for name, level in self.levels.items():
            assert not level or supported[name].min_level <= level <= supported[name].max_level, rule(
                "7", "it cannot read"
            )
        self.registered[node_id] = tuple(supported.values())

    def against(self, step: FeatureStep) -> str:
        """Kafka's words against a step; empty if there are none. Every process supports level 0, which is off."""
        for number, supported in sorted(self.registered.items()):
            of = next((each for each in supported if each.name == step.name), None)
            low, high = (of.min_level, of.max_level) if of is not None else (0, 0)
            if not low <= step.level <= high and step.level:
                who = "Broker" if number in self.brokers else "Controller"
                only = f"{who} {number} only supports versions {low}-{high}"
                return f"Invalid update version {step.level} for feature {step.name}. {only}"
        down = range(step.level, self.levels.get(step.name, 0))
        if step.name == METADATA and any(level + 1 in self.lossy for level in down):
            return f"Refusing to perform the requested downgrade to {step.level} because it might delete metadata"
        return ""

    def take(self, step: FeatureStep) -> None:
        """Carries out a step."""
        assert self.against(step) == "", rule("7", "it was refused")
        assert abs(self.levels.get(step.name, 0) - step.level) == 1, rule("7", "more than one level")
        self.levels[step.name] = step.level
        self.epoch += 1
        self.changes.append(str(step))

    def cure(self, node_id: int, supported: tuple[FeatureRange, ...]) -> None:
        """Registers a removed controller again with these ranges, or unregisters it if the release supports that."""
        assert node_id not in self.brokers, rule("7", "a broker")
        assert supported or self.levels[METADATA] >= UNREGISTER_SINCE, "Kafka cannot forget it yet"
        del self.registered[node_id]
        if supported:
            self.registered[node_id] = supported


def numbers(release: str) -> Release:
    """Parses a release that is known to be valid."""
    found = parse_release(release)
    assert found is not None
    return found


def ranges(release: str) -> tuple[FeatureRange, ...]:
    """What a node of this release supports."""
    supported = supported_by(numbers(release))
    assert supported is not None
    return supported
