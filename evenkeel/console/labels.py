"""Labels: the form of a trial, a random trial to rate, and the API."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from litestar import Response, Router, get, post
from litestar.exceptions import HTTPException
from litestar.params import QueryParameter, RawBody

from evenkeel.console import links
from evenkeel.console.access import fields_of, json_only, own_pages_only, record, signed, visitor_of
from evenkeel.console.api import json_object, json_response
from evenkeel.console.rendering import AnyRequest, Form, QueryText, see_other
from evenkeel.monitor.labels import human_agreement
from evenkeel.stores.labels import CountedLabels, LabelError, LabelStatement, decided_by, label_of
from evenkeel.stores.verdict_log import readable_evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import ControllerRouterHandler

    from evenkeel.console.access import Visitor
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.stores.audit_log import What
    from evenkeel.stores.labels import Label, LabelStore
    from evenkeel.stores.verdict_log import VerdictLog


# Newest verdicts from which a random one is drawn.
_DRAWN_FROM: Final = 2_000
# Most of each kind whose texts are looked for.
_TRIED: Final = 50


def drawn(log: VerdictLog, store: LabelStore, counted: CountedLabels) -> str | None:
    """Return the id of a random verdict for somebody to rate; None if there is none to choose from.

    The verdict has a rating and no label, and is among the newest 2,000. First come those drawn at random
    when made and judged, which show how often the judge is right, then those drawn at random, judged, any.
    The same log and labels give the same verdict, so that nobody can draw again until they like it.
    """
    stretch = log.read_before(None, _DRAWN_FROM)
    rated = {}
    for logged in stretch.verdicts:
        verdict = logged.verdict
        if verdict.rating is not None and not (verdict.is_control or verdict.is_contrast):
            rated[verdict.id] = verdict
    for label in counted():
        rated.pop(label.verdict_id, None)
    chosen = list(rated.values())
    Random(f"{store.revision()}:{stretch.verdicts[0].offset // _DRAWN_FROM if rated else 0}").shuffle(chosen)
    chosen.sort(key=lambda verdict: (not verdict.drawn, decided_by(verdict) != "judge"))
    # Texts are kept for a shorter time than verdicts, so several of each kind may have to be tried.
    tried: Counter[tuple[bool, bool]] = Counter()
    for verdict in chosen:
        kind = verdict.drawn, decided_by(verdict) == "judge"
        tried[kind] += 1
        if tried[kind] <= _TRIED and readable_evidence(log, verdict.id) is not None:
            return verdict.id
    return None


Limit = Annotated[int, QueryParameter(ge=1, le=10_000)]

_FIELDS = ("verdict", "by", "rating", "quality", "note", "drawn", "withdraw")


def feedback_handlers(sources: ConsoleSources, renderer: Renderer) -> list[ControllerRouterHandler]:
    """Handlers of POST `/feedback`, GET `/trials/drawn`, GET and POST `/api/labels`."""
    counted = CountedLabels(sources.labels)

    @get("/trials/drawn", sync_to_thread=True, needs="labeller")
    def draw() -> Response[bytes]:
        verdict_id = drawn(sources.log, sources.labels, counted)
        if verdict_id is None:
            return renderer.response(
                "message.html",
                title="Nothing to rate",
                text="No trial has a rating yet, or all are labelled, or their texts are no longer kept.",
            )
        return see_other(f"{links.page_link('verdicts', verdict_id)}?blind=1")

    @post("/feedback", sync_to_thread=True, guards=[own_pages_only], needs="labeller")
    def said(request: AnyRequest, data: Form) -> Response[bytes]:
        try:
            label = say(sources, visitor_of(request), fields_of(data))
        except LabelError as error:
            raise HTTPException(f"Nothing was stored: {error}.", status_code=400) from error
        return see_other(f"{links.page_link('verdicts', label.verdict_id)}#feedback")

    @get("/", sync_to_thread=True, needs="viewer")
    def listed(route: QueryText = None, limit: Limit = 500) -> Response[bytes]:
        """Return the labels that count, newest first, and the agreement over all of them."""
        every = counted()
        chosen = [label for label in every if route in (None, "", label.route)][:limit]
        agreement = [{**asdict(agreement), "value": agreement.value} for agreement in human_agreement(every)]
        return json_response({"labels": msgspec.to_builtins(chosen), "agreement": agreement})

    @post("/", sync_to_thread=True, guards=[own_pages_only, json_only], needs="labeller")
    def given(request: AnyRequest, body: RawBody) -> Response[bytes]:
        """Store a label, which has the fields that `say` takes."""
        try:
            label = say(sources, visitor_of(request), json_object(body))
        except LabelError as error:
            raise HTTPException(str(error), status_code=400) from error
        return json_response({"label": msgspec.to_builtins(label)}, 201)

    # A router, because Litestar would wrap the first of two handlers of one path twice.
    return [draw, said, Router("/api/labels", route_handlers=[listed, given])]


def say(sources: ConsoleSources, visitor: Visitor, asked: Mapping[str, Any]) -> Label:
    """Store a visitor's label under their name, record that in the audit log, and return it as stored.

    `asked` holds `verdict` (its id), `by`, and `rating` (3, 2, 1), `quality` ("worse", "equal", "better"),
    `note`, `drawn`; or `withdraw` in their place. A form sends texts, a program numbers and true.

    Raises: LabelError that says what is missing or wrong.
    """
    said = {}
    for name, value in signed(visitor, asked).items():
        if name not in _FIELDS:
            raise LabelError(f'"{name}" is unknown; known are {", ".join(_FIELDS)}')
        if isinstance(value, list | dict):
            raise LabelError("only the object itself has members; take text, numbers, true and false in it")
        said[name] = "" if value is None or value is False else str(value)
    verdict_id, by, at = said.get("verdict", ""), said.get("by", "").strip(), round(sources.clock(), 3)
    what: What = "label_withdrawn" if said.get("withdraw") else "label_given"
    if what == "label_withdrawn":
        label = sources.labels.withdraw(verdict_id, by, at=at)
    else:
        # Ids are printable; what is not would end in the audit log.
        verdict = sources.log.find(verdict_id) if verdict_id.isprintable() else None
        if verdict is None:
            raise LabelError("there is no trial with this id in the log, or no longer")
        rating = said.get("rating", "")
        if rating not in ("", "1", "2", "3"):
            raise LabelError(f"the rating {rating[:20]!r} is none of 1, 2, 3")
        statement = LabelStatement(
            by,
            rating=int(rating) if rating else None,
            quality=said.get("quality") or None,  # type: ignore[arg-type]  # checked where the label is made
            note=said.get("note", ""),
            drawn=bool(said.get("drawn")),
        )
        label = sources.labels.put(label_of(verdict, statement, at=at), sources.log.evidence(verdict_id))
    detail = f"route {label.route}"
    record(sources.actions, visitor, label.by, what, label.verdict_id, at=at, detail=detail)
    return label
