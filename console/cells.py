"""Cells as lines of a table: every estimate with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from evenkeel.console import links
from evenkeel.console.downloads import Table, Value
from evenkeel.console.forest import Bar, Interval, Span, bar, span_of
from evenkeel.console.heatmap import band, cell_id, retired_models
from evenkeel.core import figures, rewordings
from evenkeel.core.cells import WINDOWS
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.cells import CellReport, Estimate

_ESTIMATES: Final = (
    "content_delta",
    "quality_delta",
    "quality_worse",
    "quality_better",
    "robustness",
    "noise_floor",
    "excess",
    "judge_noise",
    "swap_consistency",
    "cascade_agreement",
)


@dataclass(frozen=True, slots=True)
class CellLine:
    """One perturbation of a route and model; estimates that are not known are "–"."""

    id: str
    label: str
    href: str
    """Its trials."""
    alert: bool
    collecting: str
    """"12 of 30 trials" while there are too few for a number, else ""."""
    band: int | None
    robustness: str
    interval: str
    shifted: str
    excess: str
    """Of the resend what it is: the noise floor."""
    bar: Bar | None
    allowed: str
    quality: str
    lately: str
    """Share of shifted answers in the last 24 hours, with the number of trials."""
    drift: str
    """How it left its own baseline, "" if it did not."""
    trials: str
    failures: str


@dataclass(frozen=True, slots=True)
class CellGroup:
    """The perturbations of one category."""

    category: str
    lines: tuple[CellLine, ...]


def cell_groups(reports: Sequence[CellReport], *, minimum: int, span: Span) -> tuple[CellGroup, ...]:
    """The cells of one route and model by category, in the order of the heatmap."""
    ordered = sorted(reports, key=lambda report: rewordings.position(report.key.perturbation))
    return tuple(
        CellGroup(category, tuple(_line(report, minimum, span) for report in members))
        for category, members in groupby(
            ordered, key=lambda one: rewordings.category(one.key.perturbation).name
        )
    )


def excess_span(reports: Sequence[CellReport]) -> Span:
    """The common scale of the bars."""
    found = [_interval(one.excess) for one in reports if one.excess]
    allowed = [one.threshold for one in reports]
    return span_of(found, always=(0.0, 0.2, *(1.2 * limit for limit in allowed)))


def cells_table(reports: Sequence[CellReport], route: str | None = None) -> Table:
    """All estimates of all cells, or of those of a route, for a file."""
    retired = retired_models(reports)
    columns = ["route", "model", "perturbation", "retired", "scorer", "trials", "last_scored_at"]
    for name in _ESTIMATES:
        columns += [name, f"{name}_lower", f"{name}_upper", f"{name}_n"]
    columns += ["threshold", "evidence_log10", "alarm_log10", "alert", "drift"]
    for window in WINDOWS:
        columns += [f"content_delta_{window}", f"robustness_{window}", f"excess_{window}", f"trials_{window}"]
    rows = []
    for one in sorted(reports, key=lambda report: report.key.parts):
        if route is not None and one.key.route != route:
            continue
        gone = (one.key.route, one.key.model) in retired
        row: list[Value] = [*one.key.parts, gone, one.scorer, one.trials, one.last_scored_at]
        for name in _ESTIMATES:
            row += _flat(getattr(one, name))
        drift = one.drift.state if one.drift else None
        row += [one.threshold, one.evidence_log10, one.alarm_log10, one.alert, drift]
        for window in WINDOWS:
            found = one.windows.get(window)
            estimates = (found.content_delta, found.robustness, found.excess) if found else (None,) * 3
            row += [estimate.value if estimate else None for estimate in estimates]
            row.append(found.trials if found else None)
        rows.append(row)
    return Table(tuple(columns), rows)


def _flat(estimate: Estimate | None) -> list[Value]:
    if estimate is None:
        return [None, None, None, None]
    return [estimate.value, estimate.lower, estimate.upper, estimate.n]


def _interval(estimate: Estimate) -> Interval:
    return Interval(estimate.value, estimate.lower, estimate.upper)


def _line(report: CellReport, minimum: int, span: Span) -> CellLine:
    key, robustness = report.key, report.robustness
    baseline = key.perturbation == BASELINE
    shown = report.content_delta if baseline else report.excess
    lately = report.windows.get("24h")
    return CellLine(
        id=f"line-{cell_id(report)}",
        label=rewordings.pair_label(key.perturbation),
        href=links.trials_link(route=key.route, model=key.model, perturbation=key.perturbation),
        alert=report.alert,
        collecting="" if robustness else f"{report.trials} of {minimum} trials",
        band=band(robustness.value) if robustness else None,
        robustness=figures.number(robustness.value * 100, 1) if robustness else "–",
        interval=f"{figures.number(robustness.lower * 100)}–{figures.number(robustness.upper * 100)}"
        if robustness
        else "",
        shifted=_said(report.content_delta),
        excess=_said(shown),
        bar=bar(_interval(shown), span, lines=() if baseline else (report.threshold,), loud=report.alert)
        if shown
        else None,
        allowed="" if baseline else figures.percent(report.threshold),
        quality=_quality(report),
        lately=figures.estimate_of(lately.content_delta) if lately and lately.content_delta else "–",
        drift=_drift(report),
        trials=f"{report.trials:,}",
        failures=", ".join(
            f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(report.failures.items())
        ),
    )


def _said(estimate: Estimate | None) -> str:
    return figures.estimate_text(estimate) if estimate else "–"


def _quality(report: CellReport) -> str:
    if report.quality_delta is None:
        return "–"
    text = f"{figures.percent(report.quality_delta.value)} of {report.quality_delta.n}"
    if report.quality_worse and report.quality_better:
        worse, better = (figures.percent(one.value) for one in (report.quality_worse, report.quality_better))
        text += f": {worse} worse, {better} better"
    return text


def _drift(report: CellReport) -> str:
    if report.drift is None or report.drift.state == "level":
        return ""
    way = "more" if report.drift.state == "risen" else "less"
    return f"shifts {way} often than its baseline of {figures.percent(report.drift.baseline)}"
