"""The rules of one node, in the form of `iptables-restore --noflush`.

Pods are routed, so what a pod sends or gets passes the chain FORWARD of its node, after the address of a service has
become that of a pod. What the node itself sends does not pass it: kubelet and node always reach their pods. Replies
belong to a connection that was judged when it began.

A refused connection gets an ICMP answer, so a test sees at once that a policy refused it. A pod that the rules do not
know yet is cut off until they do: its packets are dropped, so that connections only begin later.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from ipaddress import IPv4Network

from testbed.policies.objects import Pod
from testbed.policies.rules import ANYWHERE, Allow, Isolation, Way

HOOK = "TESTBED-POLICY"
_CHAINS = {Way.EGRESS: "TESTBED-EGRESS", Way.INGRESS: "TESTBED-INGRESS"}
_OWN = {Way.EGRESS: "-s", Way.INGRESS: "-d"}
_OTHER = {Way.EGRESS: "-d", Way.INGRESS: "-s"}
_REFUSE = "-j REJECT --reject-with icmp-admin-prohibited"
_DEFAULT_MASK = 6168
_LIMITED = "/proc/sys/net/ipv4/icmp_ratemask"
READ = f"iptables -w -S FORWARD && iptables -w -S {HOOK}"
"""The script that shows what `in_force` judges."""
APPLY = (
    f"echo 0 > {_LIMITED} && iptables-restore -w --noflush && "
    f"(iptables -w -C FORWARD -j {HOOK} 2>/dev/null || iptables -w -I FORWARD 1 -j {HOOK}) && {READ}"
)
"""The script that puts rules, from its input, before all others of the node, and then shows what `in_force` judges.

Refusals are ICMP messages, of which Linux sends a few per second only, unless this mask exempts them.
"""
REMOVE = (
    f"iptables -w -D FORWARD -j {HOOK} 2>/dev/null; "
    f"for chain in {HOOK} {' '.join(_CHAINS.values())}; do iptables -w -F $chain; done 2>/dev/null; "
    f"for chain in {HOOK} {' '.join(_CHAINS.values())}; do iptables -w -X $chain; done 2>/dev/null; "
    f"echo {_DEFAULT_MASK} > {_LIMITED}"
)
"""The script that takes every rule away again."""


def render(network: IPv4Network, pods: Iterable[Pod], isolated: Iterable[Isolation]) -> str:
    """The rules of the node whose pods have addresses of `network`; `pods` and `isolated` are of this node."""
    local = sorted(pods, key=lambda pod: pod.address)
    by_pod = {(each.pod, each.way): each for each in isolated}
    lines = [
        line
        for way, chain in _CHAINS.items()
        for line in (
            *(f"-A {chain} {text}" for pod in local for text in _of_pod(pod, way, by_pod.get((pod, way)))),
            f"-A {chain} {_OWN[way]} {network} -j DROP",
        )
    ]
    chains = [f":{chain} - [0:0]" for chain in (HOOK, *_CHAINS.values())]
    mark = sha256("\n".join(lines).encode()).hexdigest()[:16]
    hook = [
        f"-A {HOOK} -m comment --comment {mark} -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN",
        *(f"-A {HOOK} -j {chain}" for chain in _CHAINS.values()),
    ]
    return "\n".join(["*filter", *chains, *hook, *lines, "COMMIT", ""])


def in_force(text: str, shown: str) -> bool:
    """Whether a node that `shown` is the output of `READ` of has the rules of `text`, before all others."""
    mark = text.partition("--comment ")[2].partition(" ")[0]
    appended = [line for line in shown.splitlines() if line.startswith("-A ")]
    hook = [line for line in appended if line.startswith(f"-A {HOOK} ")]
    return appended[:1] == [f"-A FORWARD -j {HOOK}"] and bool(mark) and any(mark in line for line in hook)


def _of_pod(pod: Pod, way: Way, isolation: Isolation | None) -> Iterator[str]:
    own = f"{_OWN[way]} {pod.address}/32"
    if isolation is None:
        yield f"{own} -j RETURN"
        return
    yield f"{own} {_OTHER[way]} {pod.address}/32 -j RETURN"  # through a service: no policy keeps a pod from itself
    for allow in sorted(isolation.allowed, key=_order):
        yield f"{own}{_matches(allow, way)} -j RETURN"
    yield f"{own} {_REFUSE}"


def _order(allow: Allow) -> tuple[IPv4Network, str, tuple[int, int]]:
    return allow.peer, allow.protocol, allow.ports or (0, 0)


def _matches(allow: Allow, way: Way) -> str:
    peer = "" if allow.peer == ANYWHERE else f" {_OTHER[way]} {allow.peer}"
    protocol = allow.protocol.lower()
    if not protocol:
        return peer
    ports = "" if allow.ports is None else f" -m {protocol} --dport {allow.ports[0]}:{allow.ports[1]}"
    return f"{peer} -p {protocol}{ports}"
