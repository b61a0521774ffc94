"""Which images a node already has."""

import pytest

from testbed.loading import containerd_name, parse_labels

# The output of `ctr images ls`.
_LISTING = """\
REF                               TYPE                                                 DIGEST        SIZE      PLATFORMS   LABELS
docker.io/testbed/kafka:4.4.0     application/vnd.docker.distribution.manifest.v2+json sha256:46cb9d 355.1 MiB linux/amd64 io.cri-containerd.image=managed,testbed.docker-id=sha256:7a8b
docker.io/testbed/python:3.11     application/vnd.docker.distribution.manifest.v2+json sha256:46cb9e 143.0 MiB linux/amd64 io.cri-containerd.image=managed
registry.example/pause:3.10       application/vnd.docker.distribution.manifest.v2+json sha256:ff6106 1.4 MiB   linux/amd64 -
"""  # noqa: E501 # the lines are as wide as that


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("testbed/kafka:4.4.0", "docker.io/testbed/kafka:4.4.0"),
        ("kafka-quorum-operator:dev", "docker.io/library/kafka-quorum-operator:dev"),
        ("busybox", "docker.io/library/busybox:latest"),
        ("testbed/kafka", "docker.io/testbed/kafka:latest"),
        ("registry.example/a/b:1", "registry.example/a/b:1"),
        ("localhost/a:1", "localhost/a:1"),
        ("host:5000/a", "host:5000/a:latest"),
    ],
)
def test_a_reference_has_one_full_name(reference: str, name: str) -> None:
    """A short name of docker is completed as in containerd."""
    assert containerd_name(reference) == name


def test_only_labelled_images_count() -> None:
    """An image without our label has no docker id, so it is loaded again."""
    assert parse_labels(_LISTING) == {"docker.io/testbed/kafka:4.4.0": "sha256:7a8b"}


def test_a_node_without_images_has_none() -> None:
    """The table of a new node has only its heading."""
    assert parse_labels("REF TYPE DIGEST SIZE PLATFORMS LABELS\n") == {}
