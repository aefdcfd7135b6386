"""The page of one verdict: both prompts and both answers in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar import MediaType, Response, get
from litestar.params import FromPath

from console.verdicts import exhibit_in_full, view

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from console.rendering import Renderer
    from console.sources import ConsoleSources

VerdictId = FromPath[str]


def trial_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/verdicts/{id}`."""

    # The path type also takes ids that hold a slash.
    @get("/verdicts/{verdict_id:path}", sync_to_thread=True)
    def page(verdict_id: VerdictId) -> Response[bytes]:
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
        )
        return Response(content, media_type=MediaType.HTML)

    return [page]
