"""The page of one verdict: both prompts and both answers in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar import MediaType, Response, get
from litestar.params import FromPath, FromQuery

from console.verdicts import exhibit_in_full, find, view

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from console.rendering import Renderer
    from console.sources import ConsoleSources

VerdictId = FromPath[str]
ExchangeId = FromQuery[str | None]


def trial_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/verdicts/{id}`; `exchange` says where to look, so that old verdicts are found too."""

    # The path type also takes ids that hold a slash.
    @get("/verdicts/{verdict_id:path}", sync_to_thread=True)
    def page(verdict_id: VerdictId, exchange: ExchangeId = None) -> Response[bytes]:
        wanted = verdict_id.removeprefix("/")
        verdict = find(sources.log, wanted, exchange)
        if verdict is None:
            content = renderer.page(
                "message.html",
                title="Verdict not found",
                text="There is no verdict of this id among the newest; it may have been removed.",
            )
            return Response(content, status_code=404, media_type=MediaType.HTML)
        evidence = sources.log.evidence(verdict.id)
        content = renderer.page(
            "trial.html",
            verdict=view(verdict, exhibit_in_full(evidence) if evidence else None, sources.clock()),
            raw=verdict,
        )
        return Response(content, media_type=MediaType.HTML)

    return [page]
