"""Certificates: the quorum's own authority, leafs and their renewal, and listeners that load them again."""
