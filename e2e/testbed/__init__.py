"""A test bed: a real multi-node Kubernetes cluster, with or without access to a container registry.

Where a working docker can pull `kindest/node`, the test bed is an ordinary kind cluster. Where it cannot, the
same cluster is made from what package registries hold: Kubernetes is compiled from Go modules, the nodes are
Debian, and a private dockerd runs in a network namespace of its own. See docs/testbed.md.
"""
