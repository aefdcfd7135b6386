"""Page about the judge: its reliability, how often it is called, and its cost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenkeel.console.labels import in_order
from evenkeel.console.rendering import Page, live_handlers
from evenkeel.console.spend import spent_today
from evenkeel.core.budget import total
from evenkeel.core.verdict import (
    STAGES,
)
from evenkeel.monitor.labels import human_agreement
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.labels import HumanAgreement


def judge_page(sources: ConsoleSources, people: Sequence[HumanAgreement] = ()) -> Page:
    """Build the page about the judge: its figures by route and model, and people's agreement with it."""
    reports = sources.reports()
    rows = judged(reports)
    decided = Counter[str]()
    for report in rows:
        decided.update(report.judge.decided)
    spent = spent_today(sources)
    return Page(
        "Judge · evenkeel",
        setup=sources.judge,
        trouble=sources.measuring().cause("judge", "judge_key"),
        reports=rows,
        stages=STAGES,
        decided=decided,
        cost=total(spend for (_, purpose), spend in spent.items() if purpose == "judge") if spent else None,
        people=in_order(people),
        can_label=sources.labels is not None,
    )


def judged(reports: Sequence[CellReport]) -> list[CellReport]:
    """Return a report with figures of the judge for each route and model; all cells of a pair share them."""
    found: dict[tuple[str, str], CellReport] = {}
    for report in sorted(reports, key=lambda one: one.key.parts):
        place = (report.key.route, report.key.model)
        if place not in found and (report.judge.decided or report.judge.noise):
            found[place] = report
    return list(found.values())


def judge_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/judge` and its live part."""
    labels = CountedLabels(sources.labels)

    def page(_: object) -> Page:
        return judge_page(sources, human_agreement(labels()))

    return live_handlers("/judge", "_judge.html", page, renderer)
