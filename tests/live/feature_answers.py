"""The answers of real controllers to UpdateFeatures, as data: compared with real servers, and usable for a model.

The world of a ladder: a dynamic quorum of one controller of that release, formatted with `metadata.version=BEGIN` and
nothing else, so that kraft.version is 1 and every other feature is off. Its answers are given in order. Each step is
validated first, which gives the same words and changes nothing; with `sent` it is then really sent. In the worlds of
`LAGGING` there is one more registration. Kafka's words are whole, apart from `PREFACE`.
"""

from dataclasses import dataclass

from kafka_quorum.model.quorum import FeatureRange, FeatureStep

LEADER = 3000
OTHER = 3001
"""The node that is registered in addition, in the worlds that have one."""
REFUSED = "INVALID_UPDATE_VERSION"
"""The error code of every refusal here; only a controller that is not active answers with another one."""
NOT_THE_ACTIVE_CONTROLLER = ("NOT_CONTROLLER", f"The active controller appears to be node {LEADER}.")

BEGIN = {"3.9.2": 20, "4.1.2": 21, "4.4.0": 21}
"""By release: the metadata.version of the world at its start."""
_BEFORE_WORDS = "The update failed for all features since the following feature had an error: "
PREFACE = {"3.9.2": "", "4.1.2": _BEFORE_WORDS, "4.4.0": _BEFORE_WORDS}
"""From 4.0 on the words are at the top level of the answer, after this; 3.9 has them in the feature's result."""
LOSSY = frozenset({8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""The metadata.versions with metadata that the level below cannot store: no safe downgrade from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureAnswer:
    """A step and the words of its refusal; no words mean success, even if the level is there already."""

    step: FeatureStep
    refused: str = ""
    sent: bool = True
    changes: bool = True
    """Whether the finalized levels changed after it was sent; 3.9 answers success for what it does not do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaggingCase:
    """A step while a controller or broker `OTHER` is registered with these ranges, whether it runs or not."""

    name: str
    broker: bool = False
    supported: tuple[FeatureRange, ...]
    step: FeatureStep
    refused: str = ""


def up(name: str, level: int) -> FeatureStep:
    """A raise."""
    return FeatureStep(name=name, level=level)


def down(name: str, level: int) -> FeatureStep:
    """A safe downgrade; level 0 turns the feature off."""
    return FeatureStep(name=name, level=level, downgrade=True)


def _invalid(step: FeatureStep, why: str) -> str:
    return f"Invalid update version {step.level} for feature {step.name}. {why}"


def out_of_range(step: FeatureStep, low: int, high: int) -> str:
    """The active controller itself does not support the level; this is checked first."""
    return _invalid(step, f"Local controller {LEADER} only supports versions {low}-{high}")


def unknown_feature(step: FeatureStep) -> str:
    """The active controller itself does not support the feature."""
    return _invalid(step, f"Local controller {LEADER} does not support this feature.")


def lagging(step: FeatureStep, low: int, high: int, who: str = f"Controller {OTHER}") -> str:
    """A registered node does not support the level. One is named at a time, whether it runs or not."""
    return _invalid(step, f"{who} only supports versions {low}-{high}")


def lacking(step: FeatureStep, who: str = f"Controller {OTHER}") -> str:
    """A registered node does not support the feature."""
    return _invalid(step, f"{who} does not support this feature.")


def not_asked_down(step: FeatureStep) -> str:
    """A lower level that is requested as an upgrade."""
    must = "without setting the upgrade type to either safe or unsafe downgrade."
    return _invalid(step, f"Can't downgrade the version of this feature {must}")


def never_down(step: FeatureStep) -> str:
    """kraft.version."""
    return _invalid(step, "Can't downgrade the version of this feature.")


def depends(step: FeatureStep, other: str, level: int) -> str:
    """Another feature is too low."""
    return _invalid(step, f"{step.name} could not be set to {step.level} because it depends on {other} level {level}")


def lossy(release: str, present: int, step: FeatureStep) -> str:
    """A downgrade across a level with its own metadata; it does not matter whether there is any."""
    what = f"Unsupported metadata.version downgrade from {present} to {step.level}"
    if release != "4.4.0":
        what = f"Invalid metadata.version {step.level}"
    return f"{what}. Refusing to perform the requested downgrade because it might delete metadata information."


METADATA, KRAFT, ELR = "metadata.version", "kraft.version", "eligible.leader.replicas.version"
NOT_ALL_VOTERS = "Invalid upgrade of kraft.version to KRAFT_VERSION_1 because not all of the voters support it"
"""kraft.version 1 while a voter of a static quorum has not yet reported to this leader; it may stop afterwards."""


def not_registered(node_id: int) -> str:
    """kraft.version 1 of a static quorum, while a voter is not registered."""
    return _invalid(up(KRAFT, 1), f"controller {node_id} has not registered, and may not support this feature")


def climb(release: str, top: int) -> tuple[FeatureAnswer, ...]:
    """Level by level to the top; at each level, the answer to a safe downgrade by one."""
    answers: list[FeatureAnswer] = []
    for level in range(BEGIN[release] + 1, top + 1):
        back = down(METADATA, level - 1)
        words = lossy(release, level, back) if level in LOSSY else ""
        answers += [FeatureAnswer(step=up(METADATA, level)), FeatureAnswer(step=back, refused=words, sent=False)]
    return tuple(answers)


def at_the_top(low: int, top: int) -> tuple[FeatureAnswer, ...]:
    """The answers of every release about metadata.version at its highest level."""
    above, below, none = up(METADATA, top + 1), up(METADATA, top - 1), down(METADATA, 0)
    return (
        FeatureAnswer(step=up(METADATA, top), changes=False),
        FeatureAnswer(step=down(METADATA, top), changes=False),
        FeatureAnswer(step=above, refused=out_of_range(above, low, top)),
        FeatureAnswer(step=below, refused=not_asked_down(below)),
        FeatureAnswer(step=none, refused=out_of_range(none, low, top)),
    )


def of_kraft_version() -> tuple[FeatureAnswer, ...]:
    """It never goes down, and from 4.0 on the controllers refuse it."""
    back, wrong, above = down(KRAFT, 0), up(KRAFT, 0), up(KRAFT, 2)
    return (
        FeatureAnswer(step=up(KRAFT, 1), changes=False),
        FeatureAnswer(step=back, refused=never_down(back)),
        FeatureAnswer(step=wrong, refused=not_asked_down(wrong)),
        FeatureAnswer(step=above, refused=out_of_range(above, 0, 1)),
    )


def on_and_off(name: str, top: int) -> tuple[FeatureAnswer, ...]:
    """Up to the top, every wrong further step, down to zero, and up again."""
    above, wrong, negative = up(name, top + 1), up(name, 0), up(name, -1)
    return (
        *(FeatureAnswer(step=up(name, level)) for level in range(1, top + 1)),
        FeatureAnswer(step=above, refused=out_of_range(above, 0, top)),
        FeatureAnswer(step=wrong, refused=not_asked_down(wrong)),
        FeatureAnswer(step=negative, refused=_invalid(negative, "A feature version cannot be less than 0.")),
        *(FeatureAnswer(step=down(name, level)) for level in range(top - 1, -1, -1)),
        FeatureAnswer(step=down(name, 0), changes=False),
        FeatureAnswer(step=up(name, top)),
    )


_ELR_1, _STRANGE, _NO_STRANGE = up(ELR, 1), up("nonsense.version", 1), down("nonsense.version", 0)
_TOO_EARLY = FeatureAnswer(step=_ELR_1, refused=depends(_ELR_1, METADATA, 23))
_STRANGE_ANSWERS = (
    FeatureAnswer(step=_STRANGE, refused=unknown_feature(_STRANGE)),
    FeatureAnswer(step=_NO_STRANGE, refused=_invalid(_NO_STRANGE, f"Feature {_NO_STRANGE.name} not found.")),
)
_BELOW_ALL = down(METADATA, 6)

LADDERS: dict[str, tuple[FeatureAnswer, ...]] = {
    "3.9.2": (
        *climb("3.9.2", 21),
        *at_the_top(1, 21),
        # Two false answers: 3.9 accepts to lower kraft.version, and to turn off an unknown feature; it does neither.
        FeatureAnswer(step=up(KRAFT, 1), changes=False),
        FeatureAnswer(step=down(KRAFT, 0), changes=False),
        FeatureAnswer(step=_NO_STRANGE, changes=False),
        FeatureAnswer(step=_STRANGE, refused=unknown_feature(_STRANGE)),
        FeatureAnswer(step=_ELR_1, refused=unknown_feature(_ELR_1)),
        FeatureAnswer(step=_BELOW_ALL, refused=lossy("3.9.2", 21, _BELOW_ALL)),
        *(FeatureAnswer(step=down(METADATA, level)) for level in (20, 19, 18, 17)),
        FeatureAnswer(step=down(METADATA, 16), refused=lossy("3.9.2", 17, down(METADATA, 16))),
    ),
    "4.1.2": (
        _TOO_EARLY,
        *climb("4.1.2", 27),
        *at_the_top(7, 27),
        *of_kraft_version(),
        *_STRANGE_ANSWERS,
        FeatureAnswer(step=_BELOW_ALL, refused=out_of_range(_BELOW_ALL, 7, 27)),
        *on_and_off("group.version", 1),
        *on_and_off("share.version", 1),
        *on_and_off("transaction.version", 2),
        *on_and_off(ELR, 1),
        *(FeatureAnswer(step=down(METADATA, level)) for level in (26, 25, 24, 23)),
        FeatureAnswer(step=down(METADATA, 22), refused=lossy("4.1.2", 23, down(METADATA, 22))),
    ),
    "4.4.0": (
        _TOO_EARLY,
        *climb("4.4.0", 33),
        *at_the_top(7, 33),
        *of_kraft_version(),
        *_STRANGE_ANSWERS,
        FeatureAnswer(step=down(METADATA, 30), refused=lossy("4.4.0", 33, down(METADATA, 30))),
        *on_and_off("group.version", 1),
        *on_and_off("share.version", 2),
        *on_and_off("streams.version", 1),
        *on_and_off("transaction.version", 2),
        *on_and_off(ELR, 1),
    ),
}
"""By release: steps and their answers, one after another."""


def ranges(**levels: tuple[int, int]) -> tuple[FeatureRange, ...]:
    """Ranges by name, with `_` for `.`."""
    rows = ((name.replace("_", "."), *ends) for name, ends in levels.items())
    return tuple(FeatureRange(name=name, min_level=low, max_level=high) for name, low, high in rows)


def lagging_cases(release: str) -> tuple[LaggingCase, ...]:
    """At the level of `BEGIN`, with one more registration: what is checked, and in which order."""
    now = BEGIN[release]
    old = ranges(kraft_version=(0, 1), metadata_version=(1, now))
    new = ranges(kraft_version=(0, 1), metadata_version=(now, 99))
    newer = ranges(kraft_version=(0, 1), metadata_version=(now + 1, 99))
    raised, lowered, same, far = (up(METADATA, now + 1), down(METADATA, now - 1), up(METADATA, now), up(METADATA, 99))
    controllers = (
        LaggingCase(name="too old to go up", supported=old, step=raised, refused=lagging(raised, 1, now)),
        LaggingCase(name="old, for what is there already", supported=old, step=same),
        LaggingCase(name="old, and far above everybody", supported=old, step=far, refused=_far(release, far)),
        LaggingCase(name="without the feature", supported=old[1:], step=up(KRAFT, 1), refused=lacking(up(KRAFT, 1))),
        LaggingCase(name="old, to go down", supported=old, step=lowered),
        LaggingCase(name="too new to go down", supported=new, step=lowered, refused=lagging(lowered, now, 99)),
        # A controller is registered whatever it supports; only the next step is refused.
        LaggingCase(name="too new for now", supported=newer, step=lowered, refused=lagging(lowered, now + 1, 99)),
        LaggingCase(
            name="an old broker",
            broker=True,
            supported=old,
            step=raised,
            refused=lagging(raised, 1, now, f"Broker {OTHER}"),
        ),
    )
    return (*controllers, *(() if release == "3.9.2" else _lacking_cases(old)))


def _far(release: str, step: FeatureStep) -> str:
    """The active controller's own range is checked first."""
    low, high = {"3.9.2": (1, 21), "4.1.2": (7, 27), "4.4.0": (7, 33)}[release]
    return out_of_range(step, low, high)


def _lacking_cases(old: tuple[FeatureRange, ...]) -> tuple[LaggingCase, ...]:
    """Features that 3.9 does not support, and what a 3.9 controller therefore blocks."""
    group, elr = up("group.version", 1), up(ELR, 1)
    return (
        LaggingCase(name="without a new feature", supported=old, step=group, refused=lacking(group)),
        LaggingCase(name="without a feature to be turned off", supported=old, step=down("group.version", 0)),
        LaggingCase(name="without a feature that is too early, too", supported=old, step=elr, refused=lacking(elr)),
    )


RELEASES = tuple(BEGIN)
