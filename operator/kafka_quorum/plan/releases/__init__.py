"""What pods are made from, in which order they restart, and the feature levels."""
