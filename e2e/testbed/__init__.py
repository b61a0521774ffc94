"""A test bed: a real multi-node Kubernetes cluster, with or without access to a container registry.

If a working docker can pull `kindest/node`, the test bed is an ordinary kind cluster. If not, the same cluster is made
from package registries: Kubernetes is compiled from Go modules, the nodes are Debian, and a private dockerd runs in its
own network namespace. See docs/testbed.md.
"""
