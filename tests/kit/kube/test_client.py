"""The client against a server on loopback: what it sends, and the result of every kind of answer."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration
from tests.kit.ends import WIDGETS

from kit.errors import KubeAlreadyExists, KubeConflict, KubeError, KubeHeld, KubeNotFound, KubeRefused, KubeUnavailable
from kit.kube import client as module
from kit.kube.client import KubeClient
from kit.kube.protocol import BUDGETS, NODES, PODS, STATEFUL_SETS, Json


@dataclass
class Sent:
    """One request as the server received it."""

    method: str
    path: str
    query: dict[str, str]
    content_type: str
    body: Json | None


@dataclass
class Server:
    """Answers every request with the same status and body, and keeps the requests."""

    status: int = 200
    body: object = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    hang: bool = False

    async def answer(self, request: web.Request) -> web.Response:
        """Records the request, and answers or hangs."""
        text = await request.text()
        body = json.loads(text) if text else None
        row = Sent(request.method, request.path, dict(request.query), request.content_type, body)
        self.sent.append(row)
        if self.hang:
            await asyncio.Event().wait()
        if isinstance(self.body, str):
            return web.Response(status=self.status, text=self.body)
        return web.json_response(self.body, status=self.status)


@asynccontextmanager
async def listening(server: Server) -> AsyncIterator[str]:
    """The address of that server."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[KubeClient]:
    """A client of that server."""
    async with listening(server) as address:
        client = KubeClient(ApiClient(configuration=Configuration(host=address)), "widget-operator")
        try:
            yield client
        finally:
            await client.close()


async def test_paths_follow_group_and_namespace() -> None:
    """Core types are under /api, all others under /apis and their group."""
    server = Server(body={"items": []})
    async with connected(server) as client:
        await client.list(PODS, "ns", {"a": "1", "b": "2"})
        await client.list(BUDGETS, "ns", {"a": "1"})
    assert [row.path for row in server.sent] == [
        "/api/v1/namespaces/ns/pods",
        "/apis/policy/v1/namespaces/ns/poddisruptionbudgets",
    ]
    assert server.sent[0].query == {"labelSelector": "a=1,b=2", "limit": "64"}


async def test_paths_of_what_belongs_to_the_cluster() -> None:
    """The path of a Kubernetes node has no namespace."""
    server = Server(body={"metadata": {"name": "worker-1"}})
    async with connected(server) as client:
        found = await client.get(NODES, "", "worker-1")
    assert found == {"metadata": {"name": "worker-1"}}
    assert [(sent.method, sent.path) for sent in server.sent] == [("GET", "/api/v1/nodes/worker-1")]


async def test_items_of_a_list_get_their_type() -> None:
    """The items of a list come without kind and version, and the client adds them."""
    async with connected(Server(body={"items": [{"metadata": {"name": "p"}}]})) as client:
        assert await client.list(PODS, "ns", {}) == [{"metadata": {"name": "p"}, "apiVersion": "v1", "kind": "Pod"}]


async def test_writes_say_how_they_are_meant() -> None:
    """Apply, merge patch, strategic patch and status each have their content type and path."""
    server = Server(body={"metadata": {}})
    body: Json = {"metadata": {"name": "x", "namespace": "ns"}}
    async with connected(server) as client:
        await client.create(PODS, "ns", body)
        await client.replace(PODS, "ns", body)
        await client.apply(PODS, "ns", body)
        await client.patch(WIDGETS, "ns", "x", body, subresource="status")
        await client.patch(PODS, "ns", "x", body, subresource="status", strategic=True)
    assert [(row.method, row.content_type) for row in server.sent] == [
        ("POST", "application/json"),
        ("PUT", "application/json"),
        ("PATCH", "application/apply-patch+yaml"),
        ("PATCH", "application/merge-patch+json"),
        ("PATCH", "application/strategic-merge-patch+json"),
    ]
    assert server.sent[2].query == {"fieldManager": "widget-operator", "force": "true"}
    assert server.sent[3].path == "/apis/example.org/v1/namespaces/ns/widgets/x/status"
    assert all(row.body == body for row in server.sent)


