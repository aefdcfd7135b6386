"""Page about the judge: its reliability, how often it is called, and its cost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.console.rendering import Page, live_handlers
from evenkeel.console.spend import spent_today
from evenkeel.core.budget import total
from evenkeel.monitor.labels import drawn_labels, human_agreement
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport
    from evenkeel.core.verdict import Stage
    from evenkeel.monitor.labels import DrawnLabels, HumanAgreement
    from evenkeel.stores.labels import Label
    from evenkeel.stores.verdict_log import VerdictLog

DRAWN_FROM: Final = 10_000
"""Newest trials among which those drawn at random are looked up."""
# Names of the stages that decide a rating, to follow a count.
_DECIDERS: Final[dict[Stage, str]] = {
    "equality": "identical",
    "empty": "with one side empty",
    "judge": "by the judge",
    "unsure": "not rated",
}


def judge_page(
    sources: ConsoleSources, people: Sequence[HumanAgreement] = (), drawn: DrawnLabels | None = None
) -> Page:
    """Build the page about the judge, with what people say of the same trials."""
    reports = sources.reports()
    rows = judged(reports)
    decided = Counter[str]()
    for report in rows:
        decided.update(report.judge.decided)
    spent = []
    for (_, purpose), spend in spent_today(sources).items():
        if purpose == "judge":
            spent.append(spend)
    return Page(
        "Judge · evenkeel",
        setup=sources.judge,
        trouble=sources.measuring().cause("judge", "judge_key"),
        reports=rows,
        deciders=_DECIDERS,
        decided=decided,
        cost=total(spent) if spent else None,
        # First on trials drawn at random, then on those that people chose.
        people=sorted(people, key=lambda each: (each.judge, each.source != "drawn", each.decided_by)),
        drawn=drawn,
        can_label=sources.labels is not None,
    )


def judged(reports: Sequence[CellReport]) -> list[CellReport]:
    """Return a report with figures of the judge for each route and model; all cells of a pair share them."""
    latest: dict[tuple[str, str], CellReport] = {}
    for report in sorted(reports, key=lambda cell: cell.key.parts):
        judged_cell = (report.key.route, report.key.model)
        # The first cell will do: the judge's figures are those of the route and model.
        if judged_cell not in latest and (report.judge.decided or report.judge.noise):
            latest[judged_cell] = report
    return list(latest.values())


class DrawnCache:
    """Ratings by people of trials drawn at random, computed again only when the labels have changed."""

    def __init__(self, log: VerdictLog) -> None:
        self._log = log
        self._found: tuple[Sequence[Label], DrawnLabels | None] = ((), None)

    def of(self, labels: Sequence[Label]) -> DrawnLabels | None:
        """Return what the labels say; None if none of them is of a trial drawn at random."""
        labels_before, drawn = self._found
        if labels is not labels_before:
            drawn = self._read(labels)
            self._found = (labels, drawn)
        return drawn

    def _read(self, labels: Sequence[Label]) -> DrawnLabels | None:
        if not any(label.drawn for label in labels):
            return None
        verdicts = []
        for logged in self._log.read_before(None, DRAWN_FROM).verdicts:
            if logged.verdict.drawn:
                verdicts.append(logged.verdict)
        drawn = drawn_labels(labels, verdicts)
        return drawn if drawn.corrected.n else None


def judge_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/judge` and its live part."""
    labels = CountedLabels(sources.labels)
    drawn = DrawnCache(sources.log)

    def page(_: object) -> Page:
        all_labels = labels()
        return judge_page(sources, human_agreement(all_labels), drawn.of(all_labels))

    return live_handlers("/judge", "_judge.html", page, renderer)
