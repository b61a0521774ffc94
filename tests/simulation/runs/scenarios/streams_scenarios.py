"""Scenes of a Streams application: faults that storms found, each in the shortest run that shows it."""

from typing import Any, Final

from tests.simulation.model.kafka.streams_group import Habits, Phase
from tests.simulation.runs.streams_scenes import Scene, StreamsScene, Turn

_OLD: Final = "app:3.9.1.b1"
_NEXT: Final = "app:3.9.1.b2"
_THIRD: Final = "app:3.9.1.b3"
_BAD: Final = "app:3.9.1-bad.b2"


def _image(image: str, release: str = "3.9.1") -> dict[str, object]:
    return {"release": release, "protocol": "Classic", "image": image}


_ALL_END: Final = Turn(when=lambda scene: scene.works(), acts=lambda scene: scene.ends(0, 1, 2))
_ANOTHER_RELEASE: Final = Turn(
    when=lambda scene: scene.group.phase is Phase.EMPTY,
    acts=lambda scene: scene.asks(**_image("app:4.3.1.b2", "4.3.1")),
)
_A_BAD_IMAGE: Final = Turn(
    when=lambda scene: scene.group.phase is Phase.EMPTY, acts=lambda scene: scene.asks(image=_BAD)
)
"""No instance runs any more; and then, without any member, something else is asked for."""


def _away(scene: StreamsScene) -> list[int]:
    """The instances that the operator has stopped, and has not seen back."""
    return [int(slot["index"]) for slot in scene.says().get("slots", ()) if slot["away"]]


_ONE_STARTED_AGAIN: Final = Scene(
    name="one-started-again-while-another-returns",
    spec=_image(_OLD),
    habits=Habits(session_s=25.0, flickers=False),
    turns=(
        Turn(when=lambda scene: scene.works(), acts=lambda scene: scene.asks(image=_NEXT)),
        Turn(when=lambda scene: _away(scene) == [2] and scene.runs(2, _NEXT), acts=lambda scene: scene.ends(0)),
        Turn(when=lambda scene: scene.works(without=0), acts=lambda scene: scene.starts(0)),
        Turn(
            when=lambda scene: scene.runs(0) and scene.group.phase is Phase.PREPARING,
            acts=lambda scene: scene.asks_while_unsettled(8.0, image=_THIRD),
        ),
    ),
)
"""Instance 2 was stopped, and takes part again. Instance 0 starts again: it is ready, and the group waits for the end
of its last session. Another image is asked for: instance 2 must not stop beside it."""

_UP_AGAIN: Final = Scene(
    name="up-again-before-all-stop",
    spec=_image(_OLD),
    habits=Habits(session_s=3.0),
    turns=(
        _ALL_END,
        _ANOTHER_RELEASE,
        Turn(
            when=lambda scene: scene.stage() == "Stopping",
            acts=lambda scene: scene.starts(0, 1, 2, frozen_s=9.0),
            at_once=True,
        ),
        Turn(when=lambda scene: scene.awake, acts=lambda _: None),
    ),
)
"""Nothing runs when another release is asked for, so all shall start with it at once. All instances are up again before
the operator stops them: then they must restart one after the other."""


def _crashed(scene: StreamsScene, *indexes: int) -> bool:
    """Whether these instances have the bad image, and end with it."""
    return all(scene.has(index, _BAD) and scene.has_ended(index) for index in indexes)


_ONE_CAME_UP: Final = Scene(
    name="one-came-up-beside-a-bad-image",
    spec=_image(_OLD),
    habits=Habits(session_s=3.0),
    turns=(
        _ALL_END,
        _A_BAD_IMAGE,
        Turn(when=lambda scene: scene.made_from(_BAD), acts=lambda scene: scene.starts(0, frozen_s=9.0), at_once=True),
        Turn(when=lambda scene: _crashed(scene, 1, 2), acts=lambda scene: scene.asks(image=_THIRD)),
    ),
)
"""Nothing runs when a bad image is asked for, so the record says that all instances have it. Instance 0 is up again
with the earlier one before its pod is replaced; the others end. The corrected image must reach all three."""


