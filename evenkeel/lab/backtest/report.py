"""Findings of a backtest, for people and for programs: a document with plots, and JSON.

`docs/backtest.md` describes the JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import evenkeel.shadow.perturbations  # noqa: F401 - registers the labels of rewordings
from evenkeel.core import rewordings
from evenkeel.core.cells import CellReport, Estimate
from evenkeel.core.figures import count, date_and_time, number, percent, points_text
from evenkeel.core.verdict import BASELINE
from evenkeel.lab.charts import Area, Axis, Curve, Mark, Rule, plot
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.estimate import CONDITION
from evenkeel.monitor.notify import event_json, summary
from evenkeel.release.kit.document import (
    Column,
    Document,
    FigureForm,
    Paragraph,
    Picture,
    ReportSection,
    Table,
)
from evenkeel.release.kit.renderings import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.cells import CellKey
    from evenkeel.lab.backtest.run import Backtest, RouteChange, SettingsVariant
    from evenkeel.lab.charts import Plot
    from evenkeel.monitor.fold import MonitorSettings
    from evenkeel.release.kit.document import Value
    from evenkeel.stores.monitor_state import AlertEvent

# A terminal shows the first ones; all are in the JSON.
_SHOWN_ALERTS: Final = 40
_SHOWN_CELLS: Final = 60
# Plots of hundreds of cells would make a page of megabytes.
_DRAWN_CELLS: Final = 24
_TICKS: Final = 4


def as_json(backtests: Sequence[Backtest], source: str) -> dict[str, Any]:
    """Everything about the first variant, and of each one how often it alerted.

    Args:
        backtests: What `sweep` returns.
        source: Where the log is.
    """
    first = backtests[0]
    return {
        "source": source,
        "settings": _settings(first.variant),
        "trials": first.trials,
        "first_at": first.first_at,
        "last_at": first.last_at,
        "trials_between_alerts": first.trials_between_alerts,
        "alerts": [_alert(event) for event in first.alerts],
        "cells": [_cell(report) for report in first.cells],
        "changes": [_change(change) for change in first.changes],
        "variants": [_variant(each) for each in backtests],
    }


def _settings(variant: SettingsVariant) -> dict[str, Any]:
    return {
        **plain(variant.settings),
        "sample": variant.share,
        "only": list(variant.only),
        "routes": list(variant.routes),
    }


def _variant(backtest: Backtest) -> dict[str, Any]:
    return {
        "settings": _settings(backtest.variant),
        "trials": backtest.trials,
        "alerts": len(backtest.raised),
        "cells_with_alerts": len(_alerting(backtest)),
        "first_alert": _alert(backtest.raised[0]) if backtest.raised else None,
        "trials_between_alerts": backtest.trials_between_alerts,
    }


def _place(key: CellKey) -> dict[str, str]:
    return {"route": key.route, "model": key.model, "perturbation": key.perturbation}


def _alert(event: AlertEvent) -> dict[str, Any]:
    raw: dict[str, Any] = plain(event_json(event))
    return {"time": raw.pop("at"), "trial": raw.pop("offset"), **raw}


def _change(change: RouteChange) -> dict[str, Any]:
    raw: dict[str, Any] = plain(change.mark)
    return {"time": raw.pop("at"), "trial": raw.pop("offset"), "route": change.route, **raw}


def _figures(report: CellReport) -> dict[str, Any]:
    estimates = {}
    for name, value in report.flat().items():
        if isinstance(value, Estimate):
            estimates[name] = plain(value)
    counts = report.counts
    return {"trials": counts.trials, "effective": counts.effective, "estimates": estimates}


def _cell(report: CellReport) -> dict[str, Any]:
    return {
        **_place(report.key),
        **_figures(report),
        "current": plain(report.current),
        "failures": report.counts.failures,
        "standing": report.standing,
        "more_trials": report.more_trials,
        "segment": plain(report.segment),
        "state": _state(report),
        "alert": report.detection.alert,
        "over": list(report.detection.over),
        "limits": plain(report.detection.limits),
        "blind": list(report.detection.blind),
        "evidence_log10": report.detection.evidence_log10,
        "drift": plain(report.detection.drift),
    }


def _state(report: CellReport) -> str:
    drift = report.detection.drift.state if report.detection.drift else "no baseline"
    moved = drift if drift in {"risen", "fallen"} else ""
    words = ("alert" if report.detection.alert else "", moved, "blind" if report.is_blind else "")
    words_used = []
    for word in words:
        if word:
            words_used.append(word)
    return ", ".join(words_used) or ("quiet" if report.detection.drift else drift)


def _standing(report: CellReport) -> str:
    """Say what is known of a cell's limit, and whether it has left its baseline."""
    drift = report.detection.drift
    words = [] if report.key.perturbation == BASELINE else [report.standing_words]
    worst = report.segment
    if worst is not None and (worst.over or worst.excess.lower > report.detection.threshold):
        words.append(
            f"worst {worst.name}: {points_text(worst.excess, 0)} points in {count(worst.trials, 'trial')}"
        )
    if drift is not None and drift.state in {"risen", "fallen"}:
        words.append(f"{drift.state} since the baseline")
    return ", ".join(words) or "–"


