"""Authorities in their Secret: one that follows is made, becomes the present one, or is taken back."""

import asyncio

import pytest
from tests.act.test_execute import SetClock
from tests.kit.kube.recording import RecordingKube
from tests.model.certificates import authority, wanted
from tests.model.values import NAMESPACE, permit

from kafka_quorum.act.building import Context
from kafka_quorum.act.secrets import Secrets
from kafka_quorum.model import actions as act
from kafka_quorum.model import permit as permits
from kafka_quorum.resources.secrets import StoredAuthorities, authorities_from, authorities_object
from kit.errors import KubeConflict
from kit.kube.secrets import SECRETS

NAME = "alpha-ca"
CONTEXT = Context(desired=wanted(), record=None, resource={}, spec={})


def read(kube: RecordingKube) -> StoredAuthorities:
    """The Secret as it is now."""
    item = asyncio.run(kube.get(SECRETS, NAMESPACE, NAME))
    assert item is not None
    return authorities_from(item, wanted())


def test_what_follows_is_made_and_taken_back() -> None:
    """The Secret is then as it was before: the same authority, with what it was asked for."""
    kube = RecordingKube()
    secrets = Secrets(kube=kube, now=SetClock().now)
    first = StoredAuthorities(present=authority(1), following=None, asked_for="a", asked_before="", version="")
    asyncio.run(kube.create(SECRETS, NAMESPACE, authorities_object(wanted(), NAME, first)))
    before = read(kube)
    make = act.MakeAuthority(
        name=NAME, following=True, asked_for="b", life_s=360000, version=before.version, message="made"
    )
    asyncio.run(secrets.make(make, CONTEXT))
    both = read(kube)
    assert (both.asked_for, both.asked_before) == ("b", "a")
    assert both.present.certificate == before.present.certificate
    assert both.following is not None
    sha256 = both.following.certificate.fingerprint
    for wrong in ({"sha256": "other", "version": both.version}, {"sha256": sha256, "version": before.version}):
        with pytest.raises(KubeConflict):
            asyncio.run(secrets.withdraw(act.WithdrawAuthority(name=NAME, message="", **wrong), CONTEXT))
    away = act.WithdrawAuthority(name=NAME, sha256=sha256, version=both.version, message="taken back")
    asyncio.run(secrets.withdraw(away, CONTEXT))
    after = read(kube)
    assert (after.present.certificate, after.following) == (before.present.certificate, None)
    assert after.asked_for == "a"


def test_what_follows_becomes_the_present_one() -> None:
    """Only the new authority is left, with the request that it was made for."""
    kube = RecordingKube()
    secrets = Secrets(kube=kube, now=SetClock().now)
    two = StoredAuthorities(present=authority(1), following=authority(2), asked_for="b", asked_before="a", version="")
    asyncio.run(kube.create(SECRETS, NAMESPACE, authorities_object(wanted(), NAME, two)))
    promote = act.PromoteAuthority(
        name=NAME,
        sha256=authority(2).certificate.fingerprint,
        version=read(kube).version,
        message="",
        permit=permit(permits.EndAuthority),
    )
    asyncio.run(secrets.promote(promote, CONTEXT))
    after = read(kube)
    assert (after.present.certificate, after.following) == (authority(2).certificate, None)
    assert (after.asked_for, after.asked_before) == ("b", "")
