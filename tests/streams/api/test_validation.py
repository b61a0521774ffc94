"""Which applications are followed, and which are refused, by field and with a sentence."""

import pytest
from tests.streams.api.specs import ACCEPTED, FILE, REFUSED, Refused, desired, resource

from kafka_quorum.settings import PodException
from kafka_streams.api import rules
from kafka_streams.api.validation import validate
from kafka_streams.model.application import Desired
from kafka_streams.model.observed import Revision
from kafka_streams.model.record import Slot
from kafka_streams.resources import pods


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_wrong_spec_is_refused_by_field(case: Refused) -> None:
    """Each wrong spec has faults of one field, with the field's path and what to do."""
    found = validate(resource({"release": "3.9.1", "image": "app:1", **case.patch}), case.properties)
    assert not isinstance(found, Desired)
    assert {fault.field for fault in found} == {case.field}
    assert any(case.words in fault.message for fault in found)


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_right_spec_is_followed(name: str) -> None:
    """Each form that a spec may have is valid."""
    assert desired(**ACCEPTED[name]).application_id == "counts"


def test_the_application_id_does_not_change() -> None:
    """With another application id than that of the record, the spec is refused."""
    asked = resource({"release": "3.9.1", "image": "app:1"})
    found = validate(asked, FILE, application_id="sums")
    assert not isinstance(found, Desired)
    assert [(one.field, one.message) for one in found] == [("spec.applicationID", rules.APPLICATION_ID_CHANGED.message)]
    assert isinstance(validate(asked, FILE, application_id="counts"), Desired)


def test_an_exception_of_the_policy_lets_through_what_it_names() -> None:
    """A secret as a volume needs SecretVariables, and no other exception."""
    (case,) = (case for case in REFUSED if case.name == "a secret as a volume")
    asked = resource({"release": "3.9.1", "image": "app:1", **case.patch})
    assert isinstance(validate(asked, FILE, frozenset({PodException.SECRET_VARIABLES})), Desired)
    assert not isinstance(validate(asked, FILE, frozenset({PodException.ROOT})), Desired)


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ({"secret": {"name": "s"}}, {PodException.SECRET_VARIABLES}),
        ({"serviceAccountToken": {"path": "t"}}, {PodException.SECRET_VARIABLES, PodException.SERVICE_ACCOUNTS}),
    ],
    ids=["secret", "token"],
)
def test_a_projected_volume_needs_the_exceptions_of_its_sources(
    source: dict[str, object], needs: set[PodException]
) -> None:
    """A token gives the rights of the pod's service account, and so needs serviceAccounts."""
    volume = {"name": "v", "projected": {"sources": [source]}}
    template = {"spec": {"containers": [{"name": "app"}], "volumes": [volume]}}
    asked = resource({"release": "3.9.1", "image": "app:1", "template": template})
    assert isinstance(validate(asked, FILE, frozenset(needs)), Desired)
    for one in needs:
        assert not isinstance(validate(asked, FILE, frozenset(PodException) - {one}), Desired)


@pytest.mark.parametrize("own", [{}, {"capabilities": {}}, {"readOnlyRootFilesystem": True}], ids=str)
def test_every_container_drops_all_capabilities(own: dict[str, object]) -> None:
    """A security context of its own that names no capabilities keeps none."""
    containers = [{"name": "app", "securityContext": own}]
    made = desired(template={"spec": {"containers": containers, "initContainers": [{**containers[0], "name": "init"}]}})
    revision = Revision(
        name="counts-streams-0", number=1, runtime=made.runtime, upgrade_from="", uid="u", resource_version="1"
    )
    slot = Slot(index=0, revision=revision.name)
    spec = pods.instance(made, slot, revision, "IfNotPresent")["spec"]
    for one in (*spec["containers"], *spec["initContainers"]):
        assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert one["securityContext"]["allowPrivilegeEscalation"] is False
