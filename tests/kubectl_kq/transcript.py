"""What a person sees while a Kubernetes node is down: the blocks of docs/kubectl-kq.md, made by the plugin itself.

`PYTHONPATH=operator:. python -m tests.kubectl_kq.transcript` writes them into the page again.
"""

import re
from pathlib import Path
from typing import Final

from tests.kubectl_kq.worlds import NOW, event, listed, look, node, saying, wait

from kubectl_kq.answers import Found
from kubectl_kq.doctor import doctor_page
from kubectl_kq.explain import explain_page
from kubectl_kq.render import as_text
from kubectl_kq.sources import Look, Source
from kubectl_kq.status import status_page

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "kubectl-kq.md"
_MARK: Final = "<!-- `python -m tests.kubectl_kq.transcript` writes the blocks of this section. -->\n"
_BLOCK: Final = re.compile(rf"({re.escape(_MARK)})```console\n.*?```\n", re.DOTALL)
LOST: Final = (
    "Kubernetes node worker-3 is not ready, and controller 3002 there does not fetch: it is given up when both have "
    "lasted for 600s; bring the node back to keep its disk"
)


def lost_node() -> Look:
    """The quorum two minutes after the Kubernetes node of controller 3002 has failed."""
    waits = [wait("LostNode", "Degraded", LOST, 3002, seconds=120)]
    quorum = {"summary": "2/3", "leaderID": 3001, "leaderEpoch": 7, "voters": 3, "failureTolerance": 0}
    item = saying(
        {"doing": "LostNode", "message": LOST, "waits": waits, "quorum": quorum},
        Ready=("False", "VotersLag", "voter 3002 does not fetch"),
        Progressing=("True", "LostNode", LOST),
        Degraded=("True", "LostNode", LOST),
    )
    item["status"]["controllers"][2] |= {"caughtUp": False, "reason": "it does not fetch"}
    down = node("worker-3")
    down["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
    ]
    events = listed(event("LostNode", LOST, kind="Warning", seconds=110))
    return look({Source.QUORUM: item, Source.EVENTS: events}, nodes={"worker-3": Found(value=down)})


def block() -> str:
    """The commands with their answers."""
    seen = lost_node()
    answers = (
        ("status", as_text(status_page(seen, NOW))),
        ("explain", as_text(explain_page(seen, NOW))),
        ("doctor", _without_ok(as_text(doctor_page(seen, NOW)))),
    )
    return "\n".join(f"$ kubectl kq {command} demo -n kafka\n{text}" for command, text in answers)


def _without_ok(text: str) -> str:
    """The text of `doctor` without the checks that are OK, of which there are many."""
    kept = re.sub(r"^  OK  .*\n(?: {6}.*\n)*", "", text, flags=re.MULTILINE)
    return kept + "  [... and the checks that are OK]\n"


def written(page: str) -> str:
    """The page with its blocks as they are now (AssertionError if it has no place for them)."""
    text, count = _BLOCK.subn(lambda found: f"{found[1]}```console\n{block()}```\n", page)
    assert count == 1, "the page has no block after its mark"
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
