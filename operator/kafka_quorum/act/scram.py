"""Make, replace and remove the brokers' users of SCRAM. Passwords go from a Secret into a request, and nowhere else.

The record is written before the request, and once more after it, each time over exactly the one that was read. So an
operator that is killed at any point leaves a record that says which user may be half done, and with which credential.
A request that certainly did nothing leaves the record as it was before.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from kafka_quorum.act.building import Context, record_of
from kafka_quorum.errors import KafkaError
from kafka_quorum.model import names
from kafka_quorum.model.actions import OnUsers, RemoveScramUser, SetScramUser
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.scram import WHERE, ScramRemoval, UserState
from kafka_quorum.resources import scram
from kafka_quorum.resources.scram import Stored
from kafka_quorum.wire.protocol import Controllers
from kit.errors import KubeConflict, KubeError, KubeRefused
from kit.ids import IdSource
from kit.kube.protocol import KubeApi
from kit.kube.secrets import SECRETS, Use, read_bytes
from kit.parsing import Malformed


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramUsers:
    """Changes users of one operator. `fresh` raises if the look of this time is too old by now."""

    kube: KubeApi
    controllers: Controllers
    ids: IdSource
    fresh: Callable[[float], None]

    async def change(self, action: OnUsers, context: Context) -> None:
        """Carry out this action."""
        await self._same_cluster(action, context)
        match action:
            case SetScramUser():
                await self._set(action, context)
            case RemoveScramUser():
                await self._remove(action, context)

    async def _set(self, action: SetScramUser, context: Context) -> None:
        user = action.user
        value = await self._password(action, context.desired)
        stored = await self._stored(action, context)
        row = stored.get(user)
        if row is None or not scram.is_of(row, value):
            row = scram.begun(value, self.ids.uuid_bytes() + self.ids.uuid_bytes())
        row = scram.with_state(row, UserState.MAKING)
        version = await self._write(context, stored, stored | {user: row}, action.version)
        try:
            self.fresh(action.judged_at_s)  # what came before may have taken long
            await self.controllers.alter_scram(context.access(action.leader), scram.credential(user, value, row))
        except KafkaError as error:
            if not error.outcome_unknown:
                await self._take_back(context, stored | {user: row}, stored, version)
            raise
        made = stored | {user: scram.with_state(row, UserState.MADE)}
        await self._write(context, stored, made, version)

    async def _take_back(self, context: Context, begun: Stored, stored: Stored, version: str) -> None:
        """Restore the record: Kafka certainly did nothing, so a user of this name that appears is made by others.

        If this write is lost, the row stays, and the error of the request is the one that is shown.
        """
        with suppress(KubeError):
            await self._write(context, begun, stored, version)

    async def _remove(self, action: RemoveScramUser, context: Context) -> None:
        user = action.user
        stored = await self._stored(action, context)
        row = stored.get(user)
        if row is None:
            raise _changed(action.name)
        going = stored | {user: scram.with_state(row, UserState.REMOVING)}
        version = await self._write(context, stored, going, action.version)
        self.fresh(action.judged_at_s)
        removal = ScramRemoval(user=user, mechanism=scram.MECHANISM)
        await self.controllers.alter_scram(context.access(action.leader), removal)
        left = {name: each for name, each in stored.items() if name != user}
        await self._write(context, going, left, version)

    async def _same_cluster(self, action: OnUsers, context: Context) -> None:
        """Ask the server for its cluster id, on the same connection, because these requests carry none."""
        record = record_of(context)
        answer = await self.controllers.describe_cluster(context.access(action.leader))
        if answer.cluster_id != record.cluster_id:
            raise KubeConflict(f"controller {action.leader} is of another cluster: {answer.cluster_id}")

    async def _password(self, action: SetScramUser, desired: Desired) -> bytes:
        """What the Secret of the person has now for this user, judged again."""
        use = Use(reader=names.reader(desired.name), where=WHERE, annotation=names.USED_BY)
        try:
            values = await read_bytes(self.kube, desired.namespace, action.source, use)
        except Malformed as error:
            raise KubeRefused(str(error)) from None
        if action.user not in values:
            raise _changed(action.source)
        if fault := scram.fault_of(action.user, values[action.user]):
            raise KubeRefused(f"user {action.user} of Secret {action.source}: {fault}")
        return values[action.user]

    async def _stored(self, action: OnUsers, context: Context) -> Stored:
        """The record, if it is still the one that the plan saw."""
        desired = context.desired
        item = await self.kube.get(SECRETS, desired.namespace, action.name)
        if item is None:
            if action.version:
                raise _changed(action.name)
            return {}
        if item["metadata"]["resourceVersion"] != action.version:
            raise _changed(action.name)
        try:
            return scram.stored_from(item, desired.name, record_of(context).cluster_id)
        except Malformed as error:
            raise KubeRefused(str(error)) from None

    async def _write(self, context: Context, before: Stored, due: Stored, version: str) -> str:
        """Write the record over this version, unless it says the same already; returns its new version."""
        if due == before and version:
            return version
        body = scram.stored_object(context.desired, record_of(context).cluster_id, due, version)
        write = self.kube.replace if version else self.kube.create
        return str((await write(SECRETS, context.desired.namespace, body))["metadata"]["resourceVersion"])


def _changed(name: str) -> KubeConflict:
    return KubeConflict(f"Secret {name} is not the one that was read")
