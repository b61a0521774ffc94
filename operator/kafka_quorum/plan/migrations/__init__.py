"""Migrations: what a quorum goes through in stages, and the gates between them."""
