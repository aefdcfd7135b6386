"""The page about the judge: how far it can be trusted, how often it is asked, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.console import links
from evenkeel.console.downloads import Table
from evenkeel.console.feedback_views import AgreementLine, agreement_lines
from evenkeel.console.judge_series import READ, Plot, judge_plots
from evenkeel.console.live import Head, live_handlers
from evenkeel.core import figures
from evenkeel.core.verdict import STAGES
from evenkeel.monitor.labels import human_agreement
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, JudgeSetup, Spending
    from evenkeel.core.cells import CellReport, Estimate
    from evenkeel.monitor.labels import HumanAgreement

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
