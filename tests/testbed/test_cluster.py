"""The configuration of the cluster that kind creates."""

import json
from pathlib import Path
from typing import Literal

import pytest

from testbed import cluster
from testbed.config import DNS_ADDRESS, SERVICE_SUBNET, Paths
from testbed.engine import Engine, forget, recall, remember, require
from testbed.process import TestbedError


def _engine(cache: Path, kind: Literal["stock", "own"]) -> Engine:
    return Engine(kind, "kindest/node:v1" if kind == "stock" else "", Paths(cache))


def test_a_cluster_has_one_control_plane_and_the_workers_asked_for(tmp_path: Path) -> None:
    """Only workers run pods of tests, so their number is the number that a test can lose."""
    roles = [node["role"] for node in cluster.kind_config(_engine(tmp_path, "own"), 3)["nodes"]]
    assert roles == ["control-plane", "worker", "worker", "worker"]


@pytest.mark.parametrize(("kind", "cgroups"), [("own", "cgroupfs"), ("stock", None)])
def test_only_the_home_made_node_changes_cgroups(
    tmp_path: Path, kind: Literal["stock", "own"], cgroups: str | None
) -> None:
    """A stock node keeps its own cgroup driver; with both kinds a node that is down is noticed after 12 s."""
    patches = [json.loads(text) for text in cluster.kind_config(_engine(tmp_path, kind), 1)["kubeadmConfigPatches"]]
    manager, kubelet = patches
    assert manager["controllerManager"]["extraArgs"]["node-monitor-grace-period"] == "12s"
    assert kubelet.get("cgroupDriver") == cgroups


def test_a_node_is_read_as_the_api_server_gives_it() -> None:
    """The role is a label, and of several addresses the internal one counts."""
    node = {
        "metadata": {"name": "w", "labels": {"kubernetes.io/hostname": "w"}},
        "status": {
            "addresses": [{"type": "Hostname", "address": "w"}, {"type": "InternalIP", "address": "192.168.240.3"}]
        },
    }
    assert not cluster.is_control_plane(node)
    assert cluster.internal_ip(node) == "192.168.240.3"


def test_the_choice_of_docker_is_kept_until_down(tmp_path: Path) -> None:
    """Commands after `up` use the docker that it chose; after `down` the error asks for `up`."""
    chosen = _engine(tmp_path, "own")
    remember(chosen)
    assert require(chosen.paths) == chosen
    forget(chosen.paths)
    assert recall(chosen.paths) is None
    with pytest.raises(TestbedError, match="testbed up"):
        require(chosen.paths)


def test_commands_enter_the_network_only_where_it_is_separate(tmp_path: Path) -> None:
    """With stock docker commands run on the host; otherwise they enter the network of the cluster."""
    assert _engine(tmp_path, "stock").inside(["kubectl", "version"]) == ["kubectl", "version"]
    entered = _engine(tmp_path, "own").inside(["kubectl", "version"])
    assert entered[0] == "nsenter"
    assert entered[-2:] == ["kubectl", "version"]


def test_the_dns_address_lies_in_the_service_subnet() -> None:
    """The DNS address is in the service subnet, because kubeadm derives one from the other."""
    assert DNS_ADDRESS.rsplit(".", 1)[0] == SERVICE_SUBNET.split("/", maxsplit=1)[0].rsplit(".", 1)[0]