def document(backtests: Sequence[Backtest], source: str) -> Document:
    """The report: alerts, changes and cells of the first variant, a table of all, and a plot of each cell."""
    first = backtests[0]
    sections = [
        *([ReportSection("Variants", (_variants(backtests),))] if len(backtests) > 1 else []),
        ReportSection("Alerts", tuple(_alerts(first))),
        ReportSection("Changes", (_changes(first),)),
        ReportSection("Cells", tuple(_cells(first))),
        *_pictures(first),
    ]
    return Document(
        title=f"Backtest of {source}",
        kind="backtest",
        sections=tuple(section for section in sections if section.blocks),
        headline=_headline(first),
        summary=tuple(_summary(first)),
        footer="Alerts are those that the monitor would have raised under these settings.",
    )


def _headline(backtest: Backtest) -> str:
    if not backtest.trials:
        return "No trials: nothing in the log belongs to this variant."
    span = f"{date_and_time(backtest.first_at)} to {date_and_time(backtest.last_at)}"
    alerts = count(len(backtest.raised), "alert")
    trials, cells = count(backtest.trials, "trial"), count(len(backtest.cells), "cell")
    return f"{alerts} in {trials} of {cells}, {span}."


def _summary(backtest: Backtest) -> Iterator[str]:
    settings = backtest.variant.settings
    yield (
        f"Limit {number(100 * settings.threshold, 1)} points above noise, tolerance of drift "
        f"{percent(settings.drift_tolerance)}; false alarms at most once in "
        f"{number(settings.mean_trials_between_false_alarms)} trials of all cells, {CONDITION}."
    )
    if backtest.variant.share < 1:
        yield f"Of the exchanges, {percent(backtest.variant.share)} were taken."
    between = backtest.trials_between_alerts
    if between is not None:
        yield f"One alert in {count(round(between), 'trial')}."


def _alerting(backtest: Backtest) -> set[tuple[str, str, str]]:
    return {(alert.route, alert.model, alert.perturbation) for alert in backtest.raised}


def _variants(backtests: Sequence[Backtest]) -> Table:
    names = _labels([each.variant for each in backtests])
    rows: list[tuple[Value, ...]] = []
    for name, each in zip(names, backtests, strict=True):
        first = each.raised[0] if each.raised else None
        rows.append(
            (
                name,
                each.trials,
                len(each.raised),
                len(_alerting(each)),
                first.offset if first else None,
                date_and_time(first.at) if first else "–",
                each.trials_between_alerts,
            )
        )
    columns = (
        Column("variant"),
        Column("trials", FigureForm.NUMBER),
        Column("alerts", FigureForm.NUMBER),
        Column("cells with alerts", FigureForm.NUMBER),
        Column("first at trial", FigureForm.NUMBER),
        Column("first on"),
        Column("trials between alerts", FigureForm.NUMBER),
    )
    return Table(columns, tuple(rows))


def _labels(variants: Sequence[SettingsVariant]) -> list[str]:

    def named(variant: SettingsVariant) -> dict[str, str]:
        settings: MonitorSettings = variant.settings
        return {
            "perturbations": ", ".join(variant.only) or "all perturbations",
            "share": f"{percent(variant.share)} of exchanges",
            "limit": f"limit {percent(settings.threshold, 1)}",
            "length": f"{number(settings.mean_trials_between_false_alarms)} trials between false alarms",
            "tolerance": f"tolerance {percent(settings.drift_tolerance, 1)}",
        }

    names = [named(variant) for variant in variants]
    varying = []
    for part in names[0]:
        if len({name[part] for name in names}) > 1:
            varying.append(part)
    labels = []
    for name in names:
        labels.append("; ".join(name[part] for part in varying))
    return labels


def _alerts(backtest: Backtest) -> Iterator[Table | Paragraph]:
    if not backtest.alerts:
        yield Paragraph("No alerts.")
        return
    rows: list[tuple[Value, ...]] = []
    for alert in backtest.alerts[:_SHOWN_ALERTS]:
        rows.append((date_and_time(alert.at), alert.offset, alert.kind, summary(alert)))
    columns = (
        Column("time"),
        Column("trial", FigureForm.NUMBER),
        Column("what"),
        Column("summary", wide=True),
    )
    yield Table(columns, tuple(rows))
    more = len(backtest.alerts) - len(rows)
    if more:
        yield Paragraph(f"{number(more)} more are in the JSON.", tone="quiet")


