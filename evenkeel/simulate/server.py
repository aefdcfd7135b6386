"""The simulated models behind an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from litestar import Litestar, Response, get, post, put
from litestar.exceptions import HTTPException
from litestar.response import Stream

from evenkeel.simulate.requests import WireError, check_key, read_object
from evenkeel.simulate.simulation import FIXED_TIME, SERVANTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from litestar.connection import Request
    from litestar.handlers import HTTPRouteHandler
    from litestar.params import FromPath, FromQuery

    from evenkeel.simulate.apis import SimulatedApi
    from evenkeel.simulate.requests import ModelRequest
    from evenkeel.simulate.simulation import ModelState, Simulation


_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream; charset=utf-8"
_SHORTEST_WAIT_S: Final = 0.001


async def answered(
    simulation: Simulation, api: SimulatedApi, request: Request[Any, Any, Any]
) -> Response[bytes] | Stream:
    """Answer a call under one of the APIs, and count it for the model that answers."""
    try:
        check_key(simulation.settings.api_key, request.scope["headers"])
        asked = api.read(read_object(await request.body()))
        state = simulation.serving(asked.model)
        simulation.calls[state.name] += 1
        _fail_by_chance(simulation, state, asked)
        completion = simulation.complete(state, asked, api.id_prefix)
    except WireError as error:
        return _refused(error, api.error(error))
    headers = {"x-request-id": completion.id}
    if not asked.stream:
        await asyncio.sleep(state.latency_s)
        return Response(api.body(completion), status_code=200, media_type=_JSON, headers=headers)
    # The pause between events follows from their number, so all are there first.
    events = list(api.events(completion, include_usage=asked.include_usage))
    await asyncio.sleep(state.latency_s / 2)
    headers["cache-control"] = "no-cache"
    return Stream(_paced(events, state.latency_s / 2), status_code=200, media_type=_EVENTS, headers=headers)


def _fail_by_chance(simulation: Simulation, state: ModelState, asked: ModelRequest) -> None:
    if state.error_rate and simulation.rng.random() < state.error_rate:
        raise WireError(500, "Failed by the error rate.", kind="server_error", code="internal_error")
    if asked.flex and simulation.rng.random() < state.flex_refusals:
        raise WireError(429, "Resource unavailable.", kind="requests", code="resource_unavailable")


async def _paced(events: list[bytes], seconds: float) -> AsyncIterator[bytes]:
    """Yield events over some seconds. Short pauses add up until they are worth a timer."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    for number, event in enumerate(events):
        left = begin + seconds * number / len(events) - loop.time()
        if left >= _SHORTEST_WAIT_S:
            await asyncio.sleep(left)
        yield event


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
        request_max_body_size=None,
        openapi_config=None,
        logging_config=None,
    )


def _call_handler(simulation: Simulation, api: SimulatedApi) -> HTTPRouteHandler:
    @post(api.path)
    async def call(request: Request[Any, Any, Any]) -> Response[bytes] | Stream:
        return await answered(simulation, api, request)

    return call


def _deployments_handler(simulation: Simulation) -> HTTPRouteHandler:
    @post(f"{_DEPLOYMENTS}/{{name:path}}")
    async def deployment(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[bytes] | Stream:
        # Chat stands before completions: its path ends in theirs.
        for api in simulation.apis:
            if name.endswith(api.path.removeprefix("/v1")):
                return await answered(simulation, api, request)
        raise HTTPException("Not Found", status_code=404)

    return deployment


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
    return _refused(error, error.body())


def _refused(error: WireError, body: bytes) -> Response[bytes]:
    return Response(body, status_code=error.status, media_type=_JSON, headers=error.headers())


def _http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """An unknown path or method, in the shape of the API's other errors."""
    message = f"{error.detail}: {request.method} {request.url.path}"
    return _wire_error(request, WireError(error.status_code, message))
