"""The page of one verdict: both prompts and both answers in full, how it was rated, and what people say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from litestar import MediaType, Request, Response, get
from litestar.params import FromPath, FromQuery

from evenkeel.console import links
from evenkeel.console.feedback_views import feedback, siblings
from evenkeel.console.golden_views import approval
from evenkeel.console.identity import visitor_of
from evenkeel.console.verdicts import exhibit_in_full, view
from evenkeel.console.writing import form_token
from evenkeel.core import figures, rewordings
from evenkeel.monitor.changes.report import SAID
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.verdict import Verdict

VerdictId = FromPath[str]
QueryText = FromQuery[str | None]


class Beside(NamedTuple):
    """A change of the route before or after a trial."""

    href: str
    text: str
    trials_href: str
    """The trials on the same side of it."""


class Sibling(NamedTuple):
    """Another trial of the same exchange."""

    href: str
    perturbation: str
    severity: str
    rating: int | None
    rating_words: str


def trial_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/verdicts/{id}`; `?blind=1` leaves out how it was rated, for somebody who is about to rate it."""
    counted = CountedLabels(sources.labels)

    # The path type also takes ids that hold a slash.
    @get("/verdicts/{verdict_id:path}", sync_to_thread=True)
    def page(
        request: Request[Any, Any, Any], verdict_id: VerdictId, blind: QueryText = None
    ) -> Response[bytes]:
        verdict = sources.log.find(verdict_id.removeprefix("/"))
        if verdict is None:
            content = renderer.page(
                "message.html",
                title="Verdict not found",
                text="There is no verdict of this id in the log.",
            )
            return Response(content, status_code=404, media_type=MediaType.HTML)
        now = sources.clock()
        evidence = sources.log.evidence(verdict.id)
        store = sources.labels
        said = feedback(store, counted(), verdict.id, verdict.judge_model, now) if store else None
        content = renderer.page(
            "trial.html",
            here="/trials",
            verdict=view(verdict, exhibit_in_full(evidence) if evidence else None, now),
            raw=verdict,
            trace_url=_trace_url(sources.trace_url, verdict.trace_id),
            approval=approval(sources.goldens, verdict.exchange_id) if sources.goldens else None,
            siblings=_siblings(sources, verdict),
            before=_change(sources, verdict, now, after=False),
            after=_change(sources, verdict, now, after=True),
            feedback=said,
            blind=bool(blind) and said is not None and not said.labels,
            token=form_token(request),
            visitor=visitor_of(request),
        )
        return Response(content, media_type=MediaType.HTML)

    return [page]


def _siblings(sources: ConsoleSources, verdict: Verdict) -> tuple[Sibling, ...]:
    return tuple(
        Sibling(
            links.verdict_link(one.id),
            rewordings.label(one.perturbation),
            figures.number(one.severity, 1) if rewordings.category(one.perturbation).graded else "",
            one.rating,
            words,
        )
        for one, words in siblings(sources.log, verdict)
    )


def _change(sources: ConsoleSources, verdict: Verdict, now: float, *, after: bool) -> Beside | None:
    """The first change of the route after the trial, or the last one before it."""
    of_route = [one for one in (sources.change_reports or tuple)() if one.route == verdict.route]
    if after:
        found = min(
            (one for one in of_route if one.at > verdict.scored_at), key=lambda one: one.at, default=None
        )
    else:
        found = max(
            (one for one in of_route if one.at <= verdict.scored_at), key=lambda one: one.at, default=None
        )
    if found is None:
        return None
    side = "before" if after else "after"
    return Beside(
        links.change_link(found.id),
        f"{SAID[found.cause]}, {figures.moment(found.at, now)}",
        links.trials_link(change=found.id, side=side, perturbation=verdict.perturbation),
    )


def _trace_url(template: str | None, trace_id: str) -> str | None:
    """Where the trial's trace can be looked at; None if it has none or nobody said where."""
    return template.replace("{trace_id}", trace_id) if template and trace_id else None
