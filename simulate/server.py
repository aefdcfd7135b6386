"""The simulated model behind an OpenAI-compatible server."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, cast

import uvicorn
from litestar import Litestar, Response, asgi, get, post, put
from litestar.exceptions import HTTPException
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from evenkeel.simulate.apis import APIS
from evenkeel.simulate.call import BREAK, ModelCall
from evenkeel.simulate.embeddings import embeddings_reply
from evenkeel.simulate.faults import WireError, check_key
from evenkeel.simulate.requests import read_object
from evenkeel.simulate.simulation import FIXED_TIME, Simulation, read_patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litestar.connection import Request
    from litestar.handlers import ASGIRouteHandler
    from litestar.params import FromPath, FromQuery
    from litestar.types import HTTPScope, Receive, Scope, Send

    from evenkeel.simulate.apis import Api
    from evenkeel.simulate.simulation import ModelState

_SHUTDOWN_S: Final = 1

_DEPLOYMENTS: Final = "/openai/deployments"
"""Where Azure OpenAI serves models, each under its name. The request's body names it as well."""

_KEEP_ALIVE_S = 75
"""As usual in production. A server that closes a kept connection just when a request is on its way fails that
request, through a proxy as without one: uvicorn's 5 seconds would make tests fail by chance."""


_LINGER_NOT: Final = struct.pack("ii", 1, 0)
"""SO_LINGER on, for 0 seconds: closing sends a reset instead of an orderly end."""


class BreakableProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with a way for the application to break its connection."""

    def on_message_begin(self) -> None:
        """Offer `BREAK` to the application."""
        super().on_message_begin()
        extensions: dict[str, dict[object, object]] = {
            BREAK: {"cut": self.transport.abort, "reset": self._reset}
        }
        self.scope["extensions"] = extensions

    def _reset(self) -> None:
        raw = self.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        self.transport.abort()


def create_app(simulation: Simulation) -> Litestar:
    """The application: the API under `/v1`, the admin calls under `/simulate`.

    - `POST /v1/chat/completions`, `/v1/completions`, `/v1/responses`, `/v1/messages`, and the same under
      `/openai/deployments/NAME` in place of `/v1`
    - `POST /v1/embeddings`, of `EMBEDDINGS_MODEL` alone
    - `GET /v1/models`, `GET /v1/models/{id}`
    - `GET /simulate/models`, `GET` and `PUT /simulate/models/{name}` (a JSON patch of `ModelPatch`)
    - `GET /simulate/truth?model=`: the `Planted` deltas; `GET /simulate/stats`: `CallCounts` by model
    - `GET /healthz`
    """

    @post("/v1/embeddings", status_code=200)
    async def embeddings(request: Request[Any, Any, Any]) -> dict[str, Any]:
        check_key(simulation.settings.api_key, request.scope["headers"])
        return embeddings_reply(read_object(await request.body()))

    @get("/v1/models", sync_to_thread=False)
    def list_models(request: Request[Any, Any, Any]) -> dict[str, Any]:
        check_key(simulation.settings.api_key, request.scope["headers"])
        return {"object": "list", "data": [_model_card(state) for state in simulation.models]}

    @get("/v1/models/{name:path}", sync_to_thread=False)
    def one_model(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, Any]:
        check_key(simulation.settings.api_key, request.scope["headers"])
        return _model_card(simulation.find(name.removeprefix("/")))

    @get("/simulate/models", sync_to_thread=False)
    def states() -> list[dict[str, Any]]:
        return [asdict(state) for state in simulation.models]

    @get("/simulate/models/{name:path}", sync_to_thread=False)
    def state(name: FromPath[str]) -> dict[str, Any]:
        return asdict(simulation.find(name.removeprefix("/")))

    @put("/simulate/models/{name:path}")
    async def change(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, Any]:
        return asdict(simulation.change(name.removeprefix("/"), read_patch(await request.body())))

    @get("/simulate/truth", sync_to_thread=False)
    def truth(model: FromQuery[str | None] = None) -> dict[str, Any]:
        found = simulation.find(model)
        return {"model": found.name, **asdict(found.truth)}

    @get("/simulate/stats", sync_to_thread=False)
    def stats() -> dict[str, Any]:
        return {found.name: asdict(simulation.counts(found)) for found in simulation.models}

    @get("/healthz", sync_to_thread=False, media_type="text/plain")
    def healthz() -> str:
        return "ok\n"

    calls = [_call_handler(simulation, api) for api in APIS]
    return Litestar(
        route_handlers=[
            *calls,
            _deployments_handler(simulation),
            embeddings,
            list_models,
            one_model,
            states,
            state,
            change,
            truth,
            stats,
            healthz,
        ],
        exception_handlers={WireError: _wire_error, HTTPException: _http_error},
        openapi_config=None,
        logging_config=None,
    )


def _call_handler(simulation: Simulation, api: Api) -> ASGIRouteHandler:
    @asgi(api.path, copy_scope=False)
    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        await ModelCall(simulation, api, cast("HTTPScope", scope), receive, send).run()

    return call


def _deployments_handler(simulation: Simulation) -> ASGIRouteHandler:
    @asgi(_DEPLOYMENTS, is_mount=True, copy_scope=False)
    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].rstrip("/")  # which a mount adds
        # Chat stands before completions: its path ends in theirs.
        api = next((api for api in APIS if path.endswith(api.path.removeprefix("/v1"))), None)
        if api is None:
            raise HTTPException("Not Found", status_code=404)
        await ModelCall(simulation, api, cast("HTTPScope", scope), receive, send).run()

    return call


def run(
    simulation: Simulation, host: str, port: int, *, on_listening: Callable[[str], None] | None = None
) -> None:
    """Serve until the process is told to stop.

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
            http=BreakableProtocol,
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


def _model_card(state: ModelState) -> dict[str, Any]:
    return {"id": state.name, "object": "model", "created": FIXED_TIME, "owned_by": "simulated"}


def _wire_error(_: Request[Any, Any, Any], error: WireError) -> Response[bytes]:
    headers = {name.decode(): value.decode() for name, value in error.headers()}
    return Response(error.body(), status_code=error.status, media_type="application/json", headers=headers)


def _http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """An unknown path or method, in the shape of the API's other errors."""
    message = f"{error.detail}: {request.method} {request.url.path}"
    return _wire_error(request, WireError(error.status_code, message))
