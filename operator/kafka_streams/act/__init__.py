"""Actions are executed, and their results are outcomes."""
