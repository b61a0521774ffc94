"""Gather Kubernetes objects and the quorum's answers into one `Observed`."""
