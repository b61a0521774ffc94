"""The command line."""

import argparse
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed import (
    agent,
    baseimages,
    binaries,
    browser,
    certmanager,
    clientimage,
    cluster,
    daemon,
    engine,
    faults,
    historyimage,
    kafka,
    loading,
    nodeimage,
    operatorimage,
    packages,
    sparkoperator,
    streams,
    streamsimage,
)
from testbed.config import KAFKA_VERSIONS, Paths, default_paths
from testbed.policies import enforcer
from testbed.process import TestbedError, environment
from testbed.progress import note, summary

_DEFAULT_WORKERS = 3

Subcommand = Callable[[Paths, argparse.Namespace], int]


def up(paths: Paths, options: argparse.Namespace) -> int:
    """Bring up a cluster that accepts manifests, from nothing if need be."""
    chosen = engine.choose(paths)
    binaries.ensure_kind(paths)
    daemon.ensure(chosen)
    node_image = chosen.node_image or nodeimage.ensure(chosen)
    cluster.ensure(chosen, node_image, options.workers)
    summary()
    note(f"ready; KUBECONFIG={paths.kubeconfig}")
    return 0


def down(paths: Paths, options: argparse.Namespace) -> int:
    """Delete the cluster, and stop what was started for it. Images and binaries stay."""
    chosen = engine.recall(paths)
    if chosen is None:
        note("the test bed is down already")
        return 0
    daemon.ensure(chosen)  # the nodes can be deleted only by a daemon that runs
    cluster.delete(chosen)
    if chosen.kind == "own" and not options.keep_docker:
        daemon.stop(paths)
        daemon.remove_netns()
    if not options.keep_docker:
        engine.forget(paths)
    return 0


def status(paths: Paths, _: argparse.Namespace) -> int:
    """Prints what runs; returns 0 only if the cluster answers."""
    chosen = engine.recall(paths)
    if chosen is None:
        print("down")
        return 1
    print(f"docker: {chosen.kind}\ncache: {paths.cache}")
    if not cluster.answers(chosen):
        print("cluster: no answer")
        return 1
    print(chosen.kubectl("get", "nodes", "-o", "wide"), end="")
    return 0


def kubeconfig(paths: Paths, _: argparse.Namespace) -> int:
    """Print the path of the kubeconfig."""
    engine.require(paths)
    print(paths.kubeconfig)
    return 0


def execute(paths: Paths, options: argparse.Namespace) -> int:
    """Become a command that can reach the API server, the pods and docker."""
    chosen = engine.require(paths)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise TestbedError("exec: which command?")
    inside = chosen.inside(command)
    os.execvpe(inside[0], inside, environment(chosen.env()))  # noqa: S606


def load(paths: Paths, options: argparse.Namespace) -> int:
    """Copy docker images to the nodes; by default to the workers, where pods run."""
    chosen = engine.require(paths)
    names = cluster.container_names(chosen) if options.all_nodes else loading.workers(chosen)
    loading.ensure(chosen, options.images, names)
    return 0


def build_image(paths: Paths, options: argparse.Namespace) -> int:
    """Run `docker build` with the test bed's docker; no network in RUN instructions."""
    chosen = engine.choose(paths)
    daemon.ensure(chosen)
    arguments = [argument for value in options.build_arg for argument in ("--build-arg", value)]
    file = ["-f", options.file] if options.file else []
    command = ["docker", "build", "-t", options.tag, *file, *arguments, options.context]
    return subprocess.run(command, env=environment(chosen.env()), check=False).returncode


def base_images(paths: Paths, options: argparse.Namespace) -> int:
    """Python and Kafka images: the public ones where a registry can be reached, else made from packages."""
    chosen = engine.choose(paths)
    daemon.ensure(chosen)
    baseimages.ensure_python(chosen)
    for version in options.kafka.split(",") if options.kafka else []:
        kafka.ensure_image_of(chosen, version)
    listing = ("--filter", "label=testbed.key", "--filter", "dangling=false")
    print(chosen.docker("images", *listing, "--format", "{{.Repository}}:{{.Tag}}\t{{.Size}}"), end="")
    summary()
    return 0


def operator_image(paths: Paths, options: argparse.Namespace) -> int:
    """Build the operator's image, load it to the workers, and print its name, which follows its content."""
    chosen = engine.choose(paths)
    daemon.ensure(chosen)
    tags = operatorimage.ensure(chosen)
    if not options.no_load:
        loading.ensure(chosen, tags, loading.workers(chosen))
    print(tags[0])
    return 0


def client_image(paths: Paths, options: argparse.Namespace) -> int:
    """Build the image of Kafka clients, load it to every node, and print its name, which follows its content."""
    chosen = engine.choose(paths)
    daemon.ensure(chosen)
    tag = clientimage.ensure(chosen)
    if not options.no_load:
        loading.ensure(chosen, [tag], cluster.container_names(chosen))
    print(tag)
    return 0


