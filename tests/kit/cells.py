"""Reports of cells for tests, made from figures by their names in the API."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from evenkeel.core.cells import (
    CellCounts,
    CellEstimates,
    CellKey,
    CellReport,
    Detection,
    JudgeEstimates,
)

PARTS = {
    "counts": CellCounts,
    "estimates": CellEstimates,
    "judge": JudgeEstimates,
    "detection": Detection,
}
API_NAMES = {"noise": "judge_noise"}


def cell_report(
    key: CellKey, scorer: str = "judge", trials: int = 0, effective: int = 0, **figures: Any
) -> CellReport:
    """A report with these figures, whatever part of it holds them."""
    return with_figures(CellReport(key, scorer, CellCounts(trials, effective)), **figures)


def with_figures(report: CellReport, **figures: Any) -> CellReport:
    """The report with other figures."""
    for part, kind in PARTS.items():
        names = {API_NAMES.get(field.name, field.name): field.name for field in fields(kind)}
        own = {names[name]: figures.pop(name) for name in names.keys() & figures.keys()}
        if own:
            report = replace(report, **{part: replace(getattr(report, part), **own)})
    return replace(report, **figures)