def _runs_all(scene: StreamsScene, image: str) -> bool:
    """Whether every instance has this image, and works, and no change is open."""
    return scene.works() and not scene.stage() and all(scene.has(index, image) for index in range(3))


def _older_record(scene: StreamsScene) -> None:
    """An older record is put there, whose release is asked for, and every pod ends before anything is done by it."""
    scene.restores_record()
    scene.asks(**_image(_THIRD))
    scene.evicts(0, 1, 2)


_ALL_ENDED: Final = Scene(
    name="every-pod-ends-beside-an-older-record",
    spec=_image(_OLD),
    habits=Habits(session_s=3.0),
    turns=(
        Turn(when=lambda scene: _runs_all(scene, _OLD), acts=lambda scene: scene.copies_record()),
        Turn(when=lambda _: True, acts=lambda scene: scene.asks(**_image("app:4.3.1.b2", "4.3.1"))),
        Turn(when=lambda scene: _runs_all(scene, "app:4.3.1.b2"), acts=_older_record),
        Turn(when=lambda scene: "RecordDiffers" in scene.waits_for(), acts=lambda _: None),
    ),
)
"""The record is an old copy, by which instances would start with an earlier release on the state of a later one. That
every pod has ended makes it no better: the pods still show what they ran, and a person has to decide."""

_NONE_ASKED: Final = Scene(
    name="an-offline-way-from-no-instances",
    spec={**_image("app:2.3.1.b1", "2.3.1"), "approve": "Manual"},
    habits=Habits(session_s=3.0),
    line="3.9",
    turns=(
        Turn(when=lambda scene: scene.works(), acts=lambda scene: scene.asks(replicas=0)),
        Turn(
            when=lambda scene: not scene.rules.indexes() and scene.group.phase is Phase.EMPTY,
            acts=lambda scene: scene.asks(replicas=3, **_image("app:4.3.1.b2", "4.3.1")),
        ),
        Turn(when=lambda scene: "OnlyOffline" in scene.waits_for(), acts=lambda scene: scene.asks(offlineTo="4.3.1")),
    ),
)
"""A person approves every change, and there are no instances when one is asked for to which no other way leads than
offline: it needs this person's word as any other."""

_OFFLINE: Final = Scene(
    name="an-offline-way",
    spec=_image("app:2.3.1.b1", "2.3.1"),
    habits=Habits(session_s=3.0),
    line="3.9",
    turns=(
        Turn(
            when=lambda scene: scene.works(),
            acts=lambda scene: scene.asks(**_image("app:4.3.1.b2", "4.3.1")),
        ),
        Turn(when=lambda scene: "OnlyOffline" in scene.waits_for(), acts=lambda scene: scene.asks(offlineTo="4.3.1")),
    ),
)
"""No way leads there while instances run: all stop when a person says so, and not before."""

_BACK: Final = Scene(
    name="back-while-all-work-again",
    spec=_image(_OLD),
    habits=Habits(session_s=3.0),
    turns=(
        _ALL_END,
        _ANOTHER_RELEASE,
        Turn(when=lambda scene: scene.stage() == "Starting" and scene.works(), acts=lambda scene: scene.freezes(6.0)),
        Turn(when=lambda _: True, acts=lambda scene: scene.asks(**_image(_THIRD))),
        Turn(when=lambda scene: scene.awake, acts=lambda _: None),
    ),
)
"""Nothing ran when another release was asked for, so all have started with it, and work. The earlier one is asked for
before the operator has noticed that: they restart one after the other, because no person has said that all stop."""

_TWO_CAME_UP: Final = Scene(
    name="two-came-up-beside-a-bad-image",
    spec=_image(_OLD),
    habits=Habits(session_s=3.0),
    turns=(
        _ALL_END,
        _A_BAD_IMAGE,
        Turn(
            when=lambda scene: scene.made_from(_BAD),
            acts=lambda scene: scene.starts(0, 1, frozen_s=9.0),
            at_once=True,
        ),
        Turn(when=lambda scene: _crashed(scene, 2), acts=lambda scene: scene.asks(image=_THIRD)),
    ),
)
"""The same with two that are up again: they restart one after the other, though the record says that each of them has
another revision than it has."""

