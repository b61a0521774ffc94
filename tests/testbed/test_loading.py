"""Which images a node has already."""

import pytest

from testbed.loading import containerd_name, parse_labels

# As `ctr images ls` prints it.
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
    """What docker leaves out of a name is written out in containerd's."""
    assert containerd_name(reference) == name


def test_only_labelled_images_count() -> None:
    """An image that came some other way has no docker id, so it is loaded again rather than trusted."""
    assert parse_labels(_LISTING) == {"docker.io/testbed/kafka:4.4.0": "sha256:7a8b"}


def test_a_node_without_images_has_none() -> None:
    """The table of a fresh node is its heading."""
    assert parse_labels("REF TYPE DIGEST SIZE PLATFORMS LABELS\n") == {}
