"""The accepted ending of a storm of a Streams application, compared with ground truth: Ready must be true."""

from collections.abc import Iterator

from tests.simulation.model.kafka.streams_releases import program_of
from tests.simulation.model.kubernetes.streams_pods import LABEL_APPLICATION
from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.runs.endings import Ending
from tests.simulation.runs.streams_blows import APPLICATION

from kafka_streams.kind import APPLICATIONS
from kit.kube.protocol import CLAIMS, PODS, Json


def application(world: World) -> Json | None:
    """The resource, unless it is being deleted."""
    body = world.kube.view(APPLICATIONS, NAMESPACE, APPLICATION)
    return None if body is None or "deletionTimestamp" in body["metadata"] else body


def application_rests(world: World) -> bool:
    """Whether it says Ready about its present spec, and nothing is in progress."""
    body = application(world)
    status = (body or {}).get("status") or {}
    if body is None or status.get("observedGeneration") != body["metadata"]["generation"]:
        return False
    rows = {row["type"]: row for row in status.get("conditions") or ()}
    return bool(rows["Ready"]["status"] == "True" and rows["Progressing"]["reason"] == "Done")


def judge_application(world: World, *, settled: bool, claims: bool = True) -> Ending:
    """Compare the report with the truth; without `claims`, some may be left that an older record does not know."""
    body = application(world)
    status = (body or {}).get("status") or {}
    said = str(status.get("doing") or "nothing")
    story = f"{said}: {status.get('message')}"
    if body is None or not settled or not application_rests(world):
        return Ending(says=said, honest=False, why=f"not Ready: {story}")
    why = "; ".join(one for one in _untrue(world, body["spec"]) if claims or not one.startswith("there are claims"))
    return Ending(says="Ready", honest=not why, why=why and f"Ready is not true: {why}")


def _untrue(world: World, spec: Json) -> Iterator[str]:
    """What is not as the spec says, though Ready says so."""
    streams = world.kubelet.streams
    processes = sorted(streams.processes, key=lambda one: one.index)
    if [one.index for one in processes] != list(range(spec["replicas"])):
        yield f"instances {[one.index for one in processes]} run, {spec['replicas']} are requested"
    wanted = program_of(spec["image"])
    for one in processes:
        if one.runs.program != wanted or one.runs.upgrade_from:
            yield f"instance {one.index} runs {one.runs}, and {wanted} is requested"
        if not streams.group.settled_with(one):
            yield f"instance {one.index} is not in the group"
    pods = sum(LABEL_APPLICATION in (pod["metadata"].get("labels") or {}) for pod in world.kube.all(PODS))
    if pods != len(processes):
        yield f"there are {pods} pods"
    claims = [claim["metadata"]["name"] for claim in world.kube.all(CLAIMS)]
    if len(claims) != (len(processes) if spec["state"]["type"] == "VolumeClaim" else 0):
        yield f"there are claims {', '.join(claims)}"