_ONE_WORKS: Final = Scene(
    name="one-works-of-all-that-start-together",
    spec=_image(_OLD),
    habits=Habits(session_s=3.0),
    turns=(
        _ALL_END,
        _ANOTHER_RELEASE,
        Turn(
            when=lambda scene: scene.stage() == "Starting" and scene.runs(1) and scene.runs(2),
            acts=lambda scene: scene.ends(1, 2),
        ),
        Turn(
            when=lambda scene: scene.group.phase is Phase.STABLE and len(scene.group.members) == 1,
            acts=lambda scene: scene.asks(image="app:4.3.1.b3"),
        ),
    ),
)
"""All start together with another release. One of them works, and the others end: a corrected image must reach them."""


def _refuses(scene: StreamsScene, image: str, release: str) -> None:
    """An admission policy refuses pods of an image that a person asks for."""

    def why(pod: dict[str, Any]) -> str:
        return "the image is not allowed" if pod["spec"]["containers"][0]["image"] == image else ""

    scene.world.kube.admission.refuse("Images", why)
    scene.asks(**_image(image, release))


_REFUSED: Final = Scene(
    name="a-pod-is-refused-in-a-change",
    spec=_image(_OLD),
    habits=Habits(session_s=3.0),
    turns=(
        Turn(when=lambda scene: scene.works(), acts=lambda scene: _refuses(scene, "app:4.3.1.b2", "4.3.1")),
        Turn(
            when=lambda scene: _away(scene) == [2] and scene.sandbox(2) is None,
            acts=lambda scene: scene.asks(**_image(_OLD)),
        ),
    ),
)
"""The API server refuses the first pod of a change. The change must go back when a person says so."""


def _silent_and_unsettled(scene: StreamsScene) -> None:
    """No broker answers; one instance has ended, so that the group rebalances until the end of its session."""
    scene.brokers.silent = True
    scene.ends(2)
    scene.group.disturb()


def _answers(scene: StreamsScene) -> None:
    scene.brokers.silent = False
    scene.starts(2)


_SILENT: Final = Scene(
    name="up-again-while-no-broker-answers",
    spec=_image(_OLD),
    habits=Habits(session_s=20.0),
    turns=(
        _ALL_END,
        Turn(when=lambda scene: scene.group.phase is Phase.EMPTY, acts=lambda scene: scene.asks(image=_NEXT)),
        Turn(
            when=lambda scene: scene.made_from(_NEXT),
            acts=lambda scene: scene.starts(0, 1, 2, frozen_s=9.0),
            at_once=True,
        ),
        Turn(when=lambda scene: scene.works(), acts=_silent_and_unsettled),
        Turn(when=lambda scene: len(scene.group.members) == 2, acts=_answers),
    ),
)
"""Nothing runs when another image is asked for, so the record says that all have it. All are up again with the earlier
one before their pods are replaced. Then the group rebalances, so that none is ready, and no broker answers: nobody may
take that for a group without members."""

_MUTE: Final = Scene(
    name="a-corrected-image-for-what-processes-nothing",
    spec=_image("app:3.9.1-mute.b1"),
    habits=Habits(session_s=3.0),
    turns=(Turn(when=lambda scene: scene.works(), acts=lambda scene: scene.asks(image=_NEXT)),),
)
"""Every instance takes part, and processes nothing. Another image of the same release must reach them."""

_STREAMS_SCENES: Final = (
    *(_ONE_STARTED_AGAIN, _UP_AGAIN, _ONE_CAME_UP, _ALL_ENDED),
    *(_NONE_ASKED, _OFFLINE, _BACK, _TWO_CAME_UP, _ONE_WORKS, _REFUSED, _SILENT, _MUTE),
)
STREAMS_SCENES: Final = {one.name: one for one in _STREAMS_SCENES}
