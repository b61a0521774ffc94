"""A change of authorities as it is stored: both bundles in the record, both authorities in a Secret."""

from dataclasses import replace

import pytest
from tests.model.certificates import authority, authority_seen, recorded, wanted
from tests.model.values import runtime

from kafka_quorum.model.formats import LaterFormat
from kafka_quorum.model.identity import IdentityRecord, with_migration
from kafka_quorum.model.migration import AUTHORITY, MigrationKind, Reached, TrustChange
from kafka_quorum.resources.secrets import StoredAuthorities, authorities_from, authorities_object
from kafka_quorum.resources.stored import record_from, record_object
from kit.kube.protocol import Json

BOTH = AUTHORITY.stages[0].name


def changing(stage: str = BOTH) -> IdentityRecord:
    """A record in this stage of the change."""
    trust = TrustChange(before=authority_seen(1).pem, after=authority_seen(2).pem)
    made = runtime()
    reached = Reached(kind=MigrationKind.AUTHORITY, stage=stage, release=made.release, image=made.image, trust=trust)
    return with_migration(recorded(), reached)


def as_stored(record: IdentityRecord) -> Json:
    """The ConfigMap as the API server has it."""
    item = record_object(wanted(), record)
    item["metadata"]["resourceVersion"] = "9"
    return item


@pytest.mark.parametrize("stage", [stage.name for stage in AUTHORITY.stages])
def test_a_record_with_a_change_is_read_back(stage: str) -> None:
    """Both bundles and the stage survive the ConfigMap."""
    assert record_from(as_stored(changing(stage))) == replace(changing(stage), resource_version="9")


def test_an_unknown_stage_is_of_a_later_version() -> None:
    """A version that does not know the stage of a change touches nothing."""
    item = as_stored(changing())
    item["data"]["record.json"] = item["data"]["record.json"].replace(f'"{BOTH}"', '"TrustThree"')
    with pytest.raises(LaterFormat, match="TrustThree"):
        record_from(item)


@pytest.mark.parametrize("following", [None, authority(2)])
def test_authorities_are_read_back(following: object) -> None:
    """A Secret has both authorities with their keys, and what each was asked for."""
    stored = StoredAuthorities(
        present=authority(1),
        following=following,  # type: ignore[arg-type]  # an authority, or none
        asked_for="again",
        asked_before="once" if following else "",
        version="7",
    )
    item = authorities_object(wanted(), "alpha-ca", stored)
    found = authorities_from(item, wanted())
    assert found.seen == stored.seen
    assert (found.asked_for, found.asked_before, found.version) == ("again", stored.asked_before, "7")
    for sha256 in (authority_seen(1).sha256, authority_seen(2).sha256):
        signer = found.signer(sha256)
        assert (signer is not None) == (sha256 == authority_seen(1).sha256 or following is not None)
