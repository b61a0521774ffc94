"""What the status says about a wait: its controllers, the voters, the disks of a recovery, what is in the way. Pure."""

from collections.abc import Iterator
from typing import Final

from kubectl_kq import reading, rules
from kubectl_kq.quorum import Controller, Quorum, Wait

_ABOUT_VOTERS: Final = frozenset({2, 3, 4, 5})
"""The rules whose waits are about voters."""
_ABOUT_CERTIFICATES: Final = frozenset({"Certificates", "CertificatesHeld", "CertificatesPause"})
_RECOVERY: Final = 14


def evidence(quorum: Quorum, wait: Wait) -> Iterator[str]:
    """What the status says of the controllers of a wait, and of what its reason is about."""
    for node_id in wait.node_ids:
        row = quorum.controller(node_id)
        yield (
            f"controller {node_id}: {_seen(row)}" if row is not None else f"controller {node_id}: no row in the status"
        )
    rule = rules.RULE_OF[rules.QUORUM].get(wait.reason)
    if rule in _ABOUT_VOTERS:
        yield from _voters(quorum)
    if rule == _RECOVERY:
        yield from _recovery(quorum)
    if wait.reason in _ABOUT_CERTIFICATES and (until := quorum.text("certificates", "validUntil")) is not None:
        yield f"{quorum.text('certificates', 'endsFirst') or 'a certificate'} ends first, {until}"


def _seen(row: Controller) -> str:
    known = {True: "caught up", False: "not caught up", None: "not known whether it is caught up"}
    words = [row.role or "role not known", known[row.caught_up]]
    words.append(f"pod {row.pod}" if row.pod else "no pod")
    if row.node:
        words.append(f"on Kubernetes node {row.node}")
    return ", ".join(words)


def _voters(quorum: Quorum) -> Iterator[str]:
    summary, leader = quorum.text("quorum", "summary"), quorum.number("quorum", "leaderID")
    if summary is not None:
        yield f"voters {summary}, " + (f"leader {leader}" if leader is not None else "no leader answers")
    if (since := quorum.text("quorum", "unknownSince")) is not None:
        yield f"no leader answers since {since}"
    voters = [each for each in quorum.controllers if each.role in {"Voter", "Leader"}]
    for caught_up, words in ((False, "not caught up"), (None, "not known to be caught up")):
        if found := [str(each.node_id) for each in voters if each.caught_up is caught_up]:
            yield f"voters that are {words}: {', '.join(found)}"


def _recovery(quorum: Quorum) -> Iterator[str]:
    """The verdict, and what was read of each disk."""
    verdict, plan = quorum.text("recovery", "verdict"), quorum.text("recovery", "plan")
    if verdict is not None:
        yield f"verdict {verdict}" + (f", plan {plan}" if plan is not None else "")
    for row in quorum.rows("recovery", "disks"):
        words = f"disk {reading.text(row, 'claimName')}: {reading.text(row, 'state')}"
        end, epoch = reading.number(row, "endOffset"), reading.number(row, "lastEpoch")
        words += f", ends at offset {end} in epoch {epoch}" if end is not None else ""
        yield f"{words}, {why}" if (why := reading.text(row, "reason")) else words
