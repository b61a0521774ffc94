"""Settings of every test."""

from hypothesis import settings

# A slow machine is no fault of the code: pytest's own timeout ends a test that hangs.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
