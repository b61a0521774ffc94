"""What enforces policies says that they are enforced only if every node has the rules of that moment."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.testbed.policies.worlds import NETWORKS, namespace, pod, rendered

from harness.policies import Json, Objects
from harness.policy_cases import policy
from testbed.config import Paths
from testbed.engine import Engine
from testbed.policies import enforcer
from testbed.policies.enforcer import Enforcer
from testbed.policies.rendering import HOOK, in_force, render
from testbed.process import TestbedError

_DOCKER = f"""#!{sys.executable}
import pathlib, sys
words = [word for word in sys.argv[1:] if word != "-i"]
folder = pathlib.Path(__file__).parent.parent
node, script = words[1], words[-1]
rules = folder / (node + ".rules")
if "iptables-restore" in script:
    if (folder / "refuses").exists():
        sys.exit("iptables: no")
    text = sys.stdin.read()
    if not (folder / "forgets").exists():
        rules.write_text(text)
if "-S FORWARD" in script:
    print("-P FORWARD ACCEPT")
    if rules.exists():
        print("-A FORWARD -j {HOOK}")
        print("\\n".join(line for line in rules.read_text().splitlines() if line.startswith("-A {HOOK} ")))
else:
    rules.unlink()
"""
"""A docker whose nodes have a file of rules each."""


class Bench:
    """An enforcer with nodes and an API server that a test changes."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, workers: ThreadPoolExecutor) -> None:
        """Two nodes with a pod each, and no policy."""
        self.folder = folder
        docker = folder / "bin" / "docker"
        docker.parent.mkdir()
        docker.write_text(_DOCKER)
        docker.chmod(0o755)
        pods = [pod("kafka", "a", "10.244.1.10", app="a"), pod("kafka", "b", "10.244.2.10")]
        self.objects = Objects([], pods, [namespace("kafka")])
        self.fails = False
        monkeypatch.setattr(enforcer, "_items", self._items)
        engine = Engine("own", "", Paths(folder))
        self.made = Enforcer(engine=engine, networks=dict(NETWORKS), path=folder / "api.sock", workers=workers)

    def _items(self, _: Path, where: str) -> list[Json]:
        if self.fails:
            raise ConnectionRefusedError
        lists = {"networkpolicies": self.objects.policies, "pods": self.objects.pods}
        return lists.get(where.rpartition("/")[2], self.objects.namespaces)

    def rules(self) -> dict[str, str]:
        """What the nodes have."""
        return {path.stem: path.read_text() for path in self.folder.glob("*.rules")}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Nothing is enforced yet."""
    with ThreadPoolExecutor(len(NETWORKS)) as workers:
        yield Bench(tmp_path, monkeypatch, workers)


def test_every_node_has_the_rules_of_the_moment(bench: Bench) -> None:
    """After each round the nodes have the rules of the present objects; the answer says what these are."""
    bench.made.enforce()
    assert bench.rules() == rendered(bench.objects)
    bench.objects.policies.append(policy("kafka", podSelector={}))
    world = bench.made.enforce()
    assert bench.rules() == rendered(bench.objects)
    assert [(each.namespace, each.name, each.version) for each in world.policies] == [("kafka", "p", "p/1")]
    bench.objects.policies.clear()
    assert not bench.made.enforce().policies
    assert bench.rules() == rendered(bench.objects)


def test_rules_that_a_node_lost_are_put_there_again(bench: Bench) -> None:
    """A node that has started again has no rules: with a look that is noticed."""
    bench.made.enforce()
    (bench.folder / "one.rules").unlink()
    bench.made.enforce(look=False)
    assert "one" not in bench.rules()
    bench.made.enforce()
    assert bench.rules() == rendered(bench.objects)


@pytest.mark.parametrize(
    ("fault", "words"), [("refuses", "does not take the rules"), ("forgets", "not in force on one")]
)
def test_a_node_without_its_rules_is_an_error(bench: Bench, fault: str, words: str) -> None:
    """A node that refuses rules, or has others afterwards, ends the round with an error: nothing may be judged."""
    bench.made.enforce()
    bench.objects.policies.append(policy("kafka", podSelector={}))
    (bench.folder / fault).touch()
    with pytest.raises(TestbedError, match=words):
        bench.made.enforce()
    (bench.folder / fault).unlink()
    bench.made.enforce()
    assert bench.rules() == rendered(bench.objects)


def test_an_api_server_that_does_not_answer_is_an_error(bench: Bench) -> None:
    """Without all three lists nothing is decided, and the nodes keep what they have."""
    bench.made.enforce()
    before = bench.rules()
    bench.fails = True
    with pytest.raises(TestbedError, match="the API server does not list"):
        bench.made.enforce()
    assert bench.rules() == before


def test_nothing_is_left_and_nothing_is_enforced_afterwards(bench: Bench) -> None:
    """At its end the nodes have no rules, and whoever still asks gets an error."""
    bench.made.enforce()
    bench.made.remove()
    assert bench.rules() == {}
    with pytest.raises(TestbedError, match="not enforced any more"):
        bench.made.enforce()


def test_rules_are_in_force_only_before_all_others() -> None:
    """The hook must be the first rule of FORWARD, and the rules must be those of the text."""
    text, other = (render(NETWORKS[node], [], []) for node in ("one", "two"))
    hook = "\n".join(line for line in text.splitlines() if line.startswith(f"-A {HOOK} "))
    first, later = f"-P FORWARD ACCEPT\n-A FORWARD -j {HOOK}\n", "-A FORWARD -j KUBE-FORWARD\n"
    assert in_force(text, first + later + hook)
    assert not in_force(text, later + first + hook)
    assert not in_force(text, first + later)
    assert not in_force(other, first + later + hook)
    assert not in_force(text, "")
