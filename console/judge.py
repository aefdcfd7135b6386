"""The page about the judge: how far it can be trusted, how often it is asked, what it costs, and its course.

What the judge did in time is read back from the newest verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.console import links
from evenkeel.console.chart import Chart, Sample, Scale, chart
from evenkeel.console.downloads import Table
from evenkeel.console.labels import AgreementLine, agreement_lines
from evenkeel.console.rendering import Head, live_handlers
from evenkeel.core import figures
from evenkeel.core.verdict import BANDS_RATING, JUDGED_AGAIN, JUDGED_SWAPPED, STAGES, stage_of
from evenkeel.monitor.estimate import proportion
from evenkeel.monitor.labels import human_agreement
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, JudgeSetup, Spending
    from evenkeel.core.cells import CellReport, Estimate
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.labels import HumanAgreement


READ: Final = 4000
"""Newest verdicts read for the plots."""

POINTS: Final = 12
"""Points of a plot at most."""

FEWEST: Final = 5
"""Observations behind a point at least: fewer say nothing, so neighbours are taken together."""

_WHOLE: Final = Scale(0.0, 1.0)


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
    samples: tuple[Sample, ...]


def judge_plots(verdicts: Sequence[Verdict], now: float) -> tuple[Plot, ...]:
    """Plots of everything that was observed often enough.

    Args:
        verdicts: in any order; those that no judge stands behind are passed over.
        now: Unix time in seconds.
    """
    rated = sorted(
        (one for one in verdicts if one.scorer == "judge" and one.rating is not None),
        key=lambda one: one.scored_at,
    )
    found = []
    for place, (title, note, observe) in enumerate(_OBSERVED):
        seen = [(one.scored_at, hit) for one in rated if (hit := observe(one)) is not None]
        samples = binned(seen)
        if not samples:
            continue
        latest = samples[-1]
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
                chart=chart([samples], (), threshold=0.0, scale=_WHOLE, now=now),
                description=f"{title}, in time: lately {shown}, from {len(seen)} observations.",
                samples=tuple(samples),
            )
        )
    return tuple(found)


def binned(seen: Sequence[tuple[float, bool]]) -> list[Sample]:
    """Shares of what was seen, over stretches with equally many observations each.

    Args:
        seen: time and whether it was so, in order of time.

    Returns: at most `POINTS` samples, each at the time of its last observation with an interval that
        covers the truth of its stretch with probability 95 %; none for fewer than `FEWEST` observations.
    """
    count = min(POINTS, len(seen) // FEWEST)
    samples = []
    for place in range(count):
        part = seen[place * len(seen) // count : (place + 1) * len(seen) // count]
        estimate = proportion(sum(hit for _, hit in part), len(part))
        assert estimate is not None
        samples.append(Sample(part[-1][0], estimate.value, estimate.lower, estimate.upper))
    return samples


def _agrees(verdict: Verdict) -> bool | None:
    bands = verdict.details.get(BANDS_RATING)
    return None if bands is None else bands == verdict.rating


def _repeats(verdict: Verdict) -> bool | None:
    again = verdict.details.get(JUDGED_AGAIN)
    return None if again is None else again == verdict.rating


def _symmetric(verdict: Verdict) -> bool | None:
    swapped = verdict.details.get(JUDGED_SWAPPED)
    return None if swapped is None else swapped == verdict.rating


def _saved(verdict: Verdict) -> bool | None:
    return stage_of(verdict.details) != "judge"


_OBSERVED: Final[tuple[tuple[str, str, Callable[[Verdict], bool | None]], ...]] = (
    ("Agrees with the cheap metrics", "of pairs that both have rated", _agrees),
    ("Same rating when asked again", "of pairs judged twice", _repeats),
    ("Same rating with sides swapped", "of pairs judged both ways", _symmetric),
    ("Rated without a call", "of all ratings", _saved),
)


_PLOTS_KEPT_S: Final = 30.0
"""The plots are made of thousands of verdicts: not anew at each refresh."""


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """The judge on one route and model."""

    route: str
    route_href: str
    model: str
    noise: str
    swap: str
    agreement: str
    decided: str
    saved: str
    """Share of ratings that took no call."""


@dataclass(frozen=True, slots=True)
class JudgePage:
    """The whole page."""

    head: Head
    setup: JudgeSetup | None
    problem: str
    """Why it cannot be used, "" while it can."""
    lines: tuple[JudgeLine, ...]
    calls: str
    saved: str
    cost: str
    plots: tuple[Plot, ...]
    people: tuple[AgreementLine, ...]
    """How far people agree, by who decided and how the verdicts were chosen."""
    can_label: bool
    """Whether people can say what they think of verdicts here."""


def judge_page(
    sources: ConsoleSources, plots: tuple[Plot, ...], people: Sequence[HumanAgreement] = ()
) -> JudgePage:
    """What the cells know of the judge, by route and model, and what people say of its ratings."""
    reports = sources.reports()
    rows = judged(reports)
    decided = [report.decided for report in rows]
    ratings = sum(sum(one.values()) for one in decided)
    asked = sum(one.get("judge", 0) for one in decided)
    return JudgePage(
        head=Head("Judge · evenkeel", alert=any(report.alert for report in reports)),
        setup=sources.judge,
        problem=sources.ready().get("judge", ""),
        lines=tuple(_line(report) for report in rows),
        calls=f"{asked:,} of {ratings:,} ratings" if ratings else "",
        saved=figures.percent((ratings - asked) / ratings) if ratings else "",
        cost=_cost(sources.spending() if sources.spending else None),
        plots=plots,
        people=agreement_lines(people),
        can_label=sources.labels is not None,
    )


def judged(reports: Sequence[CellReport]) -> list[CellReport]:
    """For each route and model one report that knows of the judge: all of its cells know the same."""
    found: dict[tuple[str, str], CellReport] = {}
    for report in sorted(reports, key=lambda one: one.key.parts):
        place = (report.key.route, report.key.model)
        if place not in found and (report.decided or report.judge_noise or report.cascade_agreement):
            found[place] = report
    return list(found.values())


def judge_table(reports: Sequence[CellReport]) -> Table:
    """The judge by route and model, for a file."""
    measured = ("judge_noise", "swap_consistency", "cascade_agreement")
    columns = ["route", "model"]
    for name in measured:
        columns += [name, f"{name}_lower", f"{name}_upper", f"{name}_n"]
    columns += [f"decided_by_{stage}" for stage in STAGES]
    rows = []
    for report in judged(reports):
        row: list[str | int | float | None] = [report.key.route, report.key.model]
        for name in measured:
            row += _flat(getattr(report, name))
        row += [report.decided.get(stage, 0) for stage in STAGES]
        rows.append(row)
    return Table(tuple(columns), rows)


def plots_table(plots: Sequence[Plot]) -> Table:
    """The points of the plots, for a file."""
    return Table(
        ("plot", "at", "value", "lower", "upper"),
        [(plot.title, *one) for plot in plots for one in plot.samples],
    )


class PlotReader:
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


def judge_handlers(
    sources: ConsoleSources, renderer: Renderer, plots: Callable[[], tuple[Plot, ...]]
) -> list[HTTPRouteHandler]:
    """`/judge` and its live part."""
    labels = CountedLabels(sources.labels)

    def page(_: object) -> JudgePage:
        return judge_page(sources, plots(), human_agreement(labels()))

    return live_handlers("/judge", "_judge.html", page, renderer)


def people_table(agreement: Sequence[HumanAgreement]) -> Table:
    """How far people agree with ratings, for a file."""
    columns = (
        "judge",
        "decided_by",
        "verdicts_were",
        "agreement",
        "lower",
        "upper",
        "n",
        "agreed",
        "too_high",
    )
    return Table(
        (*columns, "split"),
        [
            (
                one.judge,
                one.decided_by,
                one.source,
                one.value,
                one.lower,
                one.upper,
                one.n,
                one.agreed,
                one.too_high,
                one.split,
            )
            for one in agreement
        ],
    )


def _flat(estimate: Estimate | None) -> list[float | int | None]:
    if estimate is None:
        return [None, None, None, None]
    return [estimate.value, estimate.lower, estimate.upper, estimate.n]


def _line(report: CellReport) -> JudgeLine:
    total = sum(report.decided.values())
    asked = report.decided.get("judge", 0)
    return JudgeLine(
        route=report.key.route,
        route_href=links.route_link(report.key.route),
        model=report.key.model,
        noise=_said(report.judge_noise),
        swap=_said(report.swap_consistency),
        agreement=_said(report.cascade_agreement),
        decided=", ".join(
            f"{report.decided[stage]:,} {stage}" for stage in STAGES if report.decided.get(stage)
        )
        or "–",
        saved=figures.percent((total - asked) / total) if total else "–",
    )


def _said(estimate: Estimate | None) -> str:
    return f"{figures.estimate_text(estimate)} of {estimate.n:,}" if estimate else "too few yet"


def _cost(spending: Spending | None) -> str:
    for amount in spending.purposes if spending else ():
        if amount.name == "judge":
            return f"{figures.usd(amount.usd)} and {amount.tokens:,} tokens today"
    return ""
