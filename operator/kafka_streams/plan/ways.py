"""Which way leads from one Kafka Streams release to another, before anything moves (rows S1 S2 S4 S5). Pure."""

from dataclasses import dataclass
from typing import Final

from kafka_streams.model.release import StreamsRelease
from kafka_streams.model.way import Kind, NoWay, Protocol, Reason, Step, Way, WayFound
from kafka_streams.plan import matrix
from kafka_streams.plan.matrix import accepted_values, facts_of

_GUIDE: Final = "Kafka Streams upgrade guide"
_MEASURED: Final = "measured: docs/streams-measured.md"
_PROBING: Final = Reason(
    text="Instances of both releases find the format that all of them know, so one restart of each is enough.",
    source="KIP-268, version probing",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is asked for. `brokers` are the releases of all brokers; at least one (ValueError)."""

    start: StreamsRelease
    target: StreamsRelease
    brokers: frozenset[StreamsRelease]
    start_protocol: Protocol = Protocol.CLASSIC
    target_protocol: Protocol = Protocol.CLASSIC

    def __post_init__(self) -> None:
        """A way without a known broker is a guess."""
        if not self.brokers:
            raise ValueError("no release of a broker is known: ask the brokers first")

    @property
    def both(self) -> str:
        """The change, for a sentence."""
        return f"{self.start} → {self.target}"


def find_way(change: Change) -> WayFound:
    """The way, or why there is none while instances run, and what is possible then."""
    if (never := _never(change)) is not None:
        return never
    if change.start_protocol is not change.target_protocol:
        return _other_protocol(change)
    if (said := _alike(change)) is not None:
        coordinated = change.start_protocol is Protocol.STREAMS
        return _one(change, said, wipe=coordinated and change.target.line < change.start.line)
    return _back(change) if change.target < change.start else _up(change)


def _never(change: Change) -> NoWay | None:
    """Why the target cannot run at all, also after a stop of the application."""
    for release in (change.start, change.target):
        if facts_of(release) is None:
            return _refused(
                f"This version of the operator knows no Kafka Streams {release.line_text}: it knows 0.10.0 to"
                f" {matrix.newest_known()}. Use a newer version of the operator, or correct `release`.",
                "the operator's table of releases",
            )
    if (unserved := _unserved(change)) is not None:
        return NoWay(reasons=(unserved,))
    if change.target_protocol is Protocol.STREAMS and change.target.line < matrix.FIRST_STREAMS_PROTOCOL:
        return _refused(
            f"Kafka Streams {change.target} does not support `group.protocol=streams`: 4.2 is the first that does.",
            "KIP-1071",
        )
    return None


def _alike(change: Change) -> Reason | None:
    """Why the instances of both releases need no common format to be found."""
    if change.start == change.target:
        return Reason(text="The release stays the same.", source="the spec")
    if change.start_protocol is Protocol.STREAMS:
        said = "The group coordinator assigns the work: the instances exchange no format."
        return Reason(text=said, source="KIP-1071")
    if change.start.line == change.target.line:
        return Reason(text=f"All releases of {change.start.line_text} use one format.", source=_MEASURED)
    return None


def _up(change: Change) -> WayFound:
    """To a later line, with the classic protocol."""
    start, target = change.start.line, change.target.line
    if start <= matrix.LAST_EAGER and target >= matrix.FIRST_WITHOUT_EAGER:
        said = Reason(
            text=f"Kafka Streams 4.0 and later cannot share a group with {change.start}: they do not know its eager"
            " rebalance protocol. Go to a 3.9 release first, then on from there.",
            source=f"KAFKA-8179, {_GUIDE} 4.0",
        )
        return NoWay(reasons=(said,), bridge="3.9", offline=_offline(change))
    if target < matrix.FIRST_PROBING and _version(change.start) == _version(change.target):
        said = Reason(
            text=f"Both releases send version {_version(change.target)} of the subscription.", source="KIP-268"
        )
        return _one(change, said)
    threshold = _two_until(target)
    if start > threshold:
        return _one(change, _PROBING)
    value = _value(change)
    if value is None:
        said = Reason(
            text=f"{change.start} and {change.target} do not understand each other's subscription, and"
            f" {change.target} has no value of `upgrade.from` for it. {_later_patch(change)}",
            source="KAFKA-6054, KIP-268",
        )
        return NoWay(reasons=(said,), offline=_offline(change))
    return _two(change, value, threshold)


def _two(change: Change, value: str, threshold: matrix.Line) -> Way:
    until = StreamsRelease(threshold, 0).line_text
    reasons = [
        Reason(
            text=f"From {until} and older to {change.target.line_text} each instance restarts twice: first with"
            f" `upgrade.from={value}`, then without it.",
            source="KIP-268" if threshold < matrix.FIRST_PROBING else f"KIP-268, {_GUIDE} {change.target.line_text}",
        )
    ]
    if value != change.start.line_text:
        said = (
            f"{change.target} does not accept `upgrade.from={change.start.line_text}`; `{value}` names the same format."
        )
        reasons.append(Reason(text=said, source=_MEASURED))
    wipe, why = _wiping(change)
    first = Step(release=change.target, upgrade_from=value, wipe=wipe)
    return Way(
        kind=Kind.TWO_BOUNCES,
        steps=(first, Step(release=change.target)),
        reasons=(*reasons, *why),
        no_return=_no_return(change),
    )


def _back(change: Change) -> WayFound:
    """To an earlier line, with the classic protocol: the stores that the later release wrote are given up."""
    probing = change.target.line >= matrix.FIRST_PROBING
    if probing or (change.start.line < matrix.FIRST_PROBING and _version(change.start) == _version(change.target)):
        said = Reason(
            text=f"{change.target} cannot open the stores that {change.start} wrote: each instance starts with an empty"
            " state directory, and restores it from the changelog topics.",
            source=_MEASURED,
        )
        return _one(change, said, wipe=True)
    said = Reason(
        text=f"{change.target} does not understand the subscription of {change.start}, and no setting of"
        f" {change.start} names a release that is older than itself.",
        source="KIP-268",
    )
    return NoWay(reasons=(said,), offline=_offline(change, wipe=True))


def _other_protocol(change: Change) -> WayFound:
    """From the classic to the streams protocol, or back: only while no instance runs."""
    if change.target_protocol is Protocol.STREAMS:
        corrupting = sorted(change.brokers & matrix.CORRUPTING_BROKERS)
        if corrupting:
            return _refused(
                f"A broker runs {corrupting[0]}, which corrupts a group that changes to the streams protocol. Bring the"
                " brokers to a later release first.",
                "KAFKA-20254",
            )
        oldest = min(change.brokers)
        if oldest.line < matrix.FIRST_STREAMS_PROTOCOL:
            return _refused(
                f"A broker runs {oldest}: `group.protocol=streams` needs brokers of 4.2 or later.", "KIP-1071"
            )
    said = Reason(
        text="A group has one protocol: it changes only while the group is empty, so all instances stop.",
        source="KIP-1071",
    )
    return NoWay(reasons=(said,), offline=_offline(change, wipe=change.target.line < change.start.line))


def _offline(change: Change, *, wipe: bool = False) -> Way:
    needed, why = _wiping(change)
    said = Reason(
        text="All instances stop. When the group is empty, all of them start with the new release.", source="KIP-268"
    )
    step = Step(release=change.target, protocol=change.target_protocol, wipe=wipe or needed, together=True)
    return Way(kind=Kind.OFFLINE, steps=(step,), reasons=(said, *why), no_return=_no_return(change))


def _one(change: Change, said: Reason, *, wipe: bool = False) -> Way:
    needed, why = _wiping(change)
    step = Step(release=change.target, protocol=change.target_protocol, wipe=wipe or needed)
    return Way(kind=Kind.ONE_BOUNCE, steps=(step,), reasons=(said, *why), no_return=_no_return(change))


def _wiping(change: Change) -> tuple[bool, tuple[Reason, ...]]:
    """Whether local state must go because the two releases read a store's checkpoint differently."""
    if not matrix.checkpoints_differ(change.start.line, change.target.line):
        return False, ()
    said = Reason(
        text=f"{change.both}: the later release reads the checkpoints of local stores differently, and would skip"
        " records. Each instance starts with an empty state directory, and restores it from the changelog topics.",
        source=_MEASURED,
    )
    return True, (said,)


def _no_return(change: Change) -> tuple[Reason, ...]:
    """What a person must know before: the stores of a later line do not open in an earlier one."""
    if change.target.line <= change.start.line:
        return ()
    said = Reason(
        text=f"An instance that has run {change.target} does not start with {change.start} on its state: on the way"
        " back its state directory is emptied, and its stores are restored.",
        source=_MEASURED,
    )
    return (said,)


def _unserved(change: Change) -> Reason | None:
    """Why the brokers do not serve the target."""
    oldest, newest = min(change.brokers), max(change.brokers)
    if newest.line >= (4, 0) and change.target.line < matrix.FIRST_ON_BROKER_4:
        return Reason(
            text=f"A broker runs {newest}, and brokers of 4.0 and later do not support clients before 2.1: with"
            f" {change.target} the group may look stable while nothing is processed.",
            source=f"KIP-896; {_MEASURED}",
        )
    if change.target.line >= (4, 0) and oldest.line < matrix.FIRST_BROKER_FOR_4:
        return Reason(
            text=f"A broker runs {oldest}: Kafka Streams {change.target} needs brokers of 2.1 or later.",
            source="KIP-896",
        )
    return None


def _two_until(target: matrix.Line) -> matrix.Line:
    """The last line from which two bounces lead to this one."""
    if target < matrix.FIRST_PROBING:
        return target
    if target < (3, 3):
        return matrix.LAST_EAGER
    return (3, 2) if target < (3, 5) else (3, 4)


def _value(change: Change) -> str | None:
    """What `upgrade.from` is set to: the line's own value, or one of the same format that the target accepts."""
    accepted = accepted_values(change.target)
    if change.start.line_text in accepted:
        return change.start.line_text
    if change.start.line == (2, 0) and "1.1" in accepted and change.target.line < matrix.FIRST_PROBING:
        return "1.1"
    return None


def _later_patch(change: Change) -> str:
    """A patch of the target's line that would do, if there is one."""
    facts = facts_of(change.target)
    if facts is None or change.start.line_text not in facts.accepts:
        return "The application has to stop for this."
    better = StreamsRelease(facts.line, facts.since_patch)
    return f"{better} has one: take that release, or stop the application."


def _version(release: StreamsRelease) -> int:
    facts = facts_of(release)
    return -1 if facts is None else facts.subscription_version


def _refused(text: str, source: str) -> NoWay:
    return NoWay(reasons=(Reason(text=text, source=source),))
