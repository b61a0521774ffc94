"""Conditions, and the whole status. Pure."""