def streams_images(paths: Paths, options: argparse.Namespace) -> int:
    """Build the counting application for releases of Kafka Streams, load it to the workers, and print the images."""
    chosen = engine.choose(paths)
    daemon.ensure(chosen)
    tags = [streamsimage.ensure(chosen, version) for version in options.versions]
    if not options.no_load:
        loading.ensure(chosen, tags, loading.workers(chosen))
    print(*tags, sep="\n")
    return 0


def history_image(paths: Paths, options: argparse.Namespace) -> int:
    """Build the history's image, load it to the workers, and print its name, which follows its content."""
    chosen = engine.choose(paths)
    daemon.ensure(chosen)
    tags = historyimage.ensure(chosen)
    if not options.no_load:
        loading.ensure(chosen, tags[:1], loading.workers(chosen))
    print(tags[0])
    return 0


def spark_operator(paths: Paths, options: argparse.Namespace) -> int:
    """Build the image of Spark's operator, load it to the workers, and print its name and the folder of its chart."""
    chosen = engine.choose(paths)
    daemon.ensure(chosen)
    images, chart = sparkoperator.ensure(chosen)
    if not options.no_load:
        loading.ensure(chosen, images, loading.workers(chosen))
    print(images[0], chart, sep="\n")
    return 0


def cert_manager(paths: Paths, options: argparse.Namespace) -> int:
    """Install cert-manager in the cluster, with two authorities, or remove it; prints the names of the authorities."""
    chosen = engine.require(paths)
    daemon.ensure(chosen)
    if options.remove:
        certmanager.remove(chosen)
        return 0
    certmanager.install(chosen)
    print(*certmanager.AUTHORITIES, sep="\n")
    return 0


def cert_manager_binary(paths: Paths, _: argparse.Namespace) -> int:
    """Print the folder of cert-manager's program and definitions, compiled if need be; works without a cluster."""
    paths.cache.mkdir(parents=True, exist_ok=True)
    print(binaries.ensure_certmanager(paths))
    return 0


def helm_binary(paths: Paths, _: argparse.Namespace) -> int:
    """Print the path of the helm command, compiled if need be; works without a cluster."""
    paths.cache.mkdir(parents=True, exist_ok=True)
    print(binaries.ensure_helm(paths))
    return 0


def versitygw_binary(paths: Paths, _: argparse.Namespace) -> int:
    """Print the path of versitygw, an S3 server, compiled if need be; works without a cluster."""
    paths.cache.mkdir(parents=True, exist_ok=True)
    print(binaries.ensure_versitygw(paths))
    return 0


def kwok_binary(paths: Paths, _: argparse.Namespace) -> int:
    """Print the paths of KWOK and of the whole of Kubernetes in one program, compiled if need be; needs no cluster."""
    paths.cache.mkdir(parents=True, exist_ok=True)
    binaries.ensure_kubebox(paths)
    print(binaries.ensure_kwok(paths), paths.bin / "kubebox", sep="\n")
    return 0


def page_browser(paths: Paths, _: argparse.Namespace) -> int:
    """Print the paths of a headless browser and of axe-core's script, installed if need be; works without a cluster."""
    paths.cache.mkdir(parents=True, exist_ok=True)
    print(browser.ensure_browser(paths))
    print(browser.ensure_axe(paths))
    return 0


def kafka_jars(paths: Paths, options: argparse.Namespace) -> int:
    """Print a directory with Kafka's jars in libs/ and those of its tools in tools-libs/; works without docker."""
    print(kafka.ensure_jars(paths, options.version))
    return 0


def streams_jars(paths: Paths, options: argparse.Namespace) -> int:
    """Print a directory for each release of Kafka Streams, with its jars in libs/ and the test application in classes/.

    Works without docker.
    """
    for version in options.versions:
        print(streams.ensure_classes(paths, version).parent)
    return 0


def jmx_agent(paths: Paths, _: argparse.Namespace) -> int:
    """Print the path of the Prometheus JMX agent's jar, fetched if need be; works without docker."""
    paths.cache.mkdir(parents=True, exist_ok=True)
    print(agent.ensure_agent(paths))
    return 0


def venv_packages(paths: Paths, _: argparse.Namespace) -> int:
    """See to it that this Python can make virtual environments."""
    packages.ensure_venv(paths)
    return 0


def wheels(_: Paths, options: argparse.Namespace) -> int:
    """Run `pip wheel` on the host, for a build context whose image installs with --no-index."""
    command = [sys.executable, "-m", "pip", "wheel", "--wheel-dir", options.directory, *options.arguments]
    return subprocess.run(command, check=False).returncode


def node_kill(paths: Paths, options: argparse.Namespace) -> int:
    """Stop a node as a power failure does."""
    faults.kill(engine.require(paths), options.name)
    return 0


def node_start(paths: Paths, options: argparse.Namespace) -> int:
    """Start a killed node, and wait until it is ready."""
    faults.start(engine.require(paths), options.name, wait=not options.no_wait)
    return 0


def node_partition(paths: Paths, options: argparse.Namespace) -> int:
    """Cut a node and its pods off from everything, or from some nodes only."""
    faults.partition(engine.require(paths), options.name, options.peer)
    return 0


