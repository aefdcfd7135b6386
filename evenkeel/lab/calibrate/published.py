"""Tables of WorkflowPerturb beside those of the same degradations of other goldens.

Source: Kanda and others, "WorkflowPerturb", Tables 2 to 5. Its 4,973 goldens are not public as a whole, its
encoder is all-mpnet-base-v2, and models made its variants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.release.kit.document import Column, ReportSection, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.lab.calibrate.calibration import Calibration
    from evenkeel.lab.calibrate.sensitivity import Trajectory


class MeanAndDeviation(NamedTuple):
    """A mean over goldens and the standard deviation among them."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{_figure(self.mean)} ± {_figure(self.deviation)}"


class PaperFigures(NamedTuple):
    """The paper's figures of one metric: spreads at 10, 30 and 50 % by mode, and its Table 5."""

    name: str
    missing: tuple[MeanAndDeviation, ...]
    compressed: tuple[MeanAndDeviation, ...]
    reworded: tuple[MeanAndDeviation, ...]
    sensitivity: tuple[float, float, float]
    """Sensitivities in the order of `TABLES`."""


TABLES: Final[Mapping[FailureMode, str]] = {
    FailureMode.MISSING: "Table 2: missing steps",
    FailureMode.COMPRESSED: "Table 3: compressed steps",
    FailureMode.REWORDED: "Table 4: description changes",
}
MODES: Final = frozenset(TABLES)
LEAST_STEPS: Final = 5
"""Steps of a golden workflow in the paper, at least."""


def _row(*figures: float) -> tuple[MeanAndDeviation, ...]:
    return tuple(map(MeanAndDeviation, figures[::2], figures[1::2]))


_GRAPH: Final = PaperFigures(
    "Graph F1",
    _row(0.90, 0.06, 0.76, 0.06, 0.61, 0.06),
    _row(0.86, 0.10, 0.66, 0.15, 0.45, 0.18),
    _row(0.97, 0.08, 0.91, 0.12, 0.85, 0.16),
    (0.72, 1.04, 0.29),
)
_TAU: Final = PaperFigures(
    "Kendall's τ",
    _row(0.81, 0.09, 0.61, 0.08, 0.44, 0.07),
    _row(0.74, 0.14, 0.46, 0.16, 0.17, 0.19),
    _row(1.00, 0.05, 0.99, 0.08, 0.99, 0.09),
    (0.94, 1.42, 0.02),
)
PAPER: Final[Mapping[str, PaperFigures]] = {
    "workflow_graph_f1": _GRAPH,
    "workflow_chain_f1": PaperFigures(
        "Chain F1",
        _row(0.90, 0.07, 0.76, 0.06, 0.61, 0.06),
        _row(0.86, 0.10, 0.66, 0.15, 0.44, 0.18),
        _row(0.96, 0.08, 0.91, 0.12, 0.85, 0.16),
        (0.72, 1.04, 0.29),
    ),
    "workflow_bleu": PaperFigures(
        "BLEU",
        _row(0.79, 0.13, 0.52, 0.14, 0.29, 0.13),
        _row(0.87, 0.14, 0.71, 0.17, 0.51, 0.20),
        _row(0.85, 0.12, 0.66, 0.14, 0.50, 0.15),
        (1.23, 0.88, 0.88),
    ),
    "workflow_gleu": PaperFigures(
        "GLEU",
        _row(0.80, 0.11, 0.58, 0.11, 0.42, 0.11),
        _row(0.86, 0.12, 0.70, 0.15, 0.53, 0.17),
        _row(0.86, 0.10, 0.67, 0.13, 0.52, 0.14),
        (0.96, 0.84, 0.84),
    ),
    "workflow_bert_score": PaperFigures(
        "BERTScore",
        _row(0.81, 0.26, 0.68, 0.28, 0.72, 0.30),
        _row(0.41, 0.26, 0.36, 0.25, 0.32, 0.24),
        _row(0.94, 0.20, 0.86, 0.21, 0.79, 0.21),
        (0.24, 0.23, 0.39),
    ),
    "workflow_tau_weighted": _TAU._replace(name="Kendall's τ by coverage"),
    "workflow_tau": _TAU._replace(name="Kendall's τ as printed"),
    "workflow_judge": PaperFigures(
        "LLM-as-Judge",
        _row(0.64, 0.21, 0.36, 0.08, 0.32, 0.10),
        _row(0.64, 0.22, 0.41, 0.13, 0.37, 0.10),
        _row(0.98, 0.08, 0.99, 0.07, 0.99, 0.06),
        (0.80, 0.70, -0.03),
    ),
}
"""Figures by our metric's name. Where the paper's text and tables define a metric differently we have both,
and they share the paper's row."""
ALERTS: Final[Mapping[FailureMode, float]] = {
    FailureMode.MISSING: 0.75,
    FailureMode.COMPRESSED: 0.65,
    FailureMode.REWORDED: 0.70,
}
"""Thresholds of the primary metrics, of Table 1."""
_MODELS: Final = ("workflow_bert_score", "workflow_judge")
METRICS: Final = tuple(name for name in PAPER if name not in _MODELS)
"""Metrics that need no model of their own."""


