"""What stands for kubelets, volumes and Kafka: one process that answers at the address of every pod of the fleet.

It follows pods, identity records, claims and quorums through `kubectl proxy`, binds claims to volumes that do not
exist, and serves the controllers' listeners: with mutual TLS where the pod mounts a key, which is read once, when the
pod starts. At `CONTROL_PORT` it reports what it sees.
"""

import asyncio
import base64
import contextlib
import json
import logging
import ssl
import struct
import sys
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp
from aiohttp import web

from bench.fake import answers
from bench.fleet.controllers import PORT, Fleet
from kafka_quorum.model.names import operator_tls_name
from kafka_quorum.resources.tls import KEYSTORE_KEY

Json = dict[str, Any]
PROXY_PORT: Final = 8971
CONTROL_PORT: Final = 8970
STORAGE_CLASS: Final = "fleet"
LABEL: Final = "kafkaquorum.io/fleet"
_GROUP: Final = "kafkaquorum.io"
_QUORUM: Final = f"{_GROUP}/quorum"
_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_TLS: Final = "tls"
"""The volume with the key of a controller."""
_PEM_END: Final = "-----END CERTIFICATE-----"
_BINDERS: Final = 24
_DRIP_S: Final = 0.2
_ENDLESS: Final = bytes(65536)
_FRAME_MAX: Final = 1 << 20
logger = logging.getLogger("fleet")


class Conversation(asyncio.Protocol):
    """One connection to the address of a pod. Requests are answered in order."""

    def __init__(self, world: "World", *, secured: bool = False) -> None:
        """The controller is found when the connection is made. `secured`: the handshake is over."""
        self._world, self._rest, self._secured = world, b"", secured
        self._transport: asyncio.Transport | None = None
        self._address = ""
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Find the controller by the address; without one, nothing listens here."""
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._address = transport, transport.get_extra_info("sockname")[0]
        if self._address not in self._world.fleet.at:
            transport.abort()
            return
        context = self._world.tls.get(self._address)
        if context is not None and not self._secured:
            transport.pause_reading()
            self._keep(asyncio.create_task(self._shake_hands(transport, context)))
            return
        self._world.open.setdefault(self._address, set()).add(self)
        self.data_received(b"")

    async def _shake_hands(self, transport: asyncio.Transport, context: ssl.SSLContext) -> None:
        """Hand the connection over to a secured conversation, which may receive data before `connection_made`."""
        secured, loop = Conversation(self._world, secured=True), asyncio.get_running_loop()
        try:
            begun = await loop.start_tls(transport, secured, context, server_side=True, ssl_handshake_timeout=10)
        except (OSError, ssl.SSLError) as error:
            self._world.refused += 1
            logger.info("%s: no handshake: %s", self._address, error)
            transport.abort()
            return
        assert begun is not None
        self._world.handshakes += 1
        secured.connection_made(begun)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def connection_lost(self, _error: Exception | None) -> None:
        """Forget the connection."""
        self._world.open.get(self._address, set()).discard(self)
        for task in self._tasks:
            task.cancel()

    def close(self) -> None:
        """End it, as a pod that is gone does."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        self._rest += data
        if self._transport is None:
            return
        while len(self._rest) >= 4 and len(self._rest) >= 4 + (size := struct.unpack(">i", self._rest[:4])[0]):
            request, self._rest = self._rest[4 : 4 + size], self._rest[4 + size :]
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        controller = self._world.fleet.at.get(self._address)
        if controller is None or self._transport is None:
            self.close()
            return
        self._world.requests += 1
        api, _version, correlation = struct.unpack(">hhi", request[:8])
        body, kind = controller.answer(api, request)
        answer = struct.pack(">i", correlation) + body
        if kind in ("slow", "endless"):
            self._keep(asyncio.create_task(self._drip(answer) if kind == "slow" else self._flood(answer)))
        elif kind == "count":  # an array that claims two thousand million entries, and has none
            head = struct.pack(">i", 11) + answer[:4] + struct.pack(">h", 0)
            self._transport.write(head + answers.varint(2**31 - 1))
        elif kind != "silent":
            self._transport.write(struct.pack(">i", len(answer)) + answer)

    async def _drip(self, answer: bytes) -> None:
        assert self._transport is not None
        for byte in struct.pack(">i", len(answer)) + answer:
            self._transport.write(bytes((byte,)))
            await asyncio.sleep(_DRIP_S)

    async def _flood(self, answer: bytes) -> None:
        """As many bytes as the other side takes."""
        assert self._transport is not None
        self._transport.write(struct.pack(">i", _FRAME_MAX) + answer)
        while not self._transport.is_closing():
            if self._transport.get_write_buffer_size() < len(_ENDLESS):
                self._transport.write(_ENDLESS)
            await asyncio.sleep(0.01)