async def test_only_a_pod_that_has_ended_is_deleted_without_grace() -> None:
    """A pod is deleted with its own grace period, unless it has ended."""
    server = Server()
    async with connected(server) as client:
        await client.delete(PODS, "ns", "x", uid="u", ended=True)
        await client.delete(PODS, "ns", "x", uid="u")
    assert [(row.body or {}).get("gracePeriodSeconds") for row in server.sent] == [0, None]


async def test_what_is_owned_is_released_only_if_that_is_asked_for() -> None:
    """A deletion with `orphan` names the policy; any other leaves it to the API server."""
    server = Server()
    async with connected(server) as client:
        await client.delete(STATEFUL_SETS, "ns", "x", uid="u", resource_version="7", orphan=True)
        await client.delete(STATEFUL_SETS, "ns", "x", uid="u")
    assert [(row.body or {}).get("propagationPolicy") for row in server.sent] == ["Orphan", None]
    assert server.sent[0].path == "/apis/apps/v1/namespaces/ns/statefulsets/x"


async def test_a_deletion_names_exactly_one_object() -> None:
    """A deletion has the uid, and the resource version if it is given, as preconditions."""
    server = Server()
    async with connected(server) as client:
        await client.delete(PODS, "ns", "x", uid="u", resource_version="7")
        await client.delete(PODS, "ns", "x", uid="u")
    preconditions = [(row.body or {})["preconditions"] for row in server.sent]
    assert preconditions == [{"uid": "u", "resourceVersion": "7"}, {"uid": "u"}]


@pytest.mark.parametrize(
    ("status", "reason", "error", "unknown"),
    [
        (409, "AlreadyExists", KubeAlreadyExists, False),
        (409, "Conflict", KubeConflict, False),
        (404, "NotFound", KubeNotFound, False),
        (403, "Forbidden", KubeRefused, False),
        (422, "Invalid", KubeRefused, False),
        (429, "TooManyRequests", KubeUnavailable, True),
        (500, "InternalError", KubeUnavailable, True),
        (504, "Timeout", KubeUnavailable, True),
    ],
)
async def test_answers_become_errors(status: int, reason: str, error: type[KubeError], unknown: bool) -> None:  # noqa: FBT001 - a column of the table
    """Each refusal has its error type, names the request, and shows whether the request may have had an effect."""
    server = Server(status=status, body={"reason": reason, "message": "the server's words"})
    async with connected(server) as client:
        with pytest.raises(error, match="POST /api/v1/namespaces/ns/pods: the server's words") as caught:
            await client.create(PODS, "ns", {"metadata": {"name": "x"}})
    assert type(caught.value) is error
    assert caught.value.outcome_unknown is unknown


BUDGET = {"reason": "DisruptionBudget", "message": "The disruption budget q-voters needs 2 healthy pods and has 2"}
TOO_MANY = {"reason": "TooManyRequests", "message": "Cannot evict pod."}


async def test_an_eviction_names_exactly_one_pod() -> None:
    """An eviction is sent to the pod's own subresource, with uid and resource version as preconditions.

    Its dry run is the same request, marked as one.
    """
    server = Server(status=201, body={"kind": "Status", "status": "Success"})
    async with connected(server) as client:
        await client.evict("ns", "x", uid="u", resource_version="7", dry_run=True)
        await client.evict("ns", "x", uid="u", resource_version="7")
    asked, row = server.sent
    assert (asked.query, row.query) == ({"dryRun": "All"}, {})
    assert asked.body == row.body
    assert {(sent.method, sent.path) for sent in server.sent} == {("POST", "/api/v1/namespaces/ns/pods/x/eviction")}
    assert row.body == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "x", "namespace": "ns"},
        "deleteOptions": {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": "u", "resourceVersion": "7"},
        },
    }