def node_heal(paths: Paths, options: argparse.Namespace) -> int:
    """Undo a partition."""
    faults.heal(engine.require(paths), options.name)
    return 0


def network_policies(paths: Paths, _: argparse.Namespace) -> int:
    """Enforce network policies until interrupted; prints a line when rules have changed."""
    enforcer.run(engine.require(paths))
    return 0


def _prints(what: str, ensure: Callable[[Paths], Path | tuple[Path, ...]]) -> Subcommand:
    """The command that makes programs if need be, and prints their paths."""

    def run(paths: Paths, _: argparse.Namespace) -> int:
        paths.cache.mkdir(parents=True, exist_ok=True)
        made = ensure(paths)
        print(*(made if isinstance(made, tuple) else (made,)), sep="\n")
        return 0

    run.__doc__ = f"Print {what}, compiled if need be; works without a cluster."
    return run


_PROGRAMS: dict[str, Subcommand] = {
    "cert-manager-binary": _prints("the folder of cert-manager's program and definitions", binaries.ensure_certmanager),
    "helm-binary": _prints("the path of the helm command", binaries.ensure_helm),
    "versitygw-binary": _prints("the path of versitygw, an S3 server", binaries.ensure_versitygw),
    "prometheus-binaries": _prints("the paths of prometheus and promtool", binaries.ensure_prometheus),
    "promtool-binary": _prints("the path of promtool", binaries.ensure_promtool),
    "kubeconform-binary": _prints("the path of kubeconform", binaries.ensure_kubeconform),
    "kwok-binary": kwok_binary,
    "page-browser": page_browser,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="testbed", description="Real multi-node Kubernetes for tests.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Subcommand) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        command.set_defaults(run=run)
        return command

    add("up", up).add_argument("--workers", type=int, default=_DEFAULT_WORKERS, metavar="N")
    keep = "leave the private dockerd running"
    add("down", down).add_argument("--keep-docker", action="store_true", help=keep)
    add("status", status)
    add("kubeconfig", kubeconfig)
    add("exec", execute).add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    loader = add("load", load)
    loader.add_argument("images", nargs="+", metavar="IMAGE")
    loader.add_argument("--all-nodes", action="store_true", help="the control plane too")
    builder = add("build-image", build_image)
    builder.add_argument("-t", "--tag", required=True)
    builder.add_argument("-f", "--file")
    builder.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    builder.add_argument("context", metavar="CONTEXT")
    versions = f"versions, such as {','.join(KAFKA_VERSIONS)}; the first is the default"
    add("base-images", base_images).add_argument("--kafka", default=KAFKA_VERSIONS[0], help=versions)
    images = (
        ("operator-image", operator_image),
        ("client-image", client_image),
        ("history-image", history_image),
        ("spark-operator", spark_operator),
    )
    for name, image in images:
        add(name, image).add_argument("--no-load", action="store_true", help="only build it")
    everything = "delete it, with every Certificate and Issuer of the cluster"
    add("cert-manager", cert_manager).add_argument("--remove", action="store_true", help=everything)
    for name, program in _PROGRAMS.items():
        add(name, program)
    add("kafka-jars", kafka_jars).add_argument("version", nargs="?", default=KAFKA_VERSIONS[0])
    add("streams-jars", streams_jars).add_argument("versions", nargs="+")
    images_of = add("streams-images", streams_images)
    images_of.add_argument("versions", nargs="+")
    images_of.add_argument("--no-load", action="store_true", help="only build them")
    add("jmx-agent", jmx_agent)
    add("venv-packages", venv_packages)
    wheel = add("wheels", wheels)
    wheel.add_argument("directory")
    wheel.add_argument("arguments", nargs=argparse.REMAINDER, metavar="-- PIP-ARGUMENT")
    add("node-kill", node_kill).add_argument("name")
    starter = add("node-start", node_start)
    starter.add_argument("name")
    starter.add_argument("--no-wait", action="store_true", help="do not wait until the node is ready")
    splitter = add("node-partition", node_partition)
    splitter.add_argument("name")
    peer = "cut off from this node only; may be repeated"
    splitter.add_argument("--peer", action="append", default=[], help=peer)
    add("node-heal", node_heal).add_argument("name")
    add("network-policies", network_policies)
    return parser


@contextmanager
def _alone(paths: Paths) -> Iterator[None]:
    """One command at a time may change the test bed; it waits for the one before it."""
    paths.cache.mkdir(parents=True, exist_ok=True)
    with Path(paths.cache, "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


_CHANGING: tuple[Subcommand, ...] = (
    up,
    down,
    base_images,
    operator_image,
    client_image,
    history_image,
    spark_operator,
    cert_manager,
    streams_images,
    load,
)


def main() -> int:
    """Parse, run, and turn expected failures into one message."""
    options, paths = _parser().parse_args(), default_paths()
    run: Subcommand = options.run
    try:
        if run in _CHANGING:
            with _alone(paths):
                return run(paths, options)
        return run(paths, options)
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
