"""Answers `PlanQuestion`s, and deletes them some minutes after their creation.

Persons create them, as many and as large as the API server admits. So only their metadata is watched; each body is read
once, one at a time; a pause follows each act; namespaces take turns; and of each namespace only so many are answered as
may exist at a time. Nothing here touches a quorum: the answers come from what its passes saw (`passes`).
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kafka_quorum.introspection.answer import Question, answer, question_of, refused, unknown
from kafka_quorum.introspection.kind import PLAN_QUESTIONS
from kafka_quorum.introspection.passes import LastPass, LastPasses
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.settings import PodException
from kit import stamps
from kit.clock import Clock
from kit.errors import KubeConflict, KubeError, KubeNotFound, OperatorError
from kit.key import ObjectKey
from kit.kube.client import KubeClient
from kit.kube.protocol import Json, KubeApi
from kit.kube.watch import Watch
from kit.seldom import Seldom
from kit.selector import EVERYTHING, Selector

KEPT_S: Final = 600.0
"""A question is deleted so long after its creation."""
SHOWN_S: Final = 60.0
"""But not sooner than this after this operator first saw it: a clock may differ from the API server's."""
LIVE_MAX: Final = 20
"""So many questions of a namespace are answered at a time; later ones are refused until earlier ones are deleted."""
TRACKED_MAX: Final = 5000
"""So many are remembered. Above that, further ones are searched for later."""
_SEARCHED_AGAIN_BELOW: Final = 2500
"""The search for those begins when so few are remembered."""
_PATIENCE_S: Final = 30.0
"""For so long a question waits for the first look at its quorum."""
_TRIES_MAX: Final = 5
_RETRY_S: Final = 2.0
_FAILED_S: Final = 30.0
_BETWEEN_S: Final = 0.2
_POLL_S: Final = 1.0

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _Asked:
    """One question. `created_s` is since the epoch; all other times are monotonic. `due_s`: when to act next.

    `version` is the resource version that was seen first, or of our own write.
    """

    key: ObjectKey
    uid: str
    version: str
    created_s: float
    seen_s: float
    expires_s: float
    due_s: float
    answered: bool = False
    tries: int = 0


