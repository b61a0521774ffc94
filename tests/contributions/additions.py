"""One real addition of each kind that CONTRIBUTING.md describes: the edits of the source, and a program that uses it.

An edit is a file of `operator/kafka_quorum/`, a text that it has once, and the text in its place; without an old text
the file is new. The program runs with the edited source, and fails if the addition does not work.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

Edit: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """`name` is the example as the table of CONTRIBUTING.md writes it."""

    name: str
    edits: tuple[Edit, ...]
    program: str

    @property
    def files(self) -> frozenset[str]:
        """The production files that it creates or changes."""
        return frozenset(path for path, _, _ in self.edits)


def after(path: str, old: str, more: str) -> Edit:
    """An edit that adds a text behind another one."""
    return path, old, old + more


CONDITION: Final = Addition(
    name="`VotersSpread`",
    edits=(
        (
            "status/spread.py",
            "",
            '''"""VotersSpread: whether the failure of one Kubernetes node leaves a majority of the voters."""

from kafka_quorum.model.nodes import node_of
from kafka_quorum.model.voters import majority_of
from kafka_quorum.status.finding import Pass
from kit.conditions.finding import Finding, Truth


def voters_spread(done: Pass) -> Finding:
    """True if no Kubernetes node runs so many voters that the others are no majority."""
    nodes = [] if done.observed.record is None else list(done.observed.record.nodes)
    places = [node_of(done.observed, node) for node in nodes]
    most = max((places.count(place) for place in places), default=0)
    truth = Truth.TRUE if len(places) - most >= majority_of(len(places)) else Truth.FALSE
    return Finding(type="VotersSpread", truth=truth, reason="Counted", message=f"{most} voters share a node")
''',
        ),
        after(
            "status/build.py",
            "from kafka_quorum.status.spec_accepted import spec_accepted\n",
            "from kafka_quorum.status.spread import voters_spread\n",
        ),
        after("status/build.py", '    "OddVoterCount": odd_voter_count,\n', '    "VotersSpread": voters_spread,\n'),
    ),
    program="""
from tests.model.values import at_rest
from tests.status.passes import FAULT, done
from kafka_quorum.status.build import build
from kafka_quorum.status.cannot_look import blinded
from kafka_quorum.status.refused import refused

