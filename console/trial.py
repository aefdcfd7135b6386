"""The page of one verdict: both prompts and both answers in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import MediaType, Request, Response, get
from litestar.params import FromPath

from console.golden_views import approval
from console.goldens import user_of
from console.verdicts import exhibit_in_full, view
from console.writing import form_token

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from console.rendering import Renderer
    from console.sources import ConsoleSources

VerdictId = FromPath[str]


def trial_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/verdicts/{id}`."""

    # The path type also takes ids that hold a slash.
    @get("/verdicts/{verdict_id:path}", sync_to_thread=True)
    def page(request: Request[Any, Any, Any], verdict_id: VerdictId) -> Response[bytes]:
        verdict = sources.log.find(verdict_id.removeprefix("/"))
        if verdict is None:
            content = renderer.page(
                "message.html",
                title="Verdict not found",
                text="There is no verdict of this id in the log.",
            )
            return Response(content, status_code=404, media_type=MediaType.HTML)
        evidence = sources.log.evidence(verdict.id)
        content = renderer.page(
            "trial.html",
            verdict=view(verdict, exhibit_in_full(evidence) if evidence else None, sources.clock()),
            raw=verdict,
            trace_url=_trace_url(sources.trace_url, verdict.trace_id),
            approval=approval(sources.goldens, verdict.exchange_id) if sources.goldens else None,
            token=form_token(request),
            user=user_of(request),
        )
        return Response(content, media_type=MediaType.HTML)

    return [page]


def _trace_url(template: str | None, trace_id: str) -> str | None:
    """Where the trial's trace can be looked at; None if it has none or nobody said where."""
    return template.replace("{trace_id}", trace_id) if template and trace_id else None
