"""The image of the history, from `Dockerfile.history`, built like the operator's (`operatorimage.py`).

If a build has no network, the packages in the locks are in the build context: wheels, and the source of PySpark, which
is published in no other form. The base then has a Java.
"""

import shutil
from pathlib import Path

from testbed import baseimages
from testbed.config import PROJECT
from testbed.engine import Engine
from testbed.images import ensure_image
from testbed.keys import content_key
from testbed.operatorimage import LICENSES, ensure_packages, on_base

REPOSITORY = "kafka-quorum-history"
LOCKS = tuple(PROJECT / name for name in ("requirements-build.lock", "requirements-history.lock"))
CODE = tuple(PROJECT / "operator" / name for name in ("kraftlog", "quorum_history"))
_DOCKERFILE = PROJECT / "Dockerfile.history"


def ensure(engine: Engine) -> list[str]:
    """Build missing images; returns the tags: one that follows the content, and `:dev` for people."""
    base, base_key = baseimages.ensure_both(engine)
    key = content_key(base_key, _DOCKERFILE, *LOCKS, *CODE, *LICENSES)
    tags = [f"{REPOSITORY}:dev-{key}", f"{REPOSITORY}:dev"]
    ensure_image(engine, tags, key, lambda context: _fill(engine, base, context))
    return tags


def _fill(engine: Engine, base: str, context: Path) -> None:
    (context / "Dockerfile").write_text(on_base(_DOCKERFILE.read_text(), base))
    for path in (*LOCKS, *LICENSES):
        shutil.copy(path, context / path.name)
    for code in CODE:
        shutil.copytree(code, context / "operator" / code.name, ignore=shutil.ignore_patterns("__pycache__"))
    target, name = engine.paths.work / "history-wheels", "packages of the history"
    shutil.copytree(ensure_packages(engine.paths, target, name, "--no-deps", *LOCKS), context / "wheels")
