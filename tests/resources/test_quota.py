"""A quota with room for the new pod after the old one is gone does not hold a roll."""

from typing import Any

import pytest

from kafka_quorum.resources.quota import fits_instead


def pod(memory: str, **limits: str) -> dict[str, Any]:
    """A pod of one container with this request."""
    return {"spec": {"containers": [{"resources": {"requests": {"memory": memory}, "limits": limits}}]}}


def said(requested: str, used: str, limited: str) -> str:
    """The words of Kubernetes 1.34."""
    return f'pods "a" is forbidden: exceeded quota: q, requested: {requested}, used: {used}, limited: {limited}'


@pytest.mark.parametrize(
    ("words", "old", "new", "fits"),
    [
        (said("pods=1", "pods=1", "pods=1"), pod("16Mi"), pod("16Mi"), True),
        (
            said("pods=1,requests.memory=16Mi", "pods=1,requests.memory=16Mi", "pods=1,requests.memory=20Mi"),
            pod("16Mi"),
            pod("16Mi"),
            True,
        ),
        (said("requests.memory=24Mi", "requests.memory=16Mi", "requests.memory=20Mi"), pod("16Mi"), pod("24Mi"), False),
        (said("memory=20Mi", "memory=16Mi", "memory=20Mi"), pod("16Mi"), pod("20Mi"), True),
        (said("limits.cpu=1", "limits.cpu=1", "limits.cpu=1"), pod("1Mi"), pod("1Mi"), False),
        (said("limits.cpu=1", "limits.cpu=1", "limits.cpu=1"), pod("1Mi", cpu="1"), pod("1Mi", cpu="1"), True),
        (said("pods=x", "pods=1", "pods=1"), pod("1Mi"), pod("1Mi"), False),
        ("violates PodSecurity", pod("1Mi"), pod("1Mi"), False),
        (said("pods=1", "requests.memory=1", "pods=1"), pod("1Mi"), pod("1Mi"), False),
    ],
)
def test_room_for_one_after_the_other(words: str, old: dict[str, Any], new: dict[str, Any], fits: bool) -> None:  # noqa: FBT001 - a parameter
    """The old pod's amount counts as free; an amount that cannot be read does not fit."""
    assert fits_instead(words, old, new) is fits
