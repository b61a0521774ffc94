"""Kubernetes objects and the group's answers, gathered into one `Observed`."""
