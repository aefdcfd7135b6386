"""The report for machines: everything as JSON, each line of each table as CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from evenkeel import __version__
from evenkeel.core.text import harmless, well_formed
from evenkeel.experiments.report import sentences
from evenkeel.experiments.report.sides import COMPARED
from evenkeel.experiments.report.tables import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.cells import Estimate
    from evenkeel.experiments.report.findings import Report

SCHEMA: Final = 1
_MEASURES: Final = (*MEASURES, "quality_worse", "quality_better", "mean_of_categories")
_PARTS: Final = ("value", "lower", "upper", "n")


def document(report: Report) -> str:
    """Everything as JSON: ratios in [0, 1], times in Unix seconds."""
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "evenkeel": __version__,
        "store": report.store,
        "made_at": report.made_at,
        "since": report.period.since,
        "until": report.period.until,
        "route": report.route,
        "confidence": round(1 - report.rules.alpha, 12),
        "min_trials": report.rules.min_trials,
        "exchanges": report.exchanges,
        "trials": report.trials,
        "scorers": report.scorers,
        "first_at": report.first_at,
        "last_at": report.last_at,
        "title": sentences.title(report),
        "headline": sentences.headline(report),
        "summary": sentences.summary(report),
        "overall": asdict(report.tables.whole) if report.tables.whole else None,
        "tables": {table.key: [asdict(line) for line in table.lines] for table in report.tables.all},
        "change": _change(report),
        "alerts": [asdict(alert) for alert in report.alerts],
        "changes": [asdict(change) for change in report.changes],
        "judges": [asdict(judge) for judge in report.judges],
        "not_measured": _gaps(report),
        "spend": {
            "routes": {route: asdict(cost) for route, cost in report.costs.items()},
            "days": [{"day": _day(day), **asdict(cost)} for day, cost in report.days.items()],
        },
    }
    return well_formed(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def csv_lines(report: Report) -> Iterator[str]:
    """A head, and a line for each line of each table; nothing stands for what was not measured."""
    heads = [name if part == "value" else f"{name}_{part}" for name in _MEASURES for part in _PARTS]
    yield _row(("table", "route", "model", "name", "trials", "exchanges", *heads))
    for table in report.tables.all:
        for line in table.lines:
            yield _row((
                table.key, line.route, line.model, line.name, line.trials,
                "" if line.exchanges is None else line.exchanges,
                *(cell for name in _MEASURES for cell in _estimate(getattr(line, name))),
            ))  # fmt: skip


def change_lines(report: Report) -> Iterator[str]:
    """A head, and a line for each measure of each line before and after the change; none without one."""
    if report.change is None:
        return
    sides = [f"{side}_{part}" if part != "value" else side for side in ("before", "after") for part in _PARTS]
    yield _row(("table", "name", "measure", *sides, "difference", "difference_lower", "difference_upper"))
    for table in report.change.tables:
        for line in table.lines:
            for name in COMPARED:
                moved = line.differences[name]
                yield _row((
                    table.key, line.name, name,
                    *_estimate(getattr(line.before, name)), *_estimate(getattr(line.after, name)),
                    *(("", "", "") if moved is None else (moved.value, moved.lower, moved.upper)),
                ))  # fmt: skip


def _change(report: Report) -> dict[str, Any] | None:
    if report.change is None:
        return None
    return {
        "report": asdict(report.change.report),
        "tables": {table.key: [asdict(line) for line in table.lines] for table in report.change.tables},
    }


def _gaps(report: Report) -> dict[str, Any]:
    gaps = report.gaps
    return {
        "failures": gaps.failures,
        "quality_failures": gaps.unscored,
        "too_few_trials": [
            {"route": line.route, "model": line.model, "name": line.name, "trials": line.trials}
            for line in gaps.thin
        ],
        "since_the_service_started": {
            "routes": [asdict(flow) for flow in gaps.flows],
            "not_applicable": [asdict(one) for one in gaps.untried],
        },
        "notes": gaps.notes,
    }


def _estimate(found: Estimate | None) -> tuple[object, ...]:
    return ("", "", "", "") if found is None else (found.value, found.lower, found.upper, found.n)


def _day(number: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=number)).isoformat()


def _row(cells: Sequence[object]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerow(
        harmless(well_formed(cell)) if isinstance(cell, str) else cell for cell in cells
    )
    return written.getvalue()
