"""One run of a command: what was chosen, how objects are read, and how a change is sent. Part of the edge."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kubectl_kq import doctor
from kubectl_kq.answers import Answer, Found, NotRead, Why, answer_of
from kubectl_kq.kubectl import Kubectl
from kubectl_kq.page import UNKNOWN
from kubectl_kq.quorum import Quorum, quorum_of
from kubectl_kq.sources import Look, Source, node_path, paths


class StoppedError(Exception):
    """A command cannot go on; the text is for people."""

    def __init__(self, code: int, message: str) -> None:
        """With the exit code."""
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a command."""

    chosen: argparse.Namespace
    kubectl: Kubectl
    namespace: str
    name: str
    now: datetime

    def look(self, sources: Iterable[Source]) -> Look:
        """Read these sources, all at the same time."""
        every = paths(self.namespace, self.name, self.chosen.operator_namespace)
        answers = self.kubectl.get_all({source: every[source] for source in sources})
        return Look(
            namespace=self.namespace,
            name=self.name,
            operator_namespace=self.chosen.operator_namespace,
            answers=answers,
        )

    def with_nodes(self, look: Look) -> Look:
        """The same with the Kubernetes nodes of the controllers."""
        names = doctor.nodes_to_read(look)
        return replace(look, nodes=self.kubectl.get_all({name: node_path(name) for name in names}))


def read_quorum(look: Look) -> Quorum:
    """The quorum of a look (StoppedError if it was not read)."""
    answer = look.answer(Source.QUORUM)
    if isinstance(answer, NotRead):
        message = f"KafkaQuorum {look.name} in namespace {look.namespace} was not read: {answer.words}"
        if answer.why is Why.MISSING:
            message += f". kubectl kq doctor {look.name} names what is left of it"
        raise StoppedError(UNKNOWN, message)
    return quorum_of(answer.value)


def sent(run: Run, command: Sequence[str], what: str) -> Found:
    """The object after a change (StoppedError if it is not known that the change was made)."""
    answer: Answer = answer_of(run.kubectl.run(*command))
    if isinstance(answer, Found):
        return answer
    raise StoppedError(
        UNKNOWN, f"It is not known whether {what} was changed: {answer.words}. Repeat the command: that is safe"
    )
