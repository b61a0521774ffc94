"""A thin asynchronous client of the Kubernetes API: JSON in, JSON out, errors as types."""
