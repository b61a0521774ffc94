"""Whose quorum it is: the identity record, its copies, and what contradicts them."""
