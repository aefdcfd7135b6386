"""Reports of cells for tests, made from figures by their names in the API."""

from dataclasses import fields, replace

from evenkeel.core.cells import (
    CellCounts,
    CellEstimates,
    CellReport,
    Detection,
    Estimate,
    JudgeEstimates,
    RollupEstimates,
)

PARTS = {
    "counts": CellCounts,
    "estimates": CellEstimates,
    "judge": JudgeEstimates,
    "detection": Detection,
}
API_NAMES = {"noise": "judge_noise"}
ROLLED = RollupEstimates(
    trials=40,
    content_delta=Estimate(0.25, 0.1, 0.4, 40),
    quality_delta=None,
    quality_worse=None,
    quality_better=None,
    robustness=Estimate(0.9, 0.8, 0.95, 40),
    noise_floor=Estimate(0.05, 0.01, 0.2, 40),
    excess=Estimate(-0.05, -0.1, 0.1, 40),
)


def cell_report(key, scorer="judge", trials=0, effective=0, **figures):
    """A report with these figures, whatever part of it holds them."""
    return with_figures(CellReport(key, scorer, CellCounts(trials, effective)), **figures)


def with_figures(report, **figures):
    """The report with other figures."""
    for part, kind in PARTS.items():
        names = {API_NAMES.get(field.name, field.name): field.name for field in fields(kind)}
        own = {names[name]: figures.pop(name) for name in names.keys() & figures.keys()}
        if own:
            report = replace(report, **{part: replace(getattr(report, part), **own)})
    return replace(report, **figures)
