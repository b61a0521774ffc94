"""Write `schemas.json.gz`: the schemas of Kubernetes' kinds and of the Prometheus operator's, without descriptions.

Go is needed, because both come from Go modules, whose checksums are pinned. `python -m tests.helm.export_schemas`.
"""

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any, Final

import yaml
from tests.helm.schemas import STORED

from testbed.config import KUBERNETES_VERSION

KUBERNETES: Final = (f"k8s.io/kubernetes@{KUBERNETES_VERSION}", "h1:mB1KE7E2BonfpnGyim/+csCR5JMAoLsXt2xPXL5+DdY=")
MONITORING: Final = (
    "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
)
MONITORING_KINDS: Final = ("podmonitors", "prometheusrules", "servicemonitors")


def _folder(module: str, checksum: str) -> Path:
    """The folder where Go has unpacked a module."""
    command = ["go", "mod", "download", "-json", module]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if found["Sum"] != checksum:
        raise SystemExit(f"{module} is not the one that was pinned: its checksum is {found['Sum']}, not {checksum}")
    return Path(found["Dir"])


def _read(path: Path) -> dict[str, Any]:
    """A file of JSON or YAML. Descriptions are left out; a field of that name has an object, and stays."""
    found = yaml.load(path.read_text(), yaml.CSafeLoader)
    return dict(json.loads(json.dumps(found), object_hook=_without_description))


def _without_description(value: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if not (key == "description" and isinstance(each, str))}


def main() -> None:
    """Write the file; the same modules give the same bytes."""
    swagger = _read(_folder(*KUBERNETES) / "api" / "openapi-spec" / "swagger.json")
    crds = _folder(*MONITORING) / "example" / "prometheus-operator-crd"
    found = {
        "modules": [KUBERNETES[0], MONITORING[0]],
        "definitions": swagger["definitions"],
        "crds": [_read(crds / f"monitoring.coreos.com_{kind}.yaml") for kind in MONITORING_KINDS],
    }
    text = json.dumps(found, separators=(",", ":"), sort_keys=True)
    STORED.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
