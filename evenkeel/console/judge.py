"""The page about the judge: how far it can be trusted, how often it is asked, what it costs, and its course.

What the judge did in time is read back from the newest verdicts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from evenkeel.console.chart import Chart, Sample, chart
from evenkeel.console.downloads import Table, estimate_columns
from evenkeel.console.labels import agreement_lines
from evenkeel.console.rendering import Page, live_handlers
from evenkeel.console.spend import spent_today
from evenkeel.core import figures
from evenkeel.core.budget import total
from evenkeel.core.geometry import Range
from evenkeel.core.verdict import (
    HEURISTIC_RATING,
    JUDGED_AGAIN,
    JUDGED_ALONE,
    JUDGED_SWAPPED,
    STAGES,
    stage_of,
)
from evenkeel.monitor.estimate import proportion
from evenkeel.monitor.labels import human_agreement
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport
    from evenkeel.core.verdict import Stage, Verdict
    from evenkeel.monitor.labels import HumanAgreement


READ: Final = 4000
"""Newest verdicts read for the plots."""

POINTS: Final = 12
"""Points of a plot at most."""

FEWEST: Final = 5
"""Observations behind a point at least: fewer say nothing, so neighbours are taken together."""

_WHOLE: Final = Range(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Plot:
    """One share in time."""

    id: str
    title: str
    note: str
    now: str
    """The newest point with its interval, "" if there is none."""
    chart: Chart
    description: str


def judge_plots(verdicts: Sequence[Verdict], now: float) -> tuple[Plot, ...]:
    """Plots of everything that was observed often enough.

    Args:
        verdicts: in any order; those that no judge stands behind are passed over.
        now: Unix time in seconds.
    """
    rated = sorted(
        (one for one in verdicts if one.scoring.scorer == "judge" and one.rating is not None),
        key=lambda one: one.scored_at,
    )
    found = []
    for place, (title, note, observe) in enumerate(_OBSERVED):
        seen = [(one.scored_at, hit) for one in rated if (hit := observe(one)) is not None]
        points = binned(seen)
        if not points:
            continue
        latest = points[-1]
        assert latest.value is not None
        assert latest.lower is not None
        assert latest.upper is not None
        shown = (
            f"{figures.percent(latest.value)} [{figures.number(latest.lower * 100)}, "
            f"{figures.number(latest.upper * 100)}]"
        )
        found.append(
            Plot(
                id=f"judge-plot-{place}",
                title=title,
                note=note,
                now=shown,
                chart=chart([points], (), threshold=0.0, values=_WHOLE, now=now),
                description=f"{title}, over time: now {shown}, from {len(seen)} observations.",
            )
        )
    return tuple(found)


def binned(seen: Sequence[tuple[float, bool]]) -> list[Sample]:
    """Shares of what was seen, over stretches with equally many observations each.

    Args:
        seen: time and whether it was so, in order of time.

    Returns: at most `POINTS` points, each at the time of its last observation with an interval that
        covers the truth of its stretch with probability 95 %; none for fewer than `FEWEST` observations.
    """
    count = min(POINTS, len(seen) // FEWEST)
    points = []
    for place in range(count):
        part = seen[place * len(seen) // count : (place + 1) * len(seen) // count]
        estimate = proportion(sum(hit for _, hit in part), len(part))
        assert estimate is not None
        points.append(Sample(part[-1][0], estimate.value, estimate.lower, estimate.upper))
    return points


def _same(detail: str) -> Callable[[Verdict], bool | None]:
    """Whether another rating of the same pair is the one that it repeats; None without the other."""
    return lambda verdict: verdict.repeated(detail)


def _saved(verdict: Verdict) -> bool | None:
    return stage_of(verdict.scoring.details) != "judge"


_OBSERVED: Final[tuple[tuple[str, str, Callable[[Verdict], bool | None]], ...]] = (
    ("Agrees with the heuristics", "of trials that both have rated", _same(HEURISTIC_RATING)),
    ("Same rating when asked again", "of trials judged twice", _same(JUDGED_AGAIN)),
    ("Same rating with sides swapped", "of trials judged both ways", _same(JUDGED_SWAPPED)),
    ("Same rating alone as in a group", "of trials judged both ways", _same(JUDGED_ALONE)),
    ("Rated without a call", "of all ratings", _saved),
)


_PLOTS_KEPT_S: Final = 30.0
"""The plots are made of thousands of verdicts: not anew at each refresh."""


def judge_page(
    sources: ConsoleSources, plots: tuple[Plot, ...], people: Sequence[HumanAgreement] = ()
) -> Page:
    """What the cells know of the judge, by route and model, and what people say of its ratings."""
    reports = sources.reports()
    rows = judged(reports)
    decided = Counter[str]()
    for report in rows:
        decided.update(report.judge.decided)
    spent = spent_today(sources)
    return Page(
        "Judge · evenkeel",
        setup=sources.judge,
        problem=sources.ready().get("judge", ""),
        reports=rows,
        stages=STAGES,
        decided=decided,
        cost=total(spend for (_, purpose), spend in spent.items() if purpose == "judge") if spent else None,
        plots=plots,
        people=agreement_lines(people),
        can_label=sources.labels is not None,
    )


def judged(reports: Sequence[CellReport]) -> list[CellReport]:
    """For each route and model one report that knows of the judge: all of its cells know the same."""
    found: dict[tuple[str, str], CellReport] = {}
    for report in sorted(reports, key=lambda one: one.key.parts):
        place = (report.key.route, report.key.model)
        if place not in found and (report.judge.decided or report.judge.noise or report.judge.agreement):
            found[place] = report
    return list(found.values())


def judge_table(reports: Sequence[CellReport]) -> Table:
    """The judge by route and model, for a file."""

    def decided(stage: Stage) -> Callable[[Any], int]:
        return lambda report: report.decided.get(stage, 0)

    return Table.of(
        [SimpleNamespace(**report.flat()) for report in judged(reports)],
        ("route", lambda report: report.key.route),
        ("model", lambda report: report.key.model),
        *estimate_columns("judge_noise"),
        *estimate_columns("swap_consistency"),
        *estimate_columns("cascade_agreement"),
        *estimate_columns("group_agreement"),
        "said_shifted",
        *estimate_columns("truly_shifted"),
        *((f"decided_by_{stage}", decided(stage)) for stage in STAGES),
    )


class _PlotReader:
    """Makes the plots, and keeps them for half a minute."""

    def __init__(self, sources: ConsoleSources) -> None:
        self._sources = sources
        self._made: tuple[float, tuple[Plot, ...]] | None = None

    def __call__(self) -> tuple[Plot, ...]:
        """The plots. Blocks on the log; two threads may make them at the same time, which does no harm."""
        now = self._sources.clock()
        made = self._made
        if made is None or not 0 <= now - made[0] < _PLOTS_KEPT_S:
            made = self._made = (now, judge_plots(self._sources.log.latest(READ), now))
        return made[1]


def judge_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/judge` and its live part."""
    labels, plots = CountedLabels(sources.labels), _PlotReader(sources)

    def page(_: object) -> Page:
        return judge_page(sources, plots(), human_agreement(labels()))

    return live_handlers("/judge", "_judge.html", page, renderer)
