"""Colour scales: what is good, worth a look, or wrong, each with where its limits come from."""

from __future__ import annotations

from typing import Final, NamedTuple

from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
from grafana_foundation_sdk.models import dashboard

GOOD: Final = "green"
LOOK: Final = "yellow"
BAD: Final = "orange"
WRONG: Final = "red"
PLAIN: Final = "blue"
"""For what is neither good nor bad."""


class Step(NamedTuple):
    """A colour and the value from which it holds; None for the first."""

    start: float | None
    colour: str


class Scale(NamedTuple):
    """Colours by value, from low to high."""

    steps: tuple[Step, ...]

    def build(self) -> ThresholdsConfig:
        """For a panel."""
        return (
            ThresholdsConfig()
            .mode(dashboard.ThresholdsMode.ABSOLUTE)
            .steps([dashboard.Threshold(step.start, step.colour) for step in self.steps])
        )

    def as_json(self) -> dict[str, object]:
        """For an override of one column."""
        return {
            "mode": "absolute",
            "steps": [{"value": step.start, "color": step.colour} for step in self.steps],
        }


def rising(*starts: float, colours: tuple[str, ...] = (GOOD, LOOK, WRONG)) -> Scale:
    """More is worse: the last colours of `colours` from each start on."""
    return Scale(
        tuple(
            Step(start, colour)
            for start, colour in zip((None, *starts), colours[: len(starts) + 1], strict=True)
        )
    )


NEUTRAL: Final = Scale((Step(None, PLAIN),))
ROBUSTNESS: Final = Scale((Step(None, WRONG), Step(0.7, BAD), Step(0.8, LOOK), Step(0.9, GOOD)))
"""Green from the objective of `deploy/prometheus/rules/slo.yaml`; the bands of the console's heatmap."""
POINTS: Final = rising(5, 10)
"""Points above noise: red from the default of `alert.threshold`, 10 points."""
EVIDENCE: Final = rising(0.5, 1.0)
"""Evidence as a share of what raises the alert: red where the alert is up."""
CONSISTENCY: Final = Scale((Step(None, WRONG), Step(0.8, LOOK), Step(0.9, GOOD)))
"""Agreement of the judge with itself and the heuristics, as `deploy/prometheus/rules/judge.yaml` has it."""
NOISE: Final = rising(0.1, 0.15)
"""Of the judge: red where EvenkeelJudgeInconsistent fires."""
ANY_IS_WRONG: Final = rising(1e-9, colours=(GOOD, WRONG))
ANY_IS_A_LOOK: Final = rising(1e-9, colours=(GOOD, LOOK))
BUDGET: Final = rising(0.8, 1.0)
"""Share of the day's budget: yellow where EvenkeelBudgetNearlySpent fires, red where scoring pauses."""
WAITING_S: Final = rising(300, 900)
"""Age of the oldest exchange in the queue: red where EvenkeelPipelineStalled fires."""
STALE_S: Final = rising(1800, 3600)
"""Age of the latest rating: red where EvenkeelScoresStale fires."""
STANDING_S: Final = rising(30, 120)
"""Since the monitor's last step: red where EvenkeelMonitorStalled fires."""
ERRORS: Final = rising(0.01, 0.05)
"""Share of requests that failed."""
OVERHEAD_S: Final = rising(0.001, 0.005)
"""Time added to a request."""
LOST: Final = rising(1e-9, 0.01)
"""Share of the sample that is dropped: red where EvenkeelExchangesDropped fires."""
UP: Final = Scale((Step(None, WRONG), Step(1, GOOD)))
"""1 = up."""
BURN: Final = rising(1, 1.5, colours=(GOOD, LOOK, WRONG))
"""Of the robustness budget: red where EvenkeelObjectiveMissed fires."""
FAILED: Final = rising(0.05, 0.2)
"""Share of trials without a rating: red where EvenkeelVerdictsFailing fires."""