def listener(keystore: str, client: str) -> ssl.SSLContext:
    """The TLS of a controller's listener: a PEM key with its chain, and the chain of the client that may connect.

    It does not trust the authority, because OpenSSL would then send that certificate after the chain. Kafka does not.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode, context.verify_flags = ssl.CERT_REQUIRED, context.verify_flags | ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=client[: client.index(_PEM_END) + len(_PEM_END)])
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(keystore)
        file.flush()
        context.load_cert_chain(file.name)
    return context


class World:
    """What exists, as the API server's watches report it."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        """`session` leads to `kubectl proxy`."""
        self.fleet = Fleet()
        self.open: dict[str, set[Conversation]] = {}
        self.requests = self.handshakes = self.refused = 0
        self.tls: dict[str, ssl.SSLContext] = {}
        self._session = session
        self._ready: set[tuple[str, str]] = set()
        self._places: dict[str, tuple[str, str, int, str]] = {}
        self._claims: asyncio.Queue[Json] = asyncio.Queue()
        self._bound: set[str] = set()
        self._locked: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def tasks(self) -> list[Awaitable[None]]:
        """What runs for ever."""
        fleet, core = f"labelSelector={_QUORUM}", "/api/v1"
        watches = (
            (f"{core}/pods?labelSelector={_GROUP}/role%3Dcontroller", self._pod),
            (f"{core}/configmaps?labelSelector={_GROUP}/role%3Didentity", self._record),
            (f"{core}/persistentvolumeclaims?{fleet}", self._claim),
            (f"/apis/{_GROUP}/v1alpha1/kafkaquorums?", self._resource),
        )
        return [
            *(self._follow(path, take) for path, take in watches),
            *(self._bind_all() for _ in range(_BINDERS)),
            self._unlock_all(),
        ]

    async def _follow(self, path: str, take: Callable[[str, Json], None]) -> None:
        """List and watch for ever; objects that a new list lacks were deleted."""
        known: dict[str, Json] = {}
        while True:
            try:
                version, listed = await self._list(path)
                for uid in known.keys() - listed.keys():
                    take("DELETED", known[uid])
                known = listed
                for item in known.values():
                    take("ADDED", item)
                await self._watch(path, version, known, take)
            except (aiohttp.ClientError, OSError, ValueError, KeyError, TimeoutError) as error:
                logger.warning("%s: %s", path, error)
            await asyncio.sleep(0.3)

    async def _list(self, path: str) -> tuple[str, dict[str, Json]]:
        found: dict[str, Json] = {}
        place = ""
        while True:
            more = f"&continue={place}" if place else ""
            async with self._session.get(f"{path}&limit=500{more}") as answer:
                body = await answer.json()
            found |= {item["metadata"]["uid"]: item for item in body["items"]}
            place = body["metadata"].get("continue") or ""
            if not place:
                return body["metadata"]["resourceVersion"], found

    async def _watch(self, path: str, version: str, known: dict[str, Json], take: Callable[[str, Json], None]) -> None:
        async with self._session.get(f"{path}&watch=1&resourceVersion={version}&timeoutSeconds=600") as answer:
            answer.raise_for_status()
            while line := await answer.content.readline():
                event = json.loads(line)
                item = event["object"]
                if event["type"] not in ("ADDED", "MODIFIED", "DELETED"):
                    return
                if event["type"] == "DELETED":
                    known.pop(item["metadata"]["uid"], None)
                else:
                    known[item["metadata"]["uid"]] = item
                take(event["type"], item)

    def _pod(self, kind: str, pod: Json) -> None:
        metadata, status = pod["metadata"], pod.get("status") or {}
        labels, address = metadata["labels"], status.get("podIP") or ""
        uid, place = metadata["uid"], (metadata["namespace"], labels[_QUORUM], int(labels[f"{_GROUP}/node-id"]))
        runs = status.get("phase") == "Running" and address and "deletionTimestamp" not in metadata
        if kind != "DELETED" and runs:
            if uid not in self._places:
                self._places[uid] = (*place, address)
                secrets = [
                    each["secret"]["secretName"] for each in pod["spec"].get("volumes", ()) if each["name"] == _TLS
                ]
                if secrets:
                    self._locked.put_nowait((uid, secrets[0]))
                else:
                    self.fleet.runs(*place, address)
        elif uid in self._places:
            *_, had = self._places.pop(uid)
            if not any(other[:3] == place for other in self._places.values()):
                self.fleet.gone(*place, had)
            else:
                self.fleet.at.pop(had, None)
            self.tls.pop(had, None)
            for conversation in list(self.open.pop(had, ())):
                conversation.close()

    async def _unlock_all(self) -> None:
        """Start controllers with TLS after their keys are read."""
        while True:
            uid, name = await self._locked.get()
            if (found := self._places.get(uid)) is None:
                continue
            namespace, quorum, node_id, address = found
            try:
                key = await self._secret(namespace, name, KEYSTORE_KEY)
                client = await self._secret(namespace, operator_tls_name(quorum), "tls.crt")
                context = listener(key, client)
            except (aiohttp.ClientError, OSError, KeyError, ValueError, TypeError) as error:
                logger.warning("Secret %s: %r", name, error)
                self._locked.put_nowait((uid, name))
                await asyncio.sleep(0.3)
                continue
            if uid in self._places:
                self.tls[address] = context
                self.fleet.runs(namespace, quorum, node_id, address)

    async def _secret(self, namespace: str, name: str, key: str) -> str:
        async with self._session.get(f"/api/v1/namespaces/{namespace}/secrets/{name}") as answer:
            answer.raise_for_status()
            return base64.b64decode((await answer.json())["data"][key]).decode()

    def _record(self, kind: str, item: Json) -> None:
        if kind == "DELETED":
            return
        metadata, record = item["metadata"], json.loads(item["data"]["record.json"])
        voters = {str(node["node_id"]): node["directory_id"] for node in record["nodes"] if node["directory_id"]}
        self.fleet.quorum(metadata["namespace"], metadata["labels"][_QUORUM]).know(record["cluster_id"], voters)

    def _resource(self, kind: str, item: Json) -> None:
        key = item["metadata"]["namespace"], item["metadata"]["name"]
        rows = (item.get("status") or {}).get("conditions") or []
        ready = any(row["type"] == "Ready" and row["status"] == "True" for row in rows)
        if kind == "DELETED":
            self.fleet.quorums.pop(key, None)
        if kind != "DELETED" and ready:
            self._ready.add(key)
        else:
            self._ready.discard(key)

    def _claim(self, kind: str, claim: Json) -> None:
        spec, uid = claim["spec"], claim["metadata"]["uid"]
        if kind != "DELETED" and spec.get("storageClassName") == STORAGE_CLASS and uid not in self._bound:
            self._bound.add(uid)
            if not spec.get("volumeName"):
                self._claims.put_nowait(claim)

    async def _bind_all(self) -> None:
        while True:
            claim = await self._claims.get()
            try:
                await self._bind(claim)
            except (aiohttp.ClientError, OSError) as error:
                logger.warning("claim %s: %s", claim["metadata"]["name"], error)
                self._claims.put_nowait(claim)
                await asyncio.sleep(1)

    async def _bind(self, claim: Json) -> None:
        """Bind it as the volume controller does, which may do only twenty requests a second."""
        metadata, spec = claim["metadata"], claim["spec"]
        name, modes = f"fleet-{metadata['uid']}", spec["accessModes"]
        capacity = {"storage": spec["resources"]["requests"]["storage"]}
        of_claim = {key: metadata[key] for key in ("name", "namespace", "uid")}
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": {LABEL: "true"}},
            "spec": {
                "capacity": capacity,
                "accessModes": modes,
                "storageClassName": STORAGE_CLASS,
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": f"/nowhere/{name}"},
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **of_claim},
            },
        }
        volumes = "/api/v1/persistentvolumes"
        claims = f"/api/v1/namespaces/{metadata['namespace']}/persistentvolumeclaims/{metadata['name']}"
        await self._send("POST", volumes, volume)
        await self._send("PATCH", f"{volumes}/{name}/status", {"status": {"phase": "Bound"}})
        done = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
        await self._send("PATCH", claims, {"metadata": {"annotations": done}, "spec": {"volumeName": name}})
        status = {"phase": "Bound", "capacity": capacity, "accessModes": modes}
        await self._send("PATCH", f"{claims}/status", {"status": status})

    async def _send(self, method: str, path: str, body: Json) -> None:
        headers = _MERGE if method == "PATCH" else {}
        async with self._session.request(method, path, json=body, headers=headers) as answer:
            if answer.status not in (200, 201, 404, 409):
                logger.warning("%s %s: %d %s", method, path, answer.status, (await answer.text())[:200])

    async def state(self, request: web.Request) -> web.Response:
        """How many quorums there are, are ready, and were looked at since `since` (seconds since 1970)."""
        since_s = float(request.query.get("since", "0"))
        return web.json_response(
            {
                "quorums": len(self.fleet.quorums),
                "ready": len(self._ready),
                "looked_at": self.fleet.looked_at_since(since_s),
                "running": len(self.fleet.at),
                "connections": sum(map(len, self.open.values())),
                "requests": self.requests,
                "handshakes": self.handshakes,
                "handshakes_refused": self.refused,
            }
        )


async def serve() -> None:
    """Run until the process is ended."""
    loop = asyncio.get_running_loop()
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
    base = f"http://127.0.0.1:{PROXY_PORT}"
    async with aiohttp.ClientSession(base, connector=connector, timeout=timeout, read_bufsize=2**24) as session:
        world = World(session)
        await loop.create_server(lambda: Conversation(world), "0.0.0.0", PORT, backlog=4096)  # noqa: S104 - every pod's
        control = web.Application()
        control.router.add_get("/state", world.state)
        runner = web.AppRunner(control, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", CONTROL_PORT).start()
        await asyncio.gather(*world.tasks())


def main() -> int:
    """Serve until a signal ends the process."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(serve())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
