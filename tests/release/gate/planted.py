"""Goldens of a simulated model, and calibrations whose thresholds are known."""

from __future__ import annotations

import random

from evenkeel.release.calibration.calibration import (
    Calibration,
    Goldens,
    Measured,
    MetricResult,
    ModeResult,
    Placement,
    Role,
    Threshold,
)
from evenkeel.simulate import Message, SimulatedModel, make_case, summary_prompt


def planted_golden(seed):
    """A support case with the good answer of the simulated model, as a line of a file has it."""
    prompt = summary_prompt(make_case(seed))
    answer = SimulatedModel().answer([Message("user", prompt)], random.Random(0))
    return {"id": f"case-{seed}", "cluster": str(seed), "prompt": prompt, "answer": answer, "model": "in-use"}


def watched(mode, metric, limit, *, harmless=False):
    """A failure mode that one metric watches below a limit."""
    figure = Measured(0.1, 0.1, 0.1, 20)
    threshold = Threshold(limit, limit, limit, figure, figure, 0.95, 0.7, "false_alerts")
    return ModeResult(mode, harmless, Role(metric, "lexical", 1.0, 1.0, 1.0, threshold=threshold))


def planted_calibration(modes, versions, **more):
    """A calibration of some modes, by metrics in these versions, each with its family."""
    return Calibration(
        schema_version=1,
        calibrated_on="2031-05-17",
        goldens=Goldens("planted", 20, "0"),
        placement=Placement(),
        confidence=0.95,
        resamples=0,
        seed=0,
        metrics=tuple(
            MetricResult(name, version, family, 0.0, 0.1, {}, {}) for name, version, family in versions
        ),
        modes=tuple(modes),
        **more,
    )
