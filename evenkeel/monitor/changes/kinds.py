"""The kinds of change read from the verdict log, and those found by a statistical test."""

from __future__ import annotations

from typing import Final

MODEL: Final = "model"
"""The name that the endpoint returns."""
REQUESTED_MODEL: Final = "requested_model"
"""The name that requests ask for."""
FINGERPRINT: Final = "system_fingerprint"
"""Build of the model, as reported by the endpoint."""
PROMPT: Final = "prompt_version"
"""Version stated by the application, else the fingerprint of the learned template."""
PARAMETERS: Final = "parameters"
"""Request parameters besides the prompt: temperature, token limit, tools, response format."""
SETTINGS: Final = "settings"
"""Fingerprint of evenkeel's own settings."""
JUDGE: Final = "judge"
"""The judge's model, or the wording it rates under."""
TRAFFIC: Final = "traffic_mix"
"""Lengths, languages, tasks, or the share of template in the prompts."""
ANSWERS: Final = "answers"
"""Lengths of answers, or their similarity to each other by heuristics; no judge is involved."""
RATINGS: Final = "ratings"
"""A cell's share of shifted answers has left its baseline (`evenkeel.monitor.detect.drift`)."""
JUDGE_DRIFT: Final = "judge_drift"
"""The judge rates pairs otherwise that look alike to the heuristics."""
GOLDENS: Final = "goldens"
"""Replayed goldens are answered differently. Told from their replays, not from the log."""

TRAITS: Final = "traits"
"""Answers look different from before (`evenkeel.monitor.detect.traits`): a suspicion, never more."""
REFERENCES: Final = "references"
"""Reference prompts are answered differently than before (`evenkeel.monitor.detect.references`)."""

STATED: Final = (MODEL, REQUESTED_MODEL, FINGERPRINT, PROMPT, PARAMETERS, SETTINGS, JUDGE)
"""Values that stand in a verdict."""
TESTED: Final = (TRAFFIC, ANSWERS, RATINGS, JUDGE_DRIFT)
"""Shares that are compared with a reference."""
SILENT: Final = (TRAITS, REFERENCES)
"""Kinds that only statistical tests detect, because no verdict states them."""
KINDS: Final = (*STATED, *TESTED, *SILENT, GOLDENS)

NAMES: Final = {
    MODEL: "returned model",
    REQUESTED_MODEL: "requested model",
    FINGERPRINT: "system fingerprint",
    PROMPT: "prompt version",
    PARAMETERS: "request parameters",
    SETTINGS: "settings",
    JUDGE: "judge",
    TRAFFIC: "traffic mix",
    ANSWERS: "answers",
    RATINGS: "shifted answers",
    JUDGE_DRIFT: "ratings of the judge",
    TRAITS: "traits of answers",
    REFERENCES: "reference prompts",
    GOLDENS: "goldens",
}
"""Names for people."""
