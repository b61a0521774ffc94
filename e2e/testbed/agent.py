"""The Prometheus JMX agent: a jar from Maven, pinned by its SHA-256, that a JVM loads to answer scrapes."""

import hashlib
import shutil
from pathlib import Path

from testbed import packages
from testbed.config import SOURCE, Paths
from testbed.keys import content_key, once
from testbed.process import TestbedError, run

COORDINATES = ("io.prometheus.jmx", "jmx_prometheus_javaagent", "1.0.1")
SHA256 = "7d61f737fd661610ccc14aea79764faa1ea94a340cbc8f0029b3d2edea3d80c1"


def ensure_agent(paths: Paths) -> Path:
    """The agent's jar, fetched once; Maven and Java are installed if they are missing (TestbedError)."""
    _, artifact, version = COORDINATES
    product = paths.work / "jmx-agent" / version / f"{artifact}-{version}.jar"

    def fetch() -> None:
        packages.ensure(paths, packages.MAVEN)
        shutil.rmtree(product.parent, ignore_errors=True)
        goal = ["dependency:copy", f"-Dartifact={':'.join(COORDINATES)}", f"-DoutputDirectory={product.parent}"]
        run(["mvn", "-q", "-B", *goal], paths.log / "maven.log", cwd=paths.cache)
        digest = hashlib.sha256(product.read_bytes()).hexdigest()
        if digest != SHA256:
            product.unlink()
            raise TestbedError(f"{product.name} is not the file that was pinned: its SHA-256 is {digest}")

    once(paths, "JMX agent", content_key(repr(COORDINATES), SHA256, SOURCE / "agent.py"), product, fetch)
    return product
