"""Invalid specs are refused before a running pod is changed, and corrected later."""

import pytest

from harness.quorum import Quorum
from harness.refused import POD_SPECS, condition_that_names_it
from harness.shell import CommandFailed, Json, holds_for, wait_until
from scenarios.expectations import assert_one_quorum, assert_untouched

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(420)]

ALL = {3000, 3001, 3002}
LEFT_ALONE_S = 15.0
_NOTICED_TIMEOUT_S = 60.0


REFUSED: dict[str, Json] = {name: {"controllers": {"template": {"spec": spec}}} for name, spec in POD_SPECS.items()}
RIGHT: Json = {"controllers": {"template": {"spec": None}}}
"""Removes the template's spec, and so every fault in it."""


def noticed(quorum: Quorum) -> Json | None:
    """The condition that names the fault of the spec or its pods, if one exists for this generation."""
    return condition_that_names_it(quorum.resource())


@pytest.mark.parametrize("name", REFUSED)
def test_a_roll_to_a_pod_that_the_api_server_refuses(name: str, ready: Quorum) -> None:
    """No controller is stopped if its new pod is refused. The cause is named, and the correction restarts nothing."""
    before, cluster = ready.running(), ready.record()["cluster_id"]
    try:
        ready.patch(REFUSED[name])
    except CommandFailed as error:
        print(f"refused by the API server: {error}")
        assert_untouched(ready, before, ALL)
        return
    row = wait_until("the cause is named", lambda: noticed(ready), _NOTICED_TIMEOUT_S)
    print(f"{row['type']}={row['status']} {row['reason']}: {row['message']}")
    holds_for("no controller is stopped", lambda: ready.running() == before, LEFT_ALONE_S, poll_s=1.0)
    ready.patch(RIGHT)
    ready.wait_condition("Progressing", "False", "Done")
    ready.wait_ready()
    assert_untouched(ready, before, ALL)
    assert ready.record()["cluster_id"] == cluster
    assert_one_quorum(ready, initial=ALL, voters=ALL)


@pytest.mark.parametrize("name", ["memory", "root", "priority-class"])
def test_a_pod_that_is_lost_while_the_spec_is_refused_comes_back(name: str, ready: Quorum) -> None:
    """A lost pod is created from its last revision; after the correction the other pods are unchanged."""
    before = ready.running()
    try:
        ready.patch(REFUSED[name])
    except CommandFailed as error:
        pytest.skip(f"refused by the API server: {error}")
    wait_until("the cause is named", lambda: noticed(ready), _NOTICED_TIMEOUT_S)
    ready.delete_pod(ready.pods()[3001]["metadata"]["name"])
    wait_until("the pod is made again", lambda: ready.running().get(3001, before[3001])[0] != before[3001][0], 90)
    ready.wait_condition("Available", "True")
    ready.patch(RIGHT)
    ready.wait_condition("Progressing", "False", "Done")
    ready.wait_ready()
    assert_untouched(ready, before, ALL - {3001})
    assert_one_quorum(ready, initial=ALL, voters=ALL)


def test_the_only_controller_is_not_stopped_for_a_refused_pod(quorum: Quorum) -> None:
    """The only controller of a quorum is not stopped if its new pod is refused."""
    quorum.apply({"controllers": {"replicas": 1}})
    quorum.wait_ready()
    before = quorum.running()
    try:
        quorum.patch(REFUSED["priority-class"])
    except CommandFailed as error:
        print(f"refused by the API server: {error}")
    else:
        wait_until("the cause is named", lambda: noticed(quorum), _NOTICED_TIMEOUT_S)
        holds_for("it runs", lambda: quorum.running() == before, LEFT_ALONE_S, poll_s=1.0)
        quorum.patch(RIGHT)
        quorum.wait_condition("Progressing", "False", "Done")
    quorum.wait_ready()
    assert_untouched(quorum, before, {3000})


@pytest.mark.parametrize("size", ["1.1Gi", "1000Ei"])
def test_a_size_that_cannot_be_is_refused_and_ends_no_work(size: str, ready: Quorum) -> None:
    """The size is refused by the API server or the operator; a lost pod is replaced, and the claims stay."""
    before = ready.running()
    claims = {name: claim["spec"]["resources"]["requests"]["storage"] for name, claim in ready.claims().items()}
    try:
        ready.patch({"controllers": {"storage": {"size": size}}})
    except CommandFailed as error:
        print(f"refused by the API server: {error}")
    ready.delete_pod(ready.pods()[3001]["metadata"]["name"])
    wait_until("the pod is made again", lambda: ready.running().get(3001, before[3001])[0] != before[3001][0], 90)
    ready.patch({"controllers": {"storage": {"size": "1Gi"}}})
    ready.wait_condition("Progressing", "False", "Done")
    ready.wait_ready()
    now = {name: claim["spec"]["resources"]["requests"]["storage"] for name, claim in ready.claims().items()}
    assert now == claims
    assert_untouched(ready, before, ALL - {3001})


@pytest.mark.parametrize("size", ["1.5Gi", "1500M", "2e9"])
def test_every_way_to_write_a_size_of_whole_bytes_works(size: str, quorum: Quorum) -> None:
    """Every valid notation of a size works: the quorum becomes ready, and a deleted pod is replaced."""
    quorum.apply({"controllers": {"storage": {"size": size}}})
    quorum.wait_ready()
    before = quorum.running()
    quorum.delete_pod(quorum.pods()[3001]["metadata"]["name"])
    wait_until("the pod is made again", lambda: quorum.running().get(3001, before[3001])[0] != before[3001][0], 90)
    quorum.wait_ready()
    assert_one_quorum(quorum, initial=ALL, voters=ALL)
