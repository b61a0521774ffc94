"""The CRD of applications: the committed files agree with the models."""

from pathlib import Path

import pytest

from kafka_streams.api import crd

ROOT = Path(__file__).resolve().parents[3]


def test_committed_files_are_those_of_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    """`crds/`, the chart and the reference page are those that the models generate."""
    assert crd.main(["--check", "--root", str(ROOT)]) == 0, capsys.readouterr().err
