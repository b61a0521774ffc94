"""Kubernetes objects and Kafka's answers, gathered into one `Observed`."""
