"""The simulated models behind an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, cast

import uvicorn
from litestar import Litestar, Response, asgi, get, put
from litestar.exceptions import HTTPException

from evenkeel.simulate.requests import WireError, check_key, read_object
from evenkeel.simulate.simulation import FIXED_TIME, SERVANTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litestar.connection import Request
    from litestar.handlers import ASGIRouteHandler
    from litestar.params import FromPath, FromQuery
    from litestar.types import HTTPScope, Receive, Scope, Send

    from evenkeel.simulate.apis import SimulatedApi, SimulatedCompletion
    from evenkeel.simulate.requests import ModelRequest
    from evenkeel.simulate.simulation import ModelState, Simulation


_JSON: Final = (b"content-type", b"application/json")
_EVENTS: Final = (b"content-type", b"text/event-stream; charset=utf-8")
_SHORTEST_WAIT_S: Final = 0.001


class _ClientLeftError(Exception):
    """The client closed the connection before the end."""


class ServedCall:
    """A call under one of the APIs, from its body to the last byte of the answer."""

    def __init__(
        self, simulation: Simulation, api: SimulatedApi, scope: HTTPScope, receive: Receive, send: Send
    ) -> None:
        self._api = api
        self._simulation = simulation
        self._scope = scope
        self._receive = receive
        self._send = send
        self._state = simulation.find(None)
        self._due = 0.0

    async def run(self) -> None:
        """Answer the call, and count it for the model that answers."""
        try:
            request = await self._request()
            self._state = self._simulation.serving(request.model)
            self._simulation.calls[self._state.name] += 1
            await self._answer(request)
        except WireError as error:
            await self._start(error.status, [_JSON, *error.headers()], self._api.error(error))
        except _ClientLeftError:
            return

    async def _request(self) -> ModelRequest:
        if self._scope["method"] != "POST":
            raise WireError(405, f"Not allowed: {self._scope['method']} {self._scope['path']}")
        check_key(self._simulation.settings.api_key, self._scope["headers"])
        return self._api.read(read_object(await self._body()))

    async def _answer(self, request: ModelRequest) -> None:
        state, simulation = self._state, self._simulation
        if state.error_rate and simulation.rng.random() < state.error_rate:
            raise WireError(500, "Failed by the error rate.", kind="server_error", code="internal_error")
        if request.flex and simulation.rng.random() < state.flex_refusals:
            raise WireError(429, "Resource unavailable.", kind="requests", code="resource_unavailable")
        completion = simulation.complete(state, request, self._api.id_prefix)
        self._due = asyncio.get_running_loop().time()
        if request.stream:
            events = self._api.events(completion, include_usage=request.include_usage)
            # The pause between events follows from their number, so all are there first.
            await self._stream(completion, list(events))
            return
        await self._spend(state.latency_s)
        content = self._api.body(completion)
        headers = [_JSON, (b"x-request-id", completion.id.encode())]
        await self._start(200, headers, content)

    async def _stream(self, completion: SimulatedCompletion, events: list[bytes]) -> None:
        latency_s = self._state.latency_s
        await self._spend(latency_s / 2)
        headers = [_EVENTS, (b"cache-control", b"no-cache"), (b"x-request-id", completion.id.encode())]
        await self._head(200, headers)
        pause_s = latency_s / 2 / len(events)
        for event in events[:-1]:
            await self._spend(pause_s)
            await self._part(event)
        await self._send({"type": "http.response.body", "body": events[-1], "more_body": False})

    async def _body(self) -> bytes:
        chunks = []
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                raise _ClientLeftError
            chunks.append(message["body"])
            if not message["more_body"]:
                return b"".join(chunks)

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]], content: bytes) -> None:
        """A whole answer."""
        await self._head(status, [*headers, (b"content-length", str(len(content)).encode())])
        await self._send({"type": "http.response.body", "body": content, "more_body": False})

    async def _head(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _part(self, content: bytes) -> None:
        await self._send({"type": "http.response.body", "body": content, "more_body": True})

    async def _spend(self, seconds: float) -> None:
        """Let time pass. Short pauses add up until they are worth a timer."""
        if not seconds:
            return
        self._due += seconds
        left = self._due - asyncio.get_running_loop().time()
        if left >= _SHORTEST_WAIT_S:
            await asyncio.sleep(left)


_SHUTDOWN_S: Final = 1

# Path at which Azure OpenAI serves models, each under its name. The request's body names it as well.
_DEPLOYMENTS: Final = "/openai/deployments"

# Usual in production. A server that closes a kept connection just when a request is on its way fails that
# request, through a proxy as without one: uvicorn's 5 seconds would make tests fail by chance.
_KEEP_ALIVE_S = 75


def create_app(simulation: Simulation) -> Litestar:
    """The application: the API under `/v1`, the admin calls under `/simulate`.

    - `POST /v1/chat/completions` and what other APIs the simulation has, and the same under
      `/openai/deployments/NAME` in place of `/v1`
    - `GET /v1/models`, `GET /v1/models/{id}`
    - `GET /simulate/models`, `GET` and `PUT /simulate/models/{name}` (JSON with fields of `ModelState`)
    - `GET /simulate/truth?model=`: the `Planted` deltas
    - `GET /healthz`
    """

    @get("/v1/models", sync_to_thread=False)
    def list_models(request: Request[Any, Any, Any]) -> dict[str, Any]:
        check_key(simulation.settings.api_key, request.scope["headers"])
        return {"object": "list", "data": [_model_card(simulation, state) for state in simulation.models]}

    @get("/v1/models/{name:path}", sync_to_thread=False)
    def one_model(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, Any]:
        check_key(simulation.settings.api_key, request.scope["headers"])
        return _model_card(simulation, simulation.find(name.removeprefix("/")))

    @get("/simulate/models", sync_to_thread=False)
    def states() -> list[dict[str, Any]]:
        return [asdict(state) for state in simulation.models]

    @get("/simulate/models/{name:path}", sync_to_thread=False)
    def state(name: FromPath[str]) -> dict[str, Any]:
        return asdict(simulation.find(name.removeprefix("/")))

    @put("/simulate/models/{name:path}")
    async def change(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, Any]:
        changes = read_object(await request.body())
        return asdict(simulation.change(name.removeprefix("/"), changes))

    @get("/simulate/truth", sync_to_thread=False)
    def truth(model: FromQuery[str | None] = None) -> dict[str, Any]:
        state = simulation.find(model)
        return {"model": state.name, **asdict(simulation.truth(state))}

    @get("/healthz", sync_to_thread=False, media_type="text/plain")
    def healthz() -> str:
        return "ok\n"

    calls = []
    for api in simulation.apis:
        calls.append(_call_handler(simulation, api))
    return Litestar(
        route_handlers=[
            *calls,
            _deployments_handler(simulation),
            list_models,
            one_model,
            states,
            state,
            change,
            truth,
            *simulation.handlers,
            healthz,
        ],
        exception_handlers={WireError: _wire_error, HTTPException: _http_error},
        openapi_config=None,
        logging_config=None,
    )


def _call_handler(simulation: Simulation, api: SimulatedApi) -> ASGIRouteHandler:
    @asgi(api.path, copy_scope=False)
    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        await ServedCall(simulation, api, cast("HTTPScope", scope), receive, send).run()

    return call


def _deployments_handler(simulation: Simulation) -> ASGIRouteHandler:
    @asgi(_DEPLOYMENTS, is_mount=True, copy_scope=False)
    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].rstrip("/")  # which a mount adds
        # Chat stands before completions: its path ends in theirs.
        for api in simulation.apis:
            if path.endswith(api.path.removeprefix("/v1")):
                await ServedCall(simulation, api, cast("HTTPScope", scope), receive, send).run()
                return
        raise HTTPException("Not Found", status_code=404)

    return call


def run(
    simulation: Simulation, host: str, port: int, *, on_listening: Callable[[str], None] | None = None
) -> None:
    """Serve until the process receives a signal to stop.

    Args:
        simulation: what to serve.
        host: address to listen on.
        port: port to listen on; 0 = any free one.
        on_listening: called with the base URL (without `/v1`) once the port is open.

    Raises: OSError if the port is taken or the address is not ours.
    """
    with _listening(host, port) as listener:
        if on_listening is not None:
            on_listening(_url(listener))
        _server(simulation).run(sockets=[listener])


@contextmanager
def serving(simulation: Simulation, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve from a thread as long as the context lasts; gives the base URL (without `/v1`).

    Raises: OSError if the port is taken or the address is not ours.
    """
    with _listening(host, port) as listener:
        server = _server(simulation)
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listener]}, name="simulate", daemon=True
        )
        thread.start()
        try:
            yield _url(listener)
        finally:
            server.should_exit = True
            thread.join()


def _listening(host: str, port: int) -> socket.socket:
    """A socket that accepts connections already, so that nobody has to wait for the server."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=2048)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _server(simulation: Simulation) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            create_app(simulation),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=not simulation.settings.deterministic,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_SHUTDOWN_S,
        )
    )


def _model_card(simulation: Simulation, state: ModelState) -> dict[str, Any]:
    owner = "simulated" if state.name in SERVANTS else simulation.owner
    return {"id": state.name, "object": "model", "created": FIXED_TIME, "owned_by": owner}


def _wire_error(_: Request[Any, Any, Any], error: WireError) -> Response[bytes]:
    headers = {}
    for name, value in error.headers():
        headers[name.decode()] = value.decode()
    return Response(error.body(), status_code=error.status, media_type="application/json", headers=headers)


def _http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """An unknown path or method, in the shape of the API's other errors."""
    message = f"{error.detail}: {request.method} {request.url.path}"
    return _wire_error(request, WireError(error.status_code, message))
