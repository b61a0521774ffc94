"""The requirements of tests of HTML pages: a headless browser from Debian's packages, and axe-core.

axe-core finds faults of accessibility. It comes as a jar from Maven, like Kafka, so that the test-bed needs nothing
more.
"""

import hashlib
import shutil
import zipfile
from pathlib import Path

from testbed import packages
from testbed.config import SOURCE, Paths
from testbed.keys import content_key, once
from testbed.process import TestbedError, environment, run

_BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
"""The first one on PATH is taken. All of them are Chromium and are driven in the same way."""
_DEBIAN = {"chromium-headless-shell": "chromium-headless-shell"}
_AXE = ("com.deque.html.axe-core", "selenium", "4.11.1")
_AXE_SHA256 = "7c6cabdb5ac07e301a7133ea0f13fdc49c713a32d1866f015d559aee01244e23"
_SCRIPT = "axe.min.js"


def find() -> Path | None:
    """The browser on PATH, if there is one."""
    path = environment()["PATH"]
    return next((Path(found) for name in _BROWSERS if (found := shutil.which(name, path=path))), None)


def ensure_browser(paths: Paths) -> Path:
    """A browser that runs without a display; root gets it from Debian's packages, others get its name."""
    if (found := find()) is None:
        packages.ensure(paths, _DEBIAN)
        found = find()
    if found is None:
        raise TestbedError(f"no browser on PATH after its installation: {', '.join(_BROWSERS)}")
    return found


def ensure_axe(paths: Paths) -> Path:
    """The script `axe.min.js` of axe-core."""
    product = paths.work / "axe" / _AXE[-1] / _SCRIPT

    def fetch() -> None:
        packages.ensure(paths, packages.MAVEN)
        shutil.rmtree(product.parent, ignore_errors=True)
        goal = ["dependency:copy", f"-Dartifact={':'.join(_AXE)}", f"-DoutputDirectory={product.parent}"]
        run(["mvn", "-q", "-B", *goal], paths.log / "maven.log", cwd=paths.cache)
        (jar,) = product.parent.glob("*.jar")
        digest = hashlib.sha256(jar.read_bytes()).hexdigest()
        if digest != _AXE_SHA256:
            raise TestbedError(f"{jar.name} is not the file that was pinned: its SHA-256 is {digest}")
        with zipfile.ZipFile(jar) as packed:
            product.write_bytes(packed.read(_SCRIPT))
        jar.unlink()

    once(paths, "axe-core", content_key(repr(_AXE), _AXE_SHA256, SOURCE / "browser.py"), product, fetch)
    return product
