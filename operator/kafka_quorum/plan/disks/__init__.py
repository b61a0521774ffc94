"""A disk from its claim to its retirement."""
