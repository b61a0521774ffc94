"""The claims of seeds are looked up while seeds would be read; what cannot be read is not mounted."""

from dataclasses import replace

from tests.kit.kube.recording import RecordingKube
from tests.model.values import view
from tests.plan.recovery.lost import asked, voters, without_leader
from tests.plan.recovery.test_steps import seeded_record

from kafka_quorum.kind import POOLS
from kafka_quorum.model.journal import RecoveryStage
from kafka_quorum.model.known import Known
from kafka_quorum.model.recovery_request import Seed
from kafka_quorum.observe.seeds import seeds_of
from kit.errors import KubeError
from kit.kube.protocol import CLAIMS, Json, ResourceType

SEEDS = tuple(Seed(claim=claim, path=path) for claim, path in (("a", ""), ("a", "x"), ("b", ""), ("c", "")))


def server() -> RecordingKube:
    """A claim that lists the quorum, and one of a pool of the quorum."""
    kube = RecordingKube()
    place = {"namespace": "kafka"}
    kube.put(
        CLAIMS, {"metadata": {"name": "a", "annotations": {"kafkaquorum.io/used-by": "KafkaQuorum/alpha"}, **place}}
    )
    kube.put(CLAIMS, {"metadata": {"name": "b", "labels": {"kafkaquorum.io/pool": "brokers"}, **place}})
    kube.put(POOLS, {"metadata": {"name": "brokers", **place}, "spec": {"quorum": "alpha"}})
    return kube


async def test_each_claim_is_looked_up_once() -> None:
    """Two seeds of one claim are one question; a claim that does not exist is refused."""
    found = dict(await seeds_of(server(), asked(seeds=SEEDS), without_leader()))
    assert (found["a"], found["b"]) == ("", "")
    assert "annotate pvc c kafkaquorum.io/used-by=KafkaQuorum/alpha" in found["c"]
    assert len(found) == 3


async def test_nothing_is_looked_up_without_a_need() -> None:
    """While a leader leads, or nothing is to be read, no request is made."""
    leads = replace(without_leader(), quorum=Known(value=view(voters(3000, 3001, 3002))))
    assert await seeds_of(server(), asked(seeds=SEEDS), leads) == ()
    assert await seeds_of(server(), asked(inspect=False, seeds=SEEDS), without_leader()) == ()


async def test_the_seed_of_an_open_recovery_is_looked_up() -> None:
    """It is needed until the survivor starts, although the spec may list it no more."""
    for stage, claims in ((RecoveryStage.REWRITE, ["broker-0"]), (RecoveryStage.START, [])):
        look = without_leader(seeded_record(stage)[0], lost=())
        assert [claim for claim, _ in await seeds_of(server(), asked(inspect=False), look)] == claims


async def test_a_claim_that_cannot_be_read_is_not_mounted() -> None:
    """An error of the API server is no permission."""

    class Failing(RecordingKube):
        async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
            raise KubeError(f"{resource.kind} {namespace}/{name}: timeout")

    found = dict(await seeds_of(Failing(), asked(seeds=SEEDS), without_leader()))
    assert all("cannot be read" in why for why in found.values())