def sections(calibration: Calibration, ways: Sequence[Trajectory]) -> tuple[ReportSection, ...]:
    """Tables 1 to 5, the paper's figures beside the measured ones; "–" where nothing was measured.

    Args:
        calibration: of goldens degraded in the published way.
        ways: its trajectories.
    """
    by_mode = {(way.mode, way.metric): way for way in ways}
    modes = []
    for mode in TABLES:
        if calibration.of(mode) is not None:
            modes.append(mode)
    parts = []
    for mode in modes:
        parts.append(_spreads(mode, {name: by_mode.get((mode, name)) for name in PAPER}))
    return (_bundle(calibration, modes), *parts, _sensitivities(calibration, modes))


def _bundle(calibration: Calibration, modes: Sequence[FailureMode]) -> ReportSection:
    rows = []
    for mode in modes:
        result = calibration.of(mode)
        primary = result.primary if result else None
        placed = primary.threshold.value if primary and primary.threshold else None
        secondary = result.secondary.metric if result and result.secondary else "–"
        rows.append(
            (
                mode.value,
                primary.metric if primary else "–",
                secondary,
                _figure(ALERTS[mode]),
                _figure(placed),
            )
        )
    heads = ("failure mode", "primary", "secondary", "alert below, paper", "measured")
    return ReportSection("Table 1: bundle", (Table(tuple(map(Column, heads)), tuple(rows)),))


def _spreads(mode: FailureMode, ways: Mapping[str, Trajectory | None]) -> ReportSection:
    rows = []
    for name, paper in PAPER.items():
        way = ways[name]
        measured = (
            ()
            if way is None
            else (MeanAndDeviation(point.mean.value, point.deviation) for point in way.points)
        )
        rows.append((paper.name, _listed(getattr(paper, mode.value)), _listed(measured)))
    return ReportSection(
        TABLES[mode],
        (Table((Column("metric"), Column("paper"), Column("measured")), tuple(rows)),),
        about="Mean ± standard deviation at 10 / 30 / 50 %.",
    )


def _sensitivities(calibration: Calibration, modes: Sequence[FailureMode]) -> ReportSection:
    measured = {}
    for result in calibration.metrics:
        measured[result.name] = result.sensitivity
    order = list(TABLES)
    rows = []
    for name, paper in PAPER.items():
        ours = measured.get(name, {})
        of_paper = []
        for mode in modes:
            of_paper.append(paper.sensitivity[order.index(mode)])
        of_ours = []
        for mode in modes:
            of_ours.append(ours[mode].value if mode in ours else None)
        rows.append((paper.name, _listed(map(_figure, of_paper)), _listed(map(_figure, of_ours))))
    return ReportSection(
        "Table 5: sensitivity",
        (Table((Column("metric"), Column("paper"), Column("measured")), tuple(rows)),),
        about=f"Fall in mean score per unit of severity: {' / '.join(mode.value for mode in modes)}.",
    )


def _listed(figures: Iterable[MeanAndDeviation | str]) -> str:
    return " / ".join(map(str, figures)) or "–"


def _figure(value: float | None) -> str:
    # Adding 0.0 turns a rounded −0 into 0.
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
