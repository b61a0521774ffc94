"""The operator of Spark (kubeflow's) for tests of the history: an image of it, and the chart that installs it.

It starts applications with the `spark-submit` of its own image. The published image has Spark's; this one has
PySpark's, which is in the history's image anyway, and a Java for it.
"""

import shutil
from pathlib import Path

from testbed import binaries, historyimage
from testbed.config import SPARK_OPERATOR_VERSION
from testbed.engine import Engine
from testbed.images import ensure_image
from testbed.keys import content_key

IMAGE = f"testbed/spark-operator:{SPARK_OPERATOR_VERSION.removeprefix('v')}"
_DOCKERFILE = """\
FROM {base}
COPY spark-operator /usr/bin/spark-operator
ENTRYPOINT ["/usr/bin/spark-operator"]
"""


def ensure(engine: Engine) -> tuple[list[str], Path]:
    """Build missing images; returns the image, the history's image below it, and the folder of the chart."""
    history = historyimage.ensure(engine)[0]
    made = binaries.ensure_spark_operator(engine.paths)
    program, dockerfile = made / "spark-operator", _DOCKERFILE.format(base=history)

    def fill(context: Path) -> None:
        shutil.copy(program, context)
        (context / "Dockerfile").write_text(dockerfile)

    ensure_image(engine, [IMAGE], content_key(dockerfile, program), fill)
    return [IMAGE, history], made / "chart"
