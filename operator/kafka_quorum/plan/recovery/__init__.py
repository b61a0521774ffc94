"""The recovery of a lost majority."""