class PlanQuestions:
    """Which questions there are, and the task that answers. What it remembers may be lost at any time."""

    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        passes: LastPasses,
        *,
        allowed: frozenset[PodException],
        may_act: Callable[[], bool],
        selector: Selector = EVERYTHING,
    ) -> None:
        """`allowed` are the exceptions from the policy for pods; `may_act` says whether this operator has the lease.

        Questions about a quorum that is not selected are another operator's: they are only deleted in time.
        """
        self._kube = kube
        self._clock = clock
        self._passes = passes
        self._allowed = allowed
        self._may_act = may_act
        self._selector = selector
        self._asked: dict[str, _Asked] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()
        """The uids of questions that are deleted: the watch reports their end, too."""
        self._served_s: dict[str, float] = {}
        self._missed = False
        """Whether there may be questions that are not remembered."""
        self._again = asyncio.Event()
        self._news = asyncio.Event()
        self._warnings = Seldom()

    def seen(self, metadata: Json) -> None:
        """Note a question that exists, has changed, or is gone."""
        uid, version = str(metadata.get("uid", "")), str(metadata.get("resourceVersion", ""))
        if not uid or uid in self._gone:
            return
        if (known := self._asked.get(uid)) is not None:
            if version != known.version:  # not our own write: another change, or its end, which the next read shows
                known.due_s = min(known.due_s, self._clock.monotonic())
                self._news.set()
            return
        if len(self._asked) >= TRACKED_MAX or not self._may_act():
            self._missed = True
            return
        now_s, created_s = self._clock.monotonic(), stamps.seconds_of(str(metadata.get("creationTimestamp", "")))
        left_s = KEPT_S - (self._clock.now().timestamp() - created_s)
        self._asked[uid] = _Asked(
            key=ObjectKey(namespace=str(metadata.get("namespace", "")), name=str(metadata.get("name", ""))),
            uid=uid,
            version=version,
            created_s=created_s,
            seen_s=now_s,
            expires_s=now_s + max(SHOWN_S, min(left_s, KEPT_S)),
            due_s=now_s,
        )
        self._news.set()

    def acquired(self) -> None:
        """This operator acts from now on: search for the questions that there are."""
        self._asked.clear()
        self._missed = False
        self._again.set()

    async def follow(self, kube: KubeClient, namespace: str) -> None:
        """Watch the questions of a namespace (empty for all) for ever, from the existing ones on."""
        while True:
            watch = asyncio.create_task(Watch(kube, PLAN_QUESTIONS, namespace, "").follow(self.seen))
            again = asyncio.create_task(self._again.wait())
            try:
                await asyncio.wait((watch, again), return_when=asyncio.FIRST_COMPLETED)
            finally:
                watch.cancel()
                again.cancel()
            error = (await asyncio.gather(watch, return_exceptions=True))[0]
            self._again.clear()
            if isinstance(error, KubeError):
                self._tell(f"PlanQuestions of {namespace or 'all namespaces'} cannot be watched: {error}")
                await asyncio.sleep(_FAILED_S)
            elif isinstance(error, Exception):
                raise error

    async def keep(self) -> None:
        """Answer and delete for ever."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._asked:
                acted = await self.step()
                await asyncio.sleep(_BETWEEN_S if acted else _POLL_S)

    async def step(self) -> bool:
        """Act on the question whose turn it is; False if none is due. No error escapes."""
        if not self._may_act():
            self._asked.clear()
            self._missed = True
            return False
        asked = self._next()
        if asked is None:
            return False
        self._served_s[asked.key.namespace] = self._clock.monotonic()
        try:
            await (self._delete(asked) if self._clock.monotonic() >= asked.expires_s else self._answer(asked))
        except (KubeConflict, KubeNotFound):
            self._retry(asked, _RETRY_S)  # it was changed or deleted: the next read shows which
        except OperatorError as error:
            self._tell(f"PlanQuestion {asked.key}: {error}")
            self._retry(asked, _FAILED_S)
        except Exception:
            logger.exception("PlanQuestion %s: a fault of this operator prevented the answer", asked.key)
            self._retry(asked, _FAILED_S)
        self._search_again()
        return True

    def _next(self) -> _Asked | None:
        """The oldest question that is due, of the namespace that was served longest ago."""
        now_s, first = self._clock.monotonic(), dict[str, _Asked]()
        for asked in self._asked.values():
            earlier = first.get(asked.key.namespace)
            if asked.due_s <= now_s and (earlier is None or _order(asked) < _order(earlier)):
                first[asked.key.namespace] = asked
        if not first:
            self._served_s.clear()
            return None
        return first[min(first, key=lambda namespace: (self._served_s.get(namespace, -1.0), namespace))]

    async def _answer(self, asked: _Asked) -> None:
        """Read one question, and write its answer. Raises `OperatorError`."""
        namespace, name = asked.key.namespace, asked.key.name
        if not asked.answered and self._is_too_many(asked):
            most = (
                f"namespace {namespace} has {LIVE_MAX} earlier questions: delete some, or wait until they are deleted"
            )
            await self._write(asked, {"uid": asked.uid}, refused((FieldFault(field="metadata", message=most),)))
            return
        body = await self._kube.get(PLAN_QUESTIONS, namespace, name)
        if body is None or body["metadata"].get("uid") != asked.uid or "deletionTimestamp" in body["metadata"]:
            self._drop(asked)
        elif (body.get("status") or {}).get("answeredAt"):
            asked.version = str(body["metadata"].get("resourceVersion", ""))
            self._done(asked)
        elif await self._is_of_another(asked, body):
            self._done(asked)
        elif (status := await self._status(asked, body)) is None:
            asked.due_s = self._clock.monotonic() + _RETRY_S
        else:
            version = body["metadata"].get("resourceVersion")
            await self._write(asked, {"uid": asked.uid, "resourceVersion": version}, status)

    async def _is_of_another(self, asked: _Asked, body: Json) -> bool:
        """Whether it asks about a quorum that another operator serves. Raises `KubeError`."""
        question = question_of(body)
        if not self._selector.requirements or isinstance(question, tuple):
            return False
        quorum = await self._kube.get(QUORUMS, asked.key.namespace, question.quorum)
        return quorum is not None and not self._selector.selects(quorum["metadata"].get("labels"))

    async def _status(self, asked: _Asked, body: Json) -> Json | None:
        """The answer; None while the first look at the quorum is waited for."""
        question = question_of(body)
        if isinstance(question, tuple):
            return refused(question)
        last = self._passes.of(ObjectKey(namespace=asked.key.namespace, name=question.quorum))
        if last is not None:
            return self._planned(asked, question, last)
        if await self._kube.get(QUORUMS, asked.key.namespace, question.quorum) is None:
            missing = f"namespace {asked.key.namespace} has no KafkaQuorum of this name"
            return refused((FieldFault(field="spec.quorum", message=missing),))
        if self._clock.monotonic() - asked.seen_s < _PATIENCE_S:
            return None
        return unknown(
            f"this operator has not finished a look at KafkaQuorum {question.quorum} yet. Read its conditions, and ask "
            "again in a minute"
        )

    def _planned(self, asked: _Asked, question: Question, last: LastPass) -> Json:
        """The planner's answer. A fault of ours in it is logged and reported, and ends nothing else."""
        try:
            return answer(question, last, self._allowed)
        except Exception:
            logger.exception("PlanQuestion %s: a fault of this operator prevented the answer", asked.key)
            return unknown("this operator has a fault: its log shows it. Report it with the manifest of this question")

    async def _write(self, asked: _Asked, metadata: Json, status: Json) -> None:
        body: Json = {
            "metadata": metadata,
            "status": status | {"answeredAt": stamps.second(self._clock.now())},
        }
        written = await self._kube.patch(
            PLAN_QUESTIONS, asked.key.namespace, asked.key.name, body, subresource="status"
        )
        asked.version = str(written["metadata"].get("resourceVersion", ""))
        self._done(asked)

    async def _delete(self, asked: _Asked) -> None:
        with contextlib.suppress(KubeConflict, KubeNotFound):  # it is gone, or another one has its name
            await self._kube.delete(PLAN_QUESTIONS, asked.key.namespace, asked.key.name, uid=asked.uid)
        self._drop(asked)

    def _is_too_many(self, asked: _Asked) -> bool:
        same = (one for one in self._asked.values() if one.key.namespace == asked.key.namespace)
        return sum(_order(one) < _order(asked) for one in same) >= LIVE_MAX

    def _done(self, asked: _Asked) -> None:
        """Nothing is left to do but to delete it in time."""
        asked.answered = True
        asked.due_s = asked.expires_s

    def _drop(self, asked: _Asked) -> None:
        self._asked.pop(asked.uid, None)
        self._gone[asked.uid] = None
        while len(self._gone) > TRACKED_MAX:
            self._gone.popitem(last=False)

    def _retry(self, asked: _Asked, after_s: float) -> None:
        """Try again after a pause; after some failures only to delete it."""
        asked.tries += 1
        now_s = self._clock.monotonic()
        given_up = asked.tries >= _TRIES_MAX and not asked.answered and now_s < asked.expires_s
        if given_up:
            self._done(asked)
        else:
            asked.due_s = now_s + after_s

    def _search_again(self) -> None:
        """Begin the watch again if there is room for questions that were not remembered."""
        if self._missed and len(self._asked) <= _SEARCHED_AGAIN_BELOW:
            self._missed = False
            self._again.set()

    def _tell(self, what: str) -> None:
        if self._warnings.is_due(self._clock.monotonic()):
            logger.warning("%s", what)


def _order(asked: _Asked) -> tuple[float, str]:
    """Questions in the order of their creation."""
    return asked.created_s, asked.uid
