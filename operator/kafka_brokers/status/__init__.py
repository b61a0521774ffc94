"""Conditions and the whole status of a pool. Pure."""
