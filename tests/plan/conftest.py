"""Tests of the planner: this quorum has the disruption token, except in those that ask for `real_token`."""

import pytest

from kafka_quorum.plan.guards import rule2_given_up, rule3_voters, rule5_restarts


@pytest.fixture
def real_token() -> None:
    """The token is what the look shows."""


@pytest.fixture(autouse=True)
def _token(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stops are tested without the two looks that take the token and give it back."""
    if "real_token" in request.fixturenames:
        return
    for module in (rule2_given_up, rule3_voters, rule5_restarts):
        monkeypatch.setattr(module, "holds_token", lambda _: True)
