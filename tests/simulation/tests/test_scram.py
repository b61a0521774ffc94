"""Users of SCRAM in the simulation: what the model answers, and what the rules notice."""

import base64

import pytest
from tests.simulation.model.happened import ScramSent
from tests.simulation.model.kafka.scram_api import ModelScram
from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.choose import driver_of
from tests.simulation.runs.explore import replay, scenario
from tests.simulation.runs.scenarios.scram_scenarios import SECRET

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.scram import ScramCredential, ScramMechanism, ScramRemoval
from kit.kube.protocol import CONFIG_MAPS

pytestmark = pytest.mark.timeout(120)

SHA_256, SHA_512 = ScramMechanism.SHA_256, ScramMechanism.SHA_512
EVE = ScramCredential(user="eve", mechanism=SHA_512, iterations=4096, salt=b"s", salted_password=b"p")


@pytest.fixture
def ended() -> tuple[World, Checker]:
    """A world with a quorum and users, at the end of its run."""
    driver = driver_of(scenario("scram-users-lost"))
    driver.run()
    return driver.world, driver.checker


def leader(world: World) -> Endpoint:
    """The active controller."""
    process = next(one for one in world.kraft.processes if one.leads)
    return Endpoint(node_id=process.meta.node_id, host=process.address, port=process.listens[0][1])


def test_the_model_answers_as_kafka_does(ended: tuple[World, Checker]) -> None:
    """Users by mechanism, removals that may be repeated, and iterations that are refused, as measured."""
    world, at = ended[0], leader(ended[0])
    model = ModelScram(world.kraft)
    assert model.present(at, ("ada", "eve"), SHA_512) == {"ada"}
    assert model.present(at, ("ada", "eve"), SHA_256) == frozenset()
    model.alter(at, EVE)
    assert model.present(at, ("ada", "eve"), SHA_512) == {"ada", "eve"}
    for _ in range(2):
        model.alter(at, ScramRemoval(user="eve", mechanism=SHA_512))
    assert model.present(at, ("ada", "eve"), SHA_512) == {"ada"}
    few = ScramCredential(user="eve", mechanism=SHA_512, iterations=4095, salt=b"s", salted_password=b"p")
    with pytest.raises(KafkaRefused, match="UNACCEPTABLE_CREDENTIAL"):
        model.alter(at, few)


def test_a_changed_user_of_others_breaks_a_rule(ended: tuple[World, Checker]) -> None:
    """A request about a user that no operator has sent is noticed."""
    world, checker = ended
    process = next(one for one in world.kraft.processes if one.leads)
    world.kraft.append(process, "user eve", users=(*process.disk.image.users, EVE))
    before = len(checker.violations)
    world.tell(ScramSent(endpoint=leader(world), change=ScramRemoval(user="eve", mechanism=SHA_512)))
    assert [one.rule for one in checker.violations[before:]] == ["13, user"]


def test_a_password_outside_of_secrets_breaks_a_rule(ended: tuple[World, Checker]) -> None:
    """Passwords, in clear or in base64, are noticed in any other object."""
    world, checker = ended
    before = len(checker.violations)
    for number, word in enumerate(("password of ada", base64.b64encode(b"password of ada").decode())):
        body = {"metadata": {"name": f"leak-{number}", "namespace": NAMESPACE}, "data": {SECRET: word}}
        world.kube.create(CONFIG_MAPS, NAMESPACE, body)
    assert {one.rule for one in checker.violations[before:]} == {"13, secret"}


@pytest.mark.parametrize("name", ["scram-users", "scram-users-lost"])
def test_a_run_without_a_fault(name: str) -> None:
    """It ends as it should."""
    run = replay(f"{name}/no-fault")
    assert run.violations == []
    assert run.ending.honest, run.ending