statuses = (
    build(done(at_rest()), {}, generation=1, now="t"),
    blinded({}, "no rights", generation=1, now="t"),
    refused({}, (FAULT,), name="alpha", generation=1, now="t"),
)
last = [status["conditions"][-1] for status in statuses]
assert {row["type"] for row in last} == {"VotersSpread"}, last
assert last[0]["reason"] == "Counted", last
assert [row["status"] for row in last[1:]] == ["Unknown", "Unknown"], last
""",
)

GUARD: Final = Addition(
    name="`4-add-node`",
    edits=(
        after(
            "model/permit.py",
            '    id = "4-drop-node"\n',
            '''

class AddNode(Guard):
    """A controller joins the record."""

    id = "4-add-node"
''',
        ),
        (
            "plan/guards/rule4_changes.py",
            "import DropNode, OneChange\n",
            "import AddNode, DropNode, OneChange\n",
        ),
        after(
            "plan/guards/rule4_changes.py",
            '    return yes("no voter change is open")\n',
            '''

@guard(AddNode)
def may_add_node(situation: Situation) -> Answer:
    """Rule 4: no controller joins the record while a voter change is open."""
    if situation.observed.status.operation is not None:
        return no("Waiting to add controllers: a voter change is open")
    return yes("no voter change is open")
''',
        ),
        (
            "model/actions/record.py",
            "    Adopt,\n    AttemptAgain,\n",
            "    AddNode,\n    Adopt,\n    AttemptAgain,\n",
        ),
        after(
            "model/actions/record.py",
            "DECISIONS: Final[Mapping[RecordChange, type[Guard]]] = {\n",
            "    RecordChange.NODES_ADDED: AddNode,\n",
        ),
        (
            "model/actions/record.py",
            "        Permit[Start] | Permit[RetireDisk]",
            "        Permit[AddNode]\n        | Permit[Start]\n        | Permit[RetireDisk]",
        ),
        ("plan/voters/requested.py", "import RecordChange, WriteRecord\n", "import DecideRecord, RecordChange\n"),
        (
            "plan/voters/requested.py",
            "from kafka_quorum.model.plan import Severity, Wait\n",
            "from kafka_quorum.model.permit import Refusal\nfrom kafka_quorum.model.plan import Severity, Wait\n",
        ),
        after(
            "plan/voters/requested.py",
            "from kafka_quorum.model.situation import Situation\n",
            "from kafka_quorum.plan.guards.rule4_changes import may_add_node\n",
        ),
        (
            "plan/voters/requested.py",
            "    write = WriteRecord(",
            """    verdict = may_add_node(situation)
    if isinstance(verdict, Refusal):
        wait = Wait(severity=Severity.PROGRESS, reason="ChangingVoters", message=verdict.reason)
        return Part(waits=(wait,), verdicts=(verdict,))
    write = DecideRecord(permit=verdict, """,
        ),
        ("plan/voters/requested.py", "Part(exclusive=write)", "Part(exclusive=write, verdicts=(verdict,))"),
    ),
    program="""
from dataclasses import replace
from tests.model.values import at_rest, bound, desired, key, operation
from tests.plan.reading import every, only, planned, verdict
from kafka_quorum.model.actions import DecideRecord, RecordChange, WriteRecord
from kafka_quorum.model.permit import WrongPermitError
from kafka_quorum.plan.guards.registry import GUARDS

assert GUARDS["4-add-node"].endswith("rule4_changes"), GUARDS
look = at_rest()
said = planned(look, desired(replicas=4))
assert only(said, DecideRecord).permit is verdict(said, "4-add-node")
said = planned(replace(look, status=replace(look.status, open=operation(key(3000)))), desired(replicas=4))
assert not verdict(said, "4-add-node").allowed and not every(said, DecideRecord), said
try:
    WriteRecord(record=bound(), change=RecordChange.NODES_ADDED, message="m")
except WrongPermitError as error:
    assert "4-add-node" in str(error), error
else:
    raise AssertionError("the record can be written without the permit")
""",
)

REQUEST: Final = Addition(
    name="AllocateProducerIds",
    edits=(
        (
            "wire/requests/allocate_producer_ids.py",
            "",
            '''"""AllocateProducerIds (67): the next producer ids of a broker."""

from typing import Final

from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
from kio.schema.allocate_producer_ids.v0.response import AllocateProducerIdsResponse
from kio.schema.types import BrokerId
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.ids import NodeID
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import int32

API: Final = Api(key=67, name="AllocateProducerIds", ours=VersionRange(low=0, high=0), effect=Effect.WRITES)


def request(node_id: NodeID) -> Request[None]:
    """Allocate ids for a broker, at the active controller."""
    return Request(api=API, build=lambda _: message(node_id), read=_read)


def _read(response: ResponsePayload) -> None:
    answer = typed(response, AllocateProducerIdsResponse)
    accept(answer.error_code, None)


def message(node_id: NodeID) -> AllocateProducerIdsRequest:
    """The request, in its one version."""
    return AllocateProducerIdsRequest(broker_id=BrokerId(int32("node id", node_id)))
''',
        ),
        (
            "wire/requests/table.py",
            "    unregister_controller,\n",
            "    allocate_producer_ids,\n    unregister_controller,\n",
        ),
        after("wire/requests/table.py", "    unregister_controller.API,\n", "    allocate_producer_ids.API,\n"),
        (
            "wire/protocol.py",
            "    async def close(self) -> None:\n",
            '''    async def allocate_producer_ids(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """AllocateProducerIds at the active controller."""

    async def close(self) -> None:
''',
        ),
        ("wire/admin.py", "    unregister_controller,\n", "    allocate_producer_ids,\n    unregister_controller,\n"),
        after(
            "wire/admin.py",
            "        await self._send(endpoint, unregister_controller.request(node_id))\n",
            '''
    async def allocate_producer_ids(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """AllocateProducerIds at the active controller."""
        await self._send(endpoint, allocate_producer_ids.request(node_id))
''',
        ),
    ),
    program="""
import asyncio
from datetime import timedelta
from kio.schema.errors import ErrorCode
from kio.schema.allocate_producer_ids.v0.response import AllocateProducerIdsResponse
from kio.schema.types import ProducerId
from kio.static.primitive import i32, i32Timedelta
from tests.wire.fakes import FakeServer, answer_to, api_versions, running
from kafka_quorum.errors import KafkaRefused
from kafka_quorum.wire.admin import KafkaControllers


async def ask(code):
    answer = AllocateProducerIdsResponse(
        throttle_time=i32Timedelta.parse(timedelta(0)),
        error_code=code,
        producer_id_start=ProducerId(0),
        producer_id_len=i32(1),
    )
    server = FakeServer(
        script=lambda request: answer_to(request, answer),
        versions=lambda request: answer_to(request, api_versions({18: (0, 5), 67: (0, 0)})),
    )
    async with running(server):
        client = KafkaControllers()
        try:
            await client.allocate_producer_ids(server.endpoint, 7)
        finally:
            await client.close()
            assert server.api_keys[-1] == 67, server.api_keys
            assert server.requests[-1].endswith(bytes([0, 0, 0, 7, *([255] * 8), 0])), server.requests[-1]


asyncio.run(ask(ErrorCode.none))
try:
    asyncio.run(ask(ErrorCode.not_controller))
except KafkaRefused:
    pass
else:
    raise AssertionError("an error code is not read")
""",
)

FIELD: Final = Addition(
    name="`replacement.lostVolumeAfterSeconds`",
    edits=(
        (
            "api/spec.py",
            "    lost_node_after_seconds: int = Field(\n",
            """    lost_volume_after_seconds: int = Field(
        default=10,
        description="For how long Kubernetes must report a volume as lost before its disk counts as lost, in seconds.",
    )
    lost_node_after_seconds: int = Field(
""",
        ),
        after("model/desired.py", "    lost_node_after_s: int\n", "    lost_volume_after_s: int = 10\n"),
        after(
            "api/validation.py",
            "            lost_node_after_s=controllers.replacement.lost_node_after_seconds,\n",
            "            lost_volume_after_s=controllers.replacement.lost_volume_after_seconds,\n",
        ),
        (
            "plan/guards/rule2_disks.py",
            "    verdict = _may_do_without(situation, node)\n    if verdict.allowed and has_volume",
            """    after_s = situation.desired.replacement.lost_volume_after_s
    if state.claim is not None and observed.memory.volume_gone_for_s(state.claim.uid) < after_s and not has_volume:
        return no(f"Waiting to replace {disk}: its volume must be lost for {after_s} s")
    verdict = _may_do_without(situation, node)
    if verdict.allowed and has_volume""",
        ),
    ),
    program="""
import json
from dataclasses import replace
from tests.api.specs import resource
from tests.model.values import at_rest, claim, desired, node, running, situation
from kafka_quorum.api.crd import crd
from kafka_quorum.api.validation import validate
from kafka_quorum.model.memory import GoneVolume
from kafka_quorum.plan.guards.rule2_disks import may_retire_disk

field = json.dumps(crd()).partition('"lostVolumeAfterSeconds"')[2].partition("}")[0]
assert '"type": "integer"' in field and '"default": 10' in field, field
found = validate(resource({"controllers": {"replacement": {"lostVolumeAfterSeconds": 77}}}))
assert found.replacement.lost_volume_after_s == 77, found
record = running()
gone = node(record, 3000)
volume = replace(claim(record, gone), volume_gone=True)
look = at_rest()
claims = tuple(volume if each.uid == volume.uid else each for each in look.claims)
lost = replace(look, claims=claims, pods=tuple(each for each in look.pods if each.node_id != 3000))
row = GoneVolume(claim_uid=volume.uid, for_s=76.0, seen_s=1.0)
lost = replace(lost, memory=replace(lost.memory, gone_volumes=(row,)))
said = may_retire_disk(situation(desired(replacement=found.replacement), lost), gone)
assert not said.allowed and "77 s" in said.reason, said
""",
)

POD_FIELD: Final = Addition(
    name="`jvm.stack`",
    edits=(
        (
            "api/rules.py",
            "OPTION_FORM = Rule(\n",
            """STACK_FORM = Rule(
    expression="self == '' || self.matches('^[1-9][0-9]{0,4}k$')",
    message="stack must be a whole number of kibibytes, for example 512k",
    holds=lambda text: re.fullmatch("([1-9][0-9]{0,4}k)?", text) is not None,
)
OPTION_FORM = Rule(
""",
        ),
        (
            "api/spec.py",
            "    options: list[Annotated[str, Field(max_length=1024)]] = Field(\n",
            """    stack: str = Field(
        default="",
        description="The stack of each thread. Empty for Java's own size.",
        json_schema_extra=schema(rules.STACK_FORM),
    )
    options: list[Annotated[str, Field(max_length=1024)]] = Field(
""",
        ),
        after(
            "model/desired.py",
            "    static_voters: tuple[NodeID, ...] = ()\n",
            '    stack: str = ""\n',
        ),
        after(
            "api/validation.py",
            "        heap=controllers.jvm.heap,\n",
            "        stack=controllers.jvm.stack,\n",
        ),
        (
            "resources/pods.py",
            "java_variables(runtime.heap, runtime.jvm_options, ",
            "java_variables(runtime.heap, (*stack, *runtime.jvm_options), ",
        ),
        (
            "resources/pods.py",
            "    env = [\n",
            '    stack = (f"-Xss{runtime.stack}",) if runtime.stack else ()\n    env = [\n',
        ),
    ),
    program="""
import json
from dataclasses import replace
from tests.api.specs import resource
from tests.model.values import desired, revision
from tests.resources.test_pods import kafka
from kafka_quorum.api.crd import crd
from kafka_quorum.api.validation import validate
from kafka_quorum.model.names import inputs_hash

assert "stack must be a whole number" in json.dumps(crd())
(fault,) = validate(resource({"controllers": {"jvm": {"stack": "512"}}}))
assert fault.field == "spec.controllers.jvm.stack", fault
asked = validate(resource({"controllers": {"jvm": {"stack": "512k"}}})).runtime
without = validate(resource()).runtime
assert inputs_hash(asked) != inputs_hash(without) == UNCHANGED
found = revision()
assert "-Xss512k" in json.dumps(kafka(of=replace(found, runtime=replace(found.runtime, stack="512k"))))
assert "-Xss" not in json.dumps(kafka())
""",
)

ADDITIONS: Final = (CONDITION, GUARD, REQUEST, FIELD, POD_FIELD)
