"""Challengers: may another model or prompt take over? The page, its forms, and the API."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from litestar import Response, Router, get, post
from litestar.exceptions import HTTPException, NotFoundException

from evenkeel.console.access import form_token, own_pages_only, record, signed, visitor_of
from evenkeel.console.api import json_response
from evenkeel.console.rendering import AnyRequest, Form, PathText, QueryText, see_other
from evenkeel.core.challenge import Challenge, ChallengeLabel
from evenkeel.release.challenge import words
from evenkeel.stores.audit_log import is_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.handlers import HTTPRouteHandler
    from litestar.types import ControllerRouterHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.challenge import ChallengeTexts
    from evenkeel.release.challenge.board import ChallengeBoard, ChallengeState

_HALF: Final = 0.5
_SHOWN: Final = 20
_WORST: Final = 5
PLACES: Final = {"first": 1, "equal": 0, "second": -1}
"""Places of the first answer that a form may give."""


class ChallengePanel(NamedTuple):
    """A challenger as the page shows it."""

    state: ChallengeState
    worst: list[ChallengeTexts]
    """Texts of pairs in which its answer was worse, newest first."""
    labelled: int
    """Pairs that people have labelled."""


def challenger_handlers(sources: ConsoleSources, renderer: Renderer) -> list[ControllerRouterHandler]:
    """Return the handlers of `/challengers` and `/api/challengers`."""
    board = sources.challengers

    @get("/", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        return renderer.response(
            "challengers.html",
            panels=[_panel(board, state) for state in board.states()[:_SHOWN]],
            routes=[setup.route for setup in sources.setup],
            words=words,
            token=form_token(request),
            visitor=visitor_of(request),
        )

    @get("/{challenge_id:str}/label", sync_to_thread=True, needs="labeller")
    def drawn(request: AnyRequest, challenge_id: PathText) -> Response[bytes]:
        challenge = _known(board, challenge_id).challenge
        texts = _drawn(board, challenge)
        if texts is None:
            return renderer.response(
                "message.html",
                title="Nothing to label",
                text="Every pair that was drawn for labels is labelled already, or none was drawn yet.",
            )
        answers = (texts.served, texts.candidate)
        return renderer.response(
            "challenger_pair.html",
            challenge=challenge,
            texts=texts,
            answers=answers[::-1] if _swapped(challenge, texts.exchange) else answers,
            token=form_token(request),
            visitor=visitor_of(request),
        )

    @get("/", sync_to_thread=True, needs="viewer")
    def listed(route: QueryText = None) -> Response[bytes]:
        """Return all challengers with their decisions, the running ones first; `route` narrows the list."""
        states = []
        for state in board.states():
            if route in (None, "", state.challenge.route):
                states.append(state)
        return json_response(
            {"challengers": [words.challenge_json(state.challenge, state.figures) for state in states]}
        )

    @get("/{challenge_id:str}", sync_to_thread=True, needs="viewer")
    def given(challenge_id: PathText) -> Response[bytes]:
        """Return one challenger."""
        state = _known(board, challenge_id)
        return json_response({"challenger": words.challenge_json(state.challenge, state.figures)})

    return [
        Router("/challengers", route_handlers=[page, drawn, *_forms(sources)]),
        Router("/api/challengers", route_handlers=[listed, given]),
    ]


def _forms(sources: ConsoleSources) -> list[HTTPRouteHandler]:
    """Return the handlers of what people send: start, stop, and which answer is better."""
    board, log = sources.challengers, sources.actions

    @post("/", sync_to_thread=True, guards=[own_pages_only], needs="approver")
    def started(request: AnyRequest, data: Form) -> Response[bytes]:
        visitor, asked, now = visitor_of(request), signed(visitor_of(request), data), sources.clock()
        route, model = asked.get("route", "").strip(), asked.get("model", "").strip()
        # A challenger of a route that is not there would wait for requests for ever.
        if not model or route not in {setup.route for setup in sources.setup}:
            raise HTTPException("Nothing was started: say which route and which model.", status_code=400)
        challenge = Challenge(route=route, model=model, share=_share(asked), started_at=now)
        board.store.start(challenge)
        record(log, visitor, _name(asked), "challenger_started", route, at=now, detail=model)
        return see_other(f"/challengers#{challenge.id}")

    @post("/{challenge_id:str}/stop", sync_to_thread=True, guards=[own_pages_only], needs="approver")
    def stopped(request: AnyRequest, challenge_id: PathText, data: Form) -> Response[bytes]:
        visitor, asked, now = visitor_of(request), signed(visitor_of(request), data), sources.clock()
        challenge = _known(board, challenge_id).challenge
        board.store.stop(challenge, now)
        name = words.name_of(challenge)
        record(log, visitor, _name(asked), "challenger_stopped", challenge.route, at=now, detail=name)
        return see_other(f"/challengers#{challenge.id}")

    @post("/{challenge_id:str}/label", sync_to_thread=True, guards=[own_pages_only], needs="labeller")
    def labelled(request: AnyRequest, challenge_id: PathText, data: Form) -> Response[bytes]:
        visitor, asked, now = visitor_of(request), signed(visitor_of(request), data), sources.clock()
        challenge = _known(board, challenge_id).challenge
        # A form may be old: only a pair whose texts are kept was really shown.
        preference, exchange = PLACES.get(asked.get("better", "")), asked.get("exchange", "")
        kept = set()
        for texts in board.store.texts(challenge.id):
            if texts.drawn:
                kept.add(texts.exchange)
        if preference is None or exchange not in kept:
            raise HTTPException("Nothing was stored: say which answer is better.", status_code=400)
        if not _swapped(challenge, exchange):
            preference = -preference
        label = ChallengeLabel(
            challenge=challenge.id, exchange=exchange, place=preference, by=_name(asked), at=now
        )
        board.store.label(label)
        record(log, visitor, label.by, "challenger_labelled", challenge.route, at=now, detail=exchange)
        return see_other(f"/challengers/{challenge.id}/label")

    return [started, stopped, labelled]


def _known(board: ChallengeBoard, challenge_id: str) -> ChallengeState:
    state = board.find(challenge_id)
    if state is None:
        raise NotFoundException(detail="There is no challenger of this id.")
    return state


def _panel(board: ChallengeBoard, state: ChallengeState) -> ChallengePanel:
    store, challenge = board.store, state.challenge
    labels = store.labels(challenge.id)
    worse = set()
    for pair in store.pairs(challenge.id):
        if pair.preference == -1:
            worse.add(pair.exchange)
    worst = []
    for texts in store.texts(challenge.id):
        if texts.exchange in worse:
            worst.append(texts)
    return ChallengePanel(state, worst[:_WORST], len(labels))


def _drawn(board: ChallengeBoard, challenge: Challenge) -> ChallengeTexts | None:
    """Return the texts of a pair for a person to label; None if there is none.

    The same pair comes until it is labelled, so that nobody can draw again until they like it. Pairs that are
    kept for what the judge said of them would show its errors in one direction only.
    """
    labels = board.store.labels(challenge.id)
    left = {}
    for texts in board.store.texts(challenge.id):
        if texts.drawn and texts.exchange not in labels:
            left[texts.exchange] = texts
    return left[Random(f"{challenge.id}/{len(labels)}").choice(sorted(left))] if left else None


def _swapped(challenge: Challenge, exchange: str) -> bool:
    # From the ids, so that a reload shows the same order and the form needs no hidden field to cheat with.
    return Random(f"{challenge.id}/{exchange}/order").random() < _HALF


def _name(asked: Mapping[str, Any]) -> str:
    name = str(asked.get("by", "")).strip()
    if not is_name(name):
        raise HTTPException("Nothing was changed: say your name.", status_code=400)
    return name


def _share(asked: Mapping[str, Any]) -> float:
    """Return the share of the requests that a form gives in percent."""
    try:
        share = float(str(asked.get("share") or "2").replace(",", ".")) / 100
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise HTTPException(
            "Nothing was started: the share of the requests is above 0 and at most 100 %.", status_code=400
        )
    return share
