"""What holds for every test."""

from hypothesis import settings

# A busy machine is no fault of the code: pytest's own timeout ends what hangs.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