TWO_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


@pytest.mark.parametrize(
    ("status", "body", "error", "unknown"),
    [
        pytest.param(429, TOO_MANY | {"details": {"causes": [BUDGET]}}, KubeHeld, False, id="budget"),
        pytest.param(429, TOO_MANY | {"details": {"retryAfterSeconds": 1}}, KubeUnavailable, True, id="overload"),
        pytest.param(429, "Too many requests", KubeUnavailable, True, id="no-status"),
        pytest.param(429, TOO_MANY | {"details": {"causes": [{"reason": "X"}]}}, KubeUnavailable, True, id="other"),
        pytest.param(404, {"reason": "NotFound", "message": "gone"}, KubeNotFound, False, id="gone"),
        pytest.param(409, {"reason": "Conflict", "message": "uid"}, KubeConflict, False, id="another"),
        pytest.param(500, {"reason": "InternalError", "message": "etcd"}, KubeUnavailable, True, id="unknown"),
        pytest.param(500, {"message": TWO_BUDGETS}, KubeRefused, False, id="two-budgets"),
    ],
)
async def test_answers_to_an_eviction(status: int, body: object, error: type[KubeError], unknown: bool) -> None:  # noqa: FBT001 - a column of the table
    """A budget's refusal is not that of an overloaded server, although both are 429."""
    server = Server(status=status, body=body)
    async with connected(server) as client:
        with pytest.raises(error, match="POST /api/v1/namespaces/ns/pods/x/eviction: ") as caught:
            await client.evict("ns", "x", uid="u", resource_version="7")
    assert len(server.sent) == 1
    assert type(caught.value) is error
    assert caught.value.outcome_unknown is unknown


async def test_what_holds_an_eviction_is_told_in_the_budgets_words() -> None:
    """The error of a held eviction quotes the server and the budget."""
    body = TOO_MANY | {"details": {"causes": [BUDGET]}}
    async with connected(Server(status=429, body=body)) as client:
        with pytest.raises(KubeHeld, match=r"Cannot evict pod\. The disruption budget q-voters needs 2 healthy pods"):
            await client.evict("ns", "x", uid="u", resource_version="7")


async def test_only_the_servers_own_no_is_a_no() -> None:
    """A 404 on a read is None; any other failure of the server is an error."""
    async with connected(Server(status=404, body={"reason": "NotFound"})) as client:
        assert await client.get(PODS, "ns", "x") is None
    async with connected(Server(status=503, body="try again")) as client:
        with pytest.raises(KubeUnavailable, match=r"HTTP status 503|try again"):
            await client.get(PODS, "ns", "x")


