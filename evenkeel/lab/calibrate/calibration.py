"""A calibration: what was found about the metrics on one set of goldens, and its file `calibration.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal

import yaml
from pydantic import TypeAdapter

from evenkeel.core.verdict import Failure  # noqa: TC001 - read by pydantic

SCHEMA: Final = 1


class FailureMode(StrEnum):
    """The way in which a candidate was made worse than its golden."""

    MISSING = "missing"
    COMPRESSED = "compressed"
    REWORDED = "reworded"
    REORDERED = "reordered"
    DUPLICATED = "duplicated"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class BootstrapFigure:
    """A figure with the ends of its interval and the number of goldens behind it."""

    value: float
    lower: float
    upper: float
    n: int


LimitedBy = Literal["false_alerts", "level", "band"]
"""The bound that holds a threshold: the stated false alerts, the stated level, or the band of mean scores."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of a threshold in the band between mild and moderate."""

    false_alerts: float = 0.1
    """Largest probability with which a new, mildly degraded candidate may fall below, in (0, 0.5]."""
    level: float | None = None
    """Flag from this degradation on: no threshold above the score 1 − level. None = as early as the
    false alerts allow."""
    mild: float = 0.1
    """Severity that must pass."""
    moderate: float = 0.3
    """Severity that must be flagged."""

    def __post_init__(self) -> None:
        if not 0 < self.false_alerts <= 0.5:  # noqa: PLR2004 - beyond it the band is left upwards
            raise ValueError(f"false_alerts must be in (0, 0.5], not {self.false_alerts}")
        if not 0 < self.mild < self.moderate <= 1:
            raise ValueError(f"mild {self.mild} must lie below moderate {self.moderate}, both in (0, 1]")
        if self.level is not None and not 0 < self.level < 1:
            raise ValueError(f"level must be in (0, 1), not {self.level}")


@dataclass(frozen=True, slots=True)
class Threshold:
    """A score below which a candidate is flagged, and what that costs."""

    value: float
    """A candidate is flagged if its score is lower."""
    lower: float
    """Ends of the interval for the threshold itself."""
    upper: float
    false_alerts: BootstrapFigure
    """Share of mild candidates flagged, on goldens that the threshold was not set on."""
    misses: BootstrapFigure
    """Share of moderate candidates not flagged, on such goldens."""
    mild_mean: float
    moderate_mean: float
    limited_by: LimitedBy
    """The bound that holds the threshold. "band": the mean mild score, or under a level the
    mean moderate one."""

    def __post_init__(self) -> None:
        if not self.lower <= self.value <= self.upper:
            raise ValueError(f"interval [{self.lower}, {self.upper}] does not hold {self.value}")


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """The goldens a calibration was made on."""

    source: str
    """Their source, in a line for people."""
    count: int
    sha256: str
    """Over the sorted ids, one a line."""
    clusters: int | None = None
    """Independent clusters that they form; None if nobody looked."""


@dataclass(frozen=True, slots=True)
class BertModel:
    """The model behind BERTScore, where it is not the encoder."""

    model: str | None = None
    """None = the encoder."""
    layer: int | None = None
    """Counted from 1; None = the authors' choice, or the last."""
    rescale: bool = False
    """True if unrelated sentences are at 0."""


@dataclass(frozen=True, slots=True)
class MetricResult:
    """Results about a metric."""

    name: str
    version: int
    family: str
    cost_usd: float
    time_ms: float
    sensitivity: dict[FailureMode, BootstrapFigure]
    """Fall in score per unit of severity; a mode in which it could not be measured is absent."""
    residual: dict[FailureMode, float]
    """Root mean square distance of the mean scores from the expected ones."""


@dataclass(frozen=True, slots=True)
class Role:
    """A metric's part in watching a mode."""

    metric: str
    family: str
    sensitivity: float
    """Mean sensitivity of the family."""
    specificity: float
    """Share of this mode in the family's reactions, in [0, 1]."""
    threshold: Threshold | None = None
    no_threshold: Failure | None = None
    """Why there is no threshold; None exactly if there is one."""

    def __post_init__(self) -> None:
        if (self.threshold is None) == (self.no_threshold is None):
            raise ValueError("give either threshold or no_threshold")


@dataclass(frozen=True, slots=True)
class ModeResult:
    """The metrics that watch a failure mode."""

    mode: FailureMode
    harmless: bool
    """True if such candidates are as good as their goldens: their expected score is 1 at every severity.
    A breach then says that something moved, not that it got worse."""
    primary: Role | None = None
    secondary: Role | None = None
    failure: Failure | None = None
    """Why there is no primary; None exactly if there is one."""

    def __post_init__(self) -> None:
        if (self.primary is None) == (self.failure is None):
            raise ValueError("give either primary or failure")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Sensitivities, roles and thresholds, and what they hold for."""

    schema_version: int
    calibrated_on: str
    """Date, YYYY-MM-DD."""
    goldens: GoldenSet
    encoder: str | None = None
    """Encoder of the embeddings that metrics use; scores under another one are other scores."""
    bert_score: BertModel | None = None
    """Behind BERTScore; None if it is the encoder as it is."""
    placement: Placement
    confidence: float
    resamples: int
    seed: int
    metrics: tuple[MetricResult, ...]
    modes: tuple[ModeResult, ...]

    def __post_init__(self) -> None:
        names = {metric.name for metric in self.metrics}
        for result in self.modes:
            for role in (result.primary, result.secondary):
                if role is not None and role.metric not in names:
                    raise ValueError(f"mode {result.mode}: metric {role.metric!r} is not among the metrics")

    def of(self, mode: FailureMode) -> ModeResult | None:
        """The result of a mode; None if it was not calibrated."""
        return next((result for result in self.modes if result.mode is mode), None)


_ADAPTER: Final = TypeAdapter(Calibration)


def calibration_as_json(calibration: Calibration) -> dict[str, Any]:
    """The calibration as values for JSON."""
    plain: dict[str, Any] = _ADAPTER.dump_python(calibration, mode="json", exclude_none=True)
    return plain


def calibration_to_yaml(calibration: Calibration) -> str:
    """The calibration as YAML; the same calibration gives the same bytes."""
    data = calibration_as_json(calibration)
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)
    return text
