"""A Secret that a spec names is used only if the Secret itself allows it."""

import base64
from typing import Any

import pytest
from tests.kit.kube.recording import RecordingKube

from kit.kube.secrets import SECRETS, Use, check_use, read_bytes, read_secret
from kit.parsing import Malformed

USE = Use(reader="Toy/bear", where="spec.secretName", annotation="toys.io/used-by")
DATA = {"word": base64.b64encode(b"sesame").decode(), "other": "/w=="}


def having(readers: str | None) -> RecordingKube:
    """An API server with a Secret that lists these readers; None for one without annotations."""
    metadata: dict[str, Any] = {"name": "given", "namespace": "ns"}
    if readers is not None:
        metadata["annotations"] = {"toys.io/used-by": readers, "toys.io/other": "Toy/bear"}
    kube = RecordingKube()
    kube.put(SECRETS, {"metadata": metadata, "data": DATA})
    return kube


@pytest.mark.parametrize("readers", ["Toy/bear", "Toy/car,Toy/bear", " Toy/car , Toy/bear "])
async def test_a_listed_reader(readers: str) -> None:
    """A listed reader gets the keys that it asks for."""
    kube = having(readers)
    assert await read_secret(kube, "ns", "given", USE, ("word",)) == {"word": "sesame"}
    await check_use(kube, "ns", "given", USE)


@pytest.mark.parametrize("readers", [None, "", "bear", "Toy/bears", "toy/bear", "Toy/*", "*", "Toy/car"])
async def test_another_reader(readers: str | None) -> None:
    """One that is not listed gets the sentence of a Secret that does not exist, and so learns nothing."""
    said = []
    for kube in (having(readers), RecordingKube()):
        for ask in (read_secret, check_use):
            with pytest.raises(Malformed) as caught:
                await ask(kube, "ns", "given", USE)
            said.append(str(caught.value))
    assert len(set(said)) == 1
    assert "Secret given of spec.secretName does not exist, or its annotation toys.io/used-by does not" in said[0]


async def test_a_value_that_is_no_text() -> None:
    """A value that is no text is refused if it is asked for."""
    with pytest.raises(Malformed, match="no text: correct it"):
        await read_secret(having("Toy/bear"), "ns", "given", USE)


async def test_values_as_they_are() -> None:
    """Values that are no text are given as bytes to a listed reader; what is no base64 is refused."""
    assert await read_bytes(having("Toy/bear"), "ns", "given", USE) == {"word": b"sesame", "other": b"\xff"}
    with pytest.raises(Malformed, match="does not exist, or its annotation"):
        await read_bytes(having("Toy/car"), "ns", "given", USE)
    kube = having("Toy/bear")
    kube.objects[SECRETS.plural, "given"]["data"] = {"word": "?"}
    kube.objects.flush()
    with pytest.raises(Malformed, match="no base64: correct it"):
        await read_bytes(kube, "ns", "given", USE)
