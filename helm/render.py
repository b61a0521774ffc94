# ruff: noqa: INP001 - run by path, part of no package
"""Render the chart with its default values into `helm/install.yaml`: `python helm/render.py [--check]`.

HELM names the command; without it, helm is looked for on the PATH, then asked of the test-bed. What only Helm reads is
left out, and the namespace of the operator is put before all else.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "helm" / "kafka-quorum-operator"
TARGET = ROOT / "helm" / "install.yaml"
RELEASE = "kafka-quorum-operator"
NAMESPACE = "kafka-quorum-system"
KUBERNETES = "1.34.0"

_HEADER = f"""\
# Generated from the chart by `python helm/render.py`: change the chart, not this file.
#   kubectl apply --server-side -f helm/install.yaml
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    app.kubernetes.io/name: {RELEASE}
    pod-security.kubernetes.io/enforce: restricted
"""
_OF_HELM = re.compile(r"^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n", re.MULTILINE)
_OF_GENERATORS = re.compile(r"^# (Source|Generated).*\n", re.MULTILINE)


def helm() -> str:
    """The helm command."""
    found = os.environ.get("HELM") or shutil.which("helm")
    if found:
        return found
    command = [sys.executable, str(ROOT / "e2e" / "testbed"), "helm-binary"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def template(*options: str) -> str:
    """What the chart renders to. CalledProcessError, with helm's words on its stderr, where it refuses."""
    command = [
        helm(),
        "template",
        RELEASE,
        str(CHART),
        "--namespace",
        NAMESPACE,
        "--kube-version",
        KUBERNETES,
        *options,
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def manifests() -> str:
    """Everything that `kubectl apply` needs, in one file."""
    rendered = template("--set", "crds.keep=false")
    return _HEADER + _OF_GENERATORS.sub("", _OF_HELM.sub("", rendered))


def main() -> int:
    """Write the file, or with `--check` say whether it differs from the chart."""
    parser = argparse.ArgumentParser(description="Render the chart for kubectl apply.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing; 1 if the file differs")
    options = parser.parse_args()
    text = manifests()
    if TARGET.is_file() and TARGET.read_text() == text:
        return 0
    if options.check:
        sys.stderr.write(f"{TARGET} differs from the chart: run `python helm/render.py`\n")
        return 1
    TARGET.write_text(text)
    sys.stderr.write(f"{TARGET} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
