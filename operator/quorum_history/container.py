"""What the history's image runs: `quorum-history`, or a process of Spark on Kubernetes.

Spark starts the pods of an application with the arguments `driver …` or `executor`. An executor gets everything else in
environment variables. Every other argument is a command of `quorum-history`.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence

_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")
_EXECUTOR = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_FACTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
"""The arguments of an executor, by the variable that Spark sets in its pod."""


class NotSparkError(Exception):
    """A variable that Spark sets is missing; the text has its name."""


def command(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The program to run, with its arguments (NotSparkError)."""
    match arguments:
        case ["driver", *rest]:
            submit = f"{_variable(environment, 'SPARK_HOME')}/bin/spark-submit"
            address = _variable(environment, "SPARK_DRIVER_BIND_ADDRESS")
            return [submit, "--conf", f"spark.driver.bindAddress={address}", "--deploy-mode", "client", *rest]
        case ["executor", *_]:
            return _executor(environment)
        case _:
            return [sys.executable, "-m", "quorum_history", *arguments]


def _executor(environment: Mapping[str, str]) -> list[str]:
    memory = _variable(environment, "SPARK_EXECUTOR_MEMORY")
    numbered = {int(found[1]): value for name, value in environment.items() if (found := _OPTION.fullmatch(name))}
    told = [word for option, name in _FACTS.items() for word in (option, _variable(environment, name))]
    options = [numbered[number] for number in sorted(numbered)]
    return ["java", *options, f"-Xms{memory}", f"-Xmx{memory}", "-cp", _class_path(environment), _EXECUTOR, *told]


def _class_path(environment: Mapping[str, str]) -> str:
    """Spark's configuration, its jars, and the application's additions."""
    home = _variable(environment, "SPARK_HOME")
    first = environment.get("SPARK_CONF_DIR") or f"{home}/conf"
    others = (environment.get(name) for name in ("HADOOP_CONF_DIR", "SPARK_CLASSPATH", "SPARK_EXTRA_CLASSPATH"))
    return ":".join(part for part in (first, f"{home}/jars/*", *others) if part)


def _variable(environment: Mapping[str, str], name: str) -> str:
    if not environment.get(name):
        raise NotSparkError(f"the variable {name} is missing, which Spark sets in the pods that it makes")
    return environment[name]


def main() -> int:
    """Replace this process with the program; returns only if that is not possible."""
    try:
        chosen = command(sys.argv[1:], os.environ)
        os.execvp(chosen[0], chosen)  # noqa: S606 -- no shell is needed
    except (NotSparkError, OSError) as error:
        print(f"quorum-history: {error}", file=sys.stderr)  # noqa: T201 -- a command prints its errors
        return 1


if __name__ == "__main__":
    sys.exit(main())