def _changes(backtest: Backtest) -> Table | Paragraph:
    if not backtest.changes:
        return Paragraph("No changes were noticed.")
    rows: list[tuple[Value, ...]] = []
    for route, mark in backtest.changes:
        values = " → ".join(kinds.values_of(mark))
        rows.append((date_and_time(mark.at), mark.offset, route, kinds.NAMES[mark.kind], values))
    columns = (
        Column("time"),
        Column("trial", FigureForm.NUMBER),
        Column("route"),
        Column("what"),
        Column("before and after", wide=True),
    )
    return Table(columns, tuple(rows))


def _cells(backtest: Backtest) -> Iterator[Table | Paragraph]:
    shown = _notable(backtest)[:_SHOWN_CELLS]
    controls = {}
    for cell in backtest.cells:
        if cell.key.perturbation == BASELINE:
            controls[cell.key.route, cell.key.model] = cell.current.robustness
    rows: list[tuple[Value, ...]] = []
    for cell in shown:
        now = cell.current
        of_control = controls.get((cell.key.route, cell.key.model))
        figures = now.content_delta, now.excess, now.robustness, of_control
        rows.append((_name(cell.key, backtest), now.trials, *figures, _standing(cell)))
    columns = (
        Column("cell"),
        Column("trials", FigureForm.NUMBER),
        Column("content delta", FigureForm.PERCENT),
        Column("points above noise", FigureForm.SIGNED_POINTS),
        Column("robustness", FigureForm.POINTS),
        Column("control's", FigureForm.POINTS),
        Column("limit"),
    )
    if rows:
        yield Table(columns, tuple(rows))
        yield Paragraph(
            "Figures since the last change of the route, or of all trials where too few came since, as the "
            "console shows them.",
            tone="quiet",
        )
    more = len(backtest.cells) - len(rows)
    if more:
        yield Paragraph(f"{count(more, 'quieter cell')} of those there are in the JSON.", tone="quiet")


def _notable(backtest: Backtest) -> list[CellReport]:
    alerting = _alerting(backtest)
    return sorted(
        backtest.cells, key=lambda cell: (cell.key.parts not in alerting, -cell.counts.trials, cell.key.parts)
    )


def _name(key: CellKey, backtest: Backtest) -> str:
    """The cell without what all cells have in common."""
    routes = {cell.key.route for cell in backtest.cells}
    models = {cell.key.model for cell in backtest.cells}
    parts = (
        rewordings.label(key.perturbation),
        f"on {key.route}" if len(routes) > 1 else "",
        f"({key.model})" if len(models) > 1 else "",
    )
    return " ".join(filter(None, parts))


def _pictures(backtest: Backtest) -> Iterator[ReportSection]:
    drawn = []
    for cell in _notable(backtest)[:_DRAWN_CELLS]:
        if picture := _picture(cell, backtest):
            drawn.append(picture)
    if drawn:
        yield ReportSection(
            "Rates over the log",
            tuple(drawn),
            about="Content delta with its interval, by the number of the trial in the log.",
            on=frozenset(("html",)),
        )


def _picture(cell: CellReport, backtest: Backtest) -> Picture | None:
    points = []
    for snapshot in backtest.snapshots:
        for report in snapshot.cells:
            if report.key == cell.key and report.estimates.content_delta is not None:
                points.append((snapshot.trial, report))
    if len(points) <= 1:
        return None
    return Picture(
        _drawn(points, cell, backtest),
        caption=f"{_name(cell.key, backtest)}.",
        keys=(("s0", "content delta"), ("judge", "noise floor"), ("limit", "alert"), ("s1", "change")),
    )


def _drawn(points: list[tuple[int, CellReport]], cell: CellReport, backtest: Backtest) -> Plot:
    deltas, floor = [], []
    for trial, report in points:
        if report.estimates.content_delta:
            deltas.append((trial, report.estimates.content_delta))
        if report.noise_floor and report.estimates.excess:
            floor.append((trial, report.noise_floor))
    lower = [(float(trial), delta.lower) for trial, delta in deltas]
    upper = [(float(trial), delta.upper) for trial, delta in deltas]
    first, last = points[0][0], points[-1][0]
    marks = []
    for alert in backtest.raised:
        if (alert.route, alert.model, alert.perturbation) == cell.key.parts:
            marks.append(("limit", alert.offset))
    for change in backtest.changes:
        if change.route == cell.key.route:
            marks.append(("s1", change.mark.offset))
    top = min(1.0, max(value for _, value in upper) * 1.1 + 0.01)
    step = (last - first) / _TICKS
    return plot(
        f"Content delta of {cell.key.perturbation}",
        Axis(first, last, [round(first + step * offset) for offset in range(_TICKS + 1)]),
        Axis(0.0, top, [top * offset / _TICKS for offset in range(_TICKS + 1)], percent=True),
        curves=[
            Curve("s0", tuple(Mark(trial, delta.value) for trial, delta in deltas), dotted=False),
            Curve("judge", tuple(Mark(trial, noise.value) for trial, noise in floor), dotted=False),
        ],
        areas=[Area("s0", (*lower, *reversed(upper)))],
        rules=[Rule(kind, at, at, at) for kind, at in marks if first <= at <= last],
    )