@pytest.mark.parametrize("ask", [lambda c: c.get(PODS, "ns", "x"), lambda c: c.list(PODS, "ns", {})])
async def test_a_server_that_does_not_answer_is_unavailable(
    ask: Callable[[KubeClient], Awaitable[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an answer before the deadline the server is unavailable."""
    monkeypatch.setattr(module, "_REQUEST_TIMEOUT_S", 0.2)
    async with connected(Server(hang=True)) as client:
        with pytest.raises(KubeUnavailable):
            await ask(client)


@pytest.mark.parametrize("page", ["<html>sign in</html>", "", '{"items": ['], ids=["page", "nothing", "cut"])
async def test_an_answer_that_is_no_json_is_unavailable(page: str) -> None:
    """After an answer that is no JSON, for example a proxy's page, the outcome of the request is unknown."""
    async with connected(Server(body=page)) as client:
        with pytest.raises(KubeUnavailable) as caught:
            await client.create(PODS, "ns", {"metadata": {"name": "x"}})
    assert caught.value.outcome_unknown


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    """A refused connection means that the server is unavailable."""
    client = KubeClient(ApiClient(configuration=Configuration(host="http://127.0.0.1:1")), "widget-operator")
    with pytest.raises(KubeUnavailable):
        await client.get(PODS, "ns", "x")
    await client.close()


@pytest.mark.parametrize("asked", [False, True])
async def test_a_proxy_is_used_if_the_environment_names_one(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    asked: bool,  # noqa: FBT001
) -> None:
    """Without one, no request searches for it, nor for passwords in the home directory."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    searches: list[object] = []
    monkeypatch.setattr("aiohttp.helpers.netrc_from_env", lambda: searches.append(None))
    api, proxy = Server(), Server()
    async with listening(api) as host, listening(proxy) as through:
        context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
        kubeconfig = {
            "clusters": [{"name": "c", "cluster": {"server": host}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [context],
            "current-context": "c",
        }
        (tmp_path / "config").write_text(json.dumps(kubeconfig))
        monkeypatch.setattr(config.kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "config"))
        if asked:
            monkeypatch.setenv("http_proxy", through)
        client = await module.connect("widget-operator")
        await client.get(PODS, "ns", "x")
        await client.close()
    assert (len(api.sent), len(proxy.sent), bool(searches)) == (not asked, asked, asked)


@dataclass
class Store:
    """Lists objects page by page, as an API server does, and records the longest page and the bytes sent."""

    lengths: list[int]
    most_asked: int = 0
    sent_bytes: int = 0

    async def answer(self, request: web.Request) -> web.Response:
        """Sends the next page."""
        first, count = int(request.query.get("continue") or 0), int(request.query.get("limit") or len(self.lengths))
        page = self.lengths[first : first + count]
        rows = [
            {"metadata": {"name": f"p{first + index}", "annotations": {"a": "x" * length}}}
            for index, length in enumerate(page)
        ]
        rest = first + count < len(self.lengths)
        text = json.dumps({"metadata": {"continue": str(first + count)} if rest else {}, "items": rows})
        self.most_asked, self.sent_bytes = max(self.most_asked, len(text)), self.sent_bytes + len(text)
        return web.Response(text=text, content_type="application/json")


@asynccontextmanager
async def storing(store: Store) -> AsyncIterator[KubeClient]:
    """A client of that store."""
    async with connected(store) as client:  # type: ignore[arg-type]  # it answers, and that is all that is used
        yield client


def _names(items: Iterable[Json]) -> list[str]:
    return [item["name"] for item in items]


async def test_a_list_is_read_page_by_page() -> None:
    """Every object of a list comes once and in order, for any number of pages."""
    for count in (0, 1, 64, 65, 200):
        async with storing(Store([10] * count)) as client:
            found = await client.list(PODS, "ns", {"a": "1"})
        assert _names(item["metadata"] for item in found) == [f"p{index}" for index in range(count)]


async def test_large_objects_come_in_smaller_pages() -> None:
    """Objects of more than a megabyte are read too, and small objects before and after them."""
    lengths = [10] * 70 + [1_500_000] * 3 + [10] * 70
    async with storing(Store(lengths)) as client:
        found = await client.list(PODS, "ns", {"a": "1"})
    assert _names(item["metadata"] for item in found) == [f"p{index}" for index in range(len(lengths))]


async def test_more_than_a_list_may_have_is_refused() -> None:
    """A list of a hundred objects of 1 MiB is not read, because other quorums need the memory."""
    store = Store([1 << 20] * 100)
    async with storing(store) as client:
        with pytest.raises(KubeError, match="KiB"):
            await client.list(PODS, "ns", {"a": "1"})


async def test_what_nobody_wants_counts_towards_no_limit() -> None:
    """Of a hundred objects of 1 MiB the wanted one is found, with its type: a namespace may have many others."""
    async with storing(Store([1 << 20] * 100)) as client:
        found = await client.list(PODS, "ns", {}, only=lambda item: item["metadata"]["name"] == "p70")
    assert [(item["kind"], item["metadata"]["name"]) for item in found] == [("Pod", "p70")]


async def test_one_answer_is_not_read_without_end() -> None:
    """An object larger than an API server stores is refused after a bounded number of bytes."""
    async with connected(Server(body="x" * 20_000_000)) as client:
        with pytest.raises(KubeError, match="KiB"):
            await client.get(PODS, "ns", "p")


async def test_metadata_is_reduced_to_what_identifies_an_object() -> None:
    """Four hundred resources with long annotations are all found, and the annotations are not kept."""
    store = Store([200_000] * 400)
    async with storing(store) as client:
        found = await client.list_metadata(WIDGETS, "")
    assert _names(found) == [f"p{index}" for index in range(400)]
    assert not any("annotations" in item for item in found)


async def test_every_request_is_seen_with_its_result() -> None:
    """Each request is reported once by verb, type and HTTP status, whatever the status means to its caller."""
    seen: list[tuple[str, str, int | None]] = []

    def note(verb: str, resource: str, status: int | None, seconds: float) -> None:
        assert seconds >= 0
        seen.append((verb, resource, status))

    server = Server(body={"items": [], "metadata": {}})
    async with connected(server) as client:
        client._seen = note
        await client.get(PODS, "ns", "p")
        await client.list(PODS, "ns", {"a": "1"})
        await client.create(STATEFUL_SETS, "ns", {"metadata": {"name": "x"}})
        await client.apply(BUDGETS, "ns", {"metadata": {"name": "x"}})
        await client.evict("ns", "p", uid="u", resource_version="1")
        server.status = 404
        assert await client.get(NODES, "", "worker-1") is None
        server.status = 409
        with pytest.raises(KubeConflict):
            await client.delete(PODS, "ns", "p", uid="u")
    assert seen == [
        ("get", "pods", 200),
        ("list", "pods", 200),
        ("create", "statefulsets", 200),
        ("apply", "poddisruptionbudgets", 200),
        ("evict", "pods", 200),
        ("get", "nodes", 404),
        ("delete", "pods", 409),
    ]


async def test_a_request_without_an_answer_in_time_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that meets its deadline is reported without a status; so is a watch that does not begin."""
    monkeypatch.setattr(module, "_REQUEST_TIMEOUT_S", 0.05)
    seen: list[tuple[str, str, int | None]] = []
    async with connected(Server(hang=True)) as client:
        client._seen = lambda verb, resource, status, _: seen.append((verb, resource, status))
        with pytest.raises(KubeUnavailable):
            await client.get(PODS, "ns", "p")
        with pytest.raises(KubeUnavailable):
            await anext(client.watch(PODS, "ns", label="a", version="", server_s=60))
    assert seen == [("get", "pods", None), ("watch", "pods", None)]


async def test_the_length_of_a_page_of_metadata_is_remembered() -> None:
    """If a page was too long, the next list of the kind begins with as many objects as fitted."""
    asked: list[str] = []
    async with storing(Store([20_000] * 400)) as client:
        client._seen = lambda *_: asked.append("")
        for _ in range(2):
            assert len(await client.list_metadata(WIDGETS, "")) == 400
            asked.append("end")
    first, second = (len(part) for part in "".join(word or "." for word in asked).split("end")[:2])
    assert (first, second) == (15, 13)  # 500 and 125 objects were too many


@pytest.mark.parametrize(
    "body",
    [
        *([], {}, 7, None, {"items": 7}, {"items": {}}, {"items": [7]}, {"items": [], "metadata": 7}),
        {"items": [], "metadata": {"continue": 5}},
    ],
)
async def test_another_answer_is_no_list(body: object) -> None:
    """What is no list of objects is an error, whatever it is, and never an empty list."""
    async with connected(Server(body=body)) as client:
        with pytest.raises(KubeUnavailable, match="no list of objects"):
            await client.list(PODS, "ns", {"a": "1"})
