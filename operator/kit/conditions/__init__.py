"""Conditions and the rest of a status: merged with what was there before, and written as a patch."""
