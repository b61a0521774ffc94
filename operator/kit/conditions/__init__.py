"""Conditions and the rest of a status: merged with the earlier status, and written as a patch."""
