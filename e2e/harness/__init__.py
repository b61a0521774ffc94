"""What scenarios and measurements do to a cluster, and how they look at it. Everything waits for a condition."""
