"""The acts of scenarios and measurements on a cluster, and their looks at it. Each of them waits for a condition."""
