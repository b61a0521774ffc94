"""The image of Kafka clients in tests: Python and confluent-kafka, as requirements.lock has it, and no program.

The tests mount their program into the pod, so the image stays the same when the program changes.
"""

import shutil
from pathlib import Path

from testbed import baseimages
from testbed.config import PROJECT
from testbed.engine import Engine
from testbed.images import ensure_image
from testbed.keys import content_key
from testbed.operatorimage import ensure_wheels

_PACKAGE = "confluent_kafka"
_DOCKERFILE = f"""\
FROM {baseimages.PYTHON_IMAGE}
COPY wheels /wheels
RUN python -m pip install --no-cache-dir --disable-pip-version-check --no-index --no-deps /wheels/*.whl
USER 10001:10001
"""


def ensure(engine: Engine) -> str:
    """Build the image if it is missing; returns its tag, which follows its content."""
    base = baseimages.ensure_python(engine)
    key = content_key(base, _DOCKERFILE, PROJECT / "requirements.lock")
    tag = f"testbed/client:{key}"

    def fill(context: Path) -> None:
        (context / "wheels").mkdir()
        for wheel in ensure_wheels(engine.paths).glob(f"{_PACKAGE}-*.whl"):
            shutil.copy(wheel, context / "wheels" / wheel.name)
        (context / "Dockerfile").write_text(_DOCKERFILE)

    ensure_image(engine, [tag], key, fill)
    return tag
