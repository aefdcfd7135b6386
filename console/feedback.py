"""Labels as people give them: the form of a trial, one drawn by chance, and the API."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from litestar import MediaType, Request, Response, Router, get, post
from litestar.exceptions import HTTPException
from litestar.params import FromQuery, QueryParameter, RawBody, URLEncodedBody

from evenkeel.console import links
from evenkeel.console.api import json_response
from evenkeel.console.feedback_views import drawn
from evenkeel.console.identity import Recorder, needs, signed, visitor_of
from evenkeel.console.writing import json_only, own_pages_only
from evenkeel.monitor.labels import human_agreement
from evenkeel.stores.labels import CountedLabels, LabelError, Said, label_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import ControllerRouterHandler

    from evenkeel.console.identity import Visitor
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.stores.audit_log import What
    from evenkeel.stores.labels import Label, LabelStore

Form = URLEncodedBody[dict[str, str]]
Limit = Annotated[int, QueryParameter(ge=1, le=10_000)]
QueryText = FromQuery[str | None]
AnyRequest = Request[Any, Any, Any]

_FIELDS = ("verdict", "by", "rating", "quality", "note", "drawn", "withdraw")


def feedback_handlers(
    sources: ConsoleSources, store: LabelStore, renderer: Renderer
) -> list[ControllerRouterHandler]:
    """POST `/feedback`, GET `/trials/drawn`, GET and POST `/api/labels`."""
    counted = CountedLabels(store)

    @get("/trials/drawn", sync_to_thread=True)
    def draw() -> Response[bytes]:
        found = drawn(sources.log, store)
        if found is None:
            content = renderer.page(
                "message.html",
                title="Nothing to rate",
                text="Every verdict that could be drawn is labelled, or its texts are no longer kept.",
            )
            return Response(content, status_code=404, media_type=MediaType.HTML)
        return Response(b"", status_code=303, headers={"location": f"{links.verdict_link(found)}?blind=1"})

    @post("/feedback", sync_to_thread=True, guards=[own_pages_only, needs("labeller")])
    def said(request: AnyRequest, data: Form) -> Response[bytes]:
        asked = {name: value for name, value in data.items() if name != "_csrf_token"}
        try:
            label = _signed_label(sources, store, visitor_of(request), asked)
        except LabelError as error:
            raise HTTPException(f"Nothing was stored: {error}.", status_code=400) from error
        return Response(
            b"", status_code=303, headers={"location": f"{links.verdict_link(label.verdict_id)}#feedback"}
        )

    @get("/", sync_to_thread=True)
    def listed(route: QueryText = None, limit: Limit = 500) -> Response[bytes]:
        """Labels that count, the last said first, and the agreement over all of them."""
        every = counted()
        chosen = [label for label in every if route in (None, "", label.route)][:limit]
        agreement = [{**asdict(one), "value": one.value} for one in human_agreement(every)]
        return json_response({"labels": [asdict(label) for label in chosen], "agreement": agreement})

    @post("/", sync_to_thread=True, guards=[own_pages_only, json_only, needs("labeller")])
    def given(request: AnyRequest, body: RawBody) -> Response[bytes]:
        """One label, as `say` takes it."""
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            raise HTTPException("The body is not a JSON object.", status_code=400)
        try:
            label = _signed_label(sources, store, visitor_of(request), asked)
        except LabelError as error:
            raise HTTPException(str(error), status_code=400) from error
        return json_response({"label": asdict(label)}, 201)

    # Two handlers of one path: an application that is given them one by one wraps the first one twice.
    return [draw, said, Router("/api/labels", route_handlers=[listed, given])]


def say(sources: ConsoleSources, store: LabelStore, asked: Mapping[str, str]) -> Label:
    """Store what somebody says, and return it as it is then.

    Args:
        sources: the log with the verdict and its texts; the clock.
        store: of the labels.
        asked: `verdict` (its id), `by`, and `rating` ("3", "2", "1"), `quality` ("worse", "equal",
            "better"), `note`, `drawn` ("1"); or `withdraw` ("1") in their place.

    Raises: LabelError that says what is missing or wrong.
    """
    for name in asked:
        if name not in _FIELDS:
            raise LabelError(f'"{name}" is unknown; known are {", ".join(_FIELDS)}')
    verdict_id, by = asked.get("verdict", ""), asked.get("by", "").strip()
    at = round(sources.clock(), 3)
    if asked.get("withdraw"):
        return store.withdraw(verdict_id, by, at=at)
    verdict = sources.log.find(verdict_id) if verdict_id.isprintable() else None
    if verdict is None:
        raise LabelError("there is no verdict of this id in the log, or no longer")
    rating, quality = asked.get("rating", ""), asked.get("quality", "")
    if rating not in ("", "1", "2", "3"):
        raise LabelError(f"the rating {rating[:20]!r} is none of 1, 2, 3")
    said = Said(
        by,
        rating=int(rating) if rating else None,
        quality=quality or None,  # type: ignore[arg-type]  # checked where the label is made
        note=asked.get("note", ""),
        drawn=bool(asked.get("drawn")),
    )
    return store.put(label_of(verdict, said, at=at), sources.log.evidence(verdict_id))


def _signed_label(
    sources: ConsoleSources, store: LabelStore, visitor: Visitor, asked: Mapping[str, Any]
) -> Label:
    """Store what a visitor says, under their name, and put that on record."""
    label = say(sources, store, {name: _text(value) for name, value in signed(visitor, asked).items()})
    what: What = "label_given" if label.withdrawn_at is None else "label_withdrawn"
    record, at = Recorder(sources.actions), sources.clock()
    record(visitor, label.by, what, label.verdict_id, at=at, detail=f"route {label.route}")
    return label


def _text(value: Any) -> str:
    """A JSON value as the text that a form would send. Raises: LabelError if there is none."""
    if isinstance(value, list | dict):
        raise LabelError("only the object itself has members; take text, numbers, true and false in it")
    if value is None or value is False:
        return ""
    return "1" if value is True else str(value)
