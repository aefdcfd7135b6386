"""Page about the judge: its reliability, and how often it is called."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from litestar import Response, get

from evenkeel.monitor.labels import drawn_labels, human_agreement
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.labels import DrawnLabels
    from evenkeel.stores.labels import Label
    from evenkeel.stores.verdict_log import VerdictLog

DRAWN_FROM: Final = 10_000
"""Newest trials among which those drawn at random are looked up."""


def judged(reports: Sequence[CellReport]) -> list[CellReport]:
    """Return a report with figures of the judge for each route and model; all cells of a pair share them."""
    latest: dict[tuple[str, str], CellReport] = {}
    for report in sorted(reports, key=lambda cell: cell.key.parts):
        judged_cell = (report.key.route, report.key.model)
        # The first cell will do: the judge's figures are those of the route and model.
        if judged_cell not in latest and (report.judge.decided or report.judge.noise):
            latest[judged_cell] = report
    return list(latest.values())


def _drawn(log: VerdictLog, labels: Sequence[Label]) -> DrawnLabels | None:
    """Return what people say of trials drawn at random; None if none of the labels is of such a trial."""
    if not any(label.drawn for label in labels):
        return None
    verdicts = []
    for logged in log.read_before(None, DRAWN_FROM).verdicts:
        if logged.verdict.drawn:
            verdicts.append(logged.verdict)
    drawn = drawn_labels(labels, verdicts)
    return drawn if drawn.corrected.n else None


def judge_handler(sources: ConsoleSources, renderer: Renderer) -> HTTPRouteHandler:
    """Handler of `/judge`. The page reads thousands of trials, so it does not renew itself."""
    counted = CountedLabels(sources.labels)

    @get("/judge", sync_to_thread=True, needs="viewer")
    def page() -> Response[bytes]:
        labels = counted()
        people = human_agreement(labels)
        rows = judged(sources.reports())
        decided = Counter[str]()
        for report in rows:
            decided.update(report.judge.decided)
        return renderer.response(
            "judge.html",
            setup=sources.judge,
            trouble=sources.measuring().cause("judge", "judge_key"),
            reports=rows,
            decided=decided,
            # First on trials drawn at random, then on those that people chose.
            people=sorted(people, key=lambda each: (each.judge, each.source != "drawn", each.decided_by)),
            drawn=_drawn(sources.log, labels),
        )

    return page
