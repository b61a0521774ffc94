"""Collects the licences of everything in the operator's image into one directory; run by the image's build.

    python licenses.py PACKAGES LICENSE

Below PACKAGES/licenses each package gets a directory with the licence files of its distribution. A package without any
ends the build: what is given to others has to carry its licence. LICENSE is the operator's own. The licences of Python
and of Debian's packages lie where the base image has them.
"""

import re
import shutil
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

_LICENCE = re.compile(r"(?i)(^|/)(licen[cs]e|copying|notice|authors|copyright)[^/]*$|/licenses/")


def licence_files(package: Distribution) -> list[Path]:
    """The files of an installed package that hold its licence, its notices and its authors."""
    files = (file for file in package.files or () if ".dist-info/" in str(file) and _LICENCE.search(str(file)))
    return [path for file in files if (path := Path(str(package.locate_file(file)))).is_file()]


def collect(packages: Path, own: Path) -> list[str]:
    """Copy the licences; the names of packages that have none."""
    target = packages / "licenses"
    missing = []
    for package in distributions(path=[str(packages)]):
        name = f"{package.metadata['Name']}-{package.version}"
        files = licence_files(package)
        if not files:
            missing.append(name)
        for number, file in enumerate(files):
            place = target / name / (file.name if number == 0 else f"{number}-{file.name}")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    (target / "kafka-quorum-operator").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(own, target / "kafka-quorum-operator" / "LICENSE")
    return sorted(missing)


def main(packages: str, own: str) -> int:
    """1 if a package has no licence, or there is no package at all."""
    missing = collect(Path(packages), Path(own))
    found = len(list((Path(packages) / "licenses").iterdir())) - 1
    if missing or not found:
        print(f"licenses: {found} packages have one; without: {', '.join(missing) or 'none'}", file=sys.stderr)  # noqa: T201 - a command
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
