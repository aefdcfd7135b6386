"""`/api/goldens`: goldens as JSON, and changes to them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from litestar import Request, Response, Router, get, post
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import FromPath, FromQuery, QueryParameter, RawBody

from evenkeel.console.api import json_response
from evenkeel.console.golden_changes import change, done, version_of
from evenkeel.console.identity import Recorder, needs, signed, visitor_of
from evenkeel.console.writing import json_only, own_pages_only
from evenkeel.experiments.goldens.files import golden_lines
from evenkeel.stores.goldens import GoldenError

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

    from evenkeel.console.sources import ConsoleSources, GoldenSources
    from evenkeel.stores.goldens import Golden

MOST = 10_000

QueryText = FromQuery[str | None]
Limit = Annotated[int, QueryParameter(ge=1, le=MOST)]
GoldenId = FromPath[str]


def golden_api_handlers(sources: ConsoleSources, goldens: GoldenSources) -> list[ControllerRouterHandler]:
    """GET `/api/goldens` and `/api/goldens/{id}`, POST `/api/goldens`."""
    record = Recorder(sources.actions)

    @get("/", sync_to_thread=True)
    def listed(
        *,
        route: QueryText = None,
        task: QueryText = None,
        retired: FromQuery[bool] = False,
        limit: Limit = 500,
    ) -> Response[bytes]:
        """Newest versions, the last approved first, each as a line of a file says it."""
        found = goldens.store.select(route=route or None, task=task or None, active=not retired, limit=limit)
        return json_response({"goldens": _records(found)})

    # The path type also takes ids that hold a slash.
    @get("/api/goldens/{golden_id:path}", sync_to_thread=True)
    def one(golden_id: GoldenId) -> Response[bytes]:
        """All versions, oldest first, and what was done to it."""
        name = golden_id.removeprefix("/")
        history = goldens.store.history(name)
        if not history:
            raise NotFoundException(detail="There is no golden of this id.")
        trail = [asdict(entry) for entry in goldens.store.trail(name)]
        return json_response({"versions": _records(history), "trail": trail})

    @post("/", sync_to_thread=True, guards=[own_pages_only, json_only, needs("approver")])
    def changed(request: Request[Any, Any, Any], body: RawBody) -> Response[bytes]:
        """One change, as `golden_changes.change` takes it."""
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            raise HTTPException("The body is not a JSON object.", status_code=400)
        visitor, at = visitor_of(request), sources.clock()
        asked = signed(visitor, asked)
        try:
            golden = change(goldens, asked, at)
        except GoldenError as error:
            raise HTTPException(str(error), status_code=400) from error
        record(visitor, asked["by"].strip(), done(asked), golden.id, at=at, detail=version_of(golden))
        return json_response({"golden": _records([golden])[0]})

    # Two handlers of one path: an application that is given them one by one wraps the first one twice.
    return [Router("/api/goldens", route_handlers=[listed, changed]), one]


def _records(goldens: tuple[Golden, ...] | list[Golden]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in golden_lines(goldens)]
