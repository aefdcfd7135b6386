"""Calibration on the public goldens of WorFBench, degraded by rule."""

from __future__ import annotations

import gzip
import json
from datetime import date
from random import Random

import pytest

from evenkeel.experiments.calibrate.calibrate import calibrate
from evenkeel.experiments.calibrate.degrade import SEVERITIES
from evenkeel.experiments.calibrate.degrade.workflow import REORDERED, compressed, missing
from evenkeel.experiments.calibrate.score_table import FailureMode, MetricFacts, Scored, score_table
from evenkeel.metrics.workflow.alignment import ExactText
from evenkeel.metrics.workflow.chain import chain_f1
from evenkeel.metrics.workflow.graph import graph_f1
from evenkeel.metrics.workflow.tau import kendall_tau
from evenkeel.metrics.workflow.wording import workflow_bleu
from evenkeel.metrics.workflow.workflow import workflow
from tests.conftest import SHARED_DATA

FACTS = (
    MetricFacts("chain_f1", 1, "structural"),
    MetricFacts("graph_f1", 1, "structural"),
    MetricFacts("bleu", 1, "lexical"),
    MetricFacts("tau", 1, "order"),
)
DEGRADATIONS = {
    FailureMode.MISSING: missing("last"),
    FailureMode.COMPRESSED: compressed(),
    FailureMode.REORDERED: REORDERED,
}


def _workflow(row):
    size = len(row["nodes"])
    return workflow(row["nodes"], [(a - 1, b - 1) for a, b in row["edges"] if a >= 1 and b <= size])


@pytest.fixture(scope="module")
def table():
    """Scores of the first 300 chains of five to twelve steps under three degradations."""
    path = SHARED_DATA / "worfbench" / "worfbench_gold.jsonl.gz"
    if not path.is_file():
        pytest.skip("SKIPPED LOUDLY: the public goldens of WorFBench are not beside the checkout")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        goldens = [_workflow(row) for row in map(json.loads, lines) if 5 <= len(row["nodes"]) <= 12]
    rows = []
    for number, gold in enumerate([gold for gold in goldens if gold.linear][:300]):
        for mode, degradation in DEGRADATIONS.items():
            for severity in SEVERITIES:
                worse = degradation.apply(gold, severity, Random(f"{number} {mode} {severity}"))
                both = gold, worse, ExactText().align(gold, worse)
                scores = {
                    "chain_f1": chain_f1(*both).f1,
                    "graph_f1": graph_f1(*both).f1,
                    "bleu": workflow_bleu(gold, worse),
                    "tau": kendall_tau(*both).weighted,
                }
                scores = {name: score for name, score in scores.items() if score is not None}
                rows.append(Scored(f"g{number}", mode, severity, 1 - severity, scores))
    return score_table(rows, FACTS)


def calibrated(table, seed):
    return calibrate(
        table,
        source="WorFBench",
        calibrated_on=date(2026, 1, 2),
        encoder=None,
        seed=seed,
        rng=Random(seed),
        resamples=200,
    )


@pytest.mark.shared_data
def test_order_is_watched_by_the_metric_of_order(table):
    """Reordered steps go to τ, in every resample; no primary watches two modes."""
    modes = calibrated(table, 1).modes
    assert {mode.mode: mode.primary.family for mode in modes}[FailureMode.REORDERED] == "order"
    assert len({mode.primary.family for mode in modes}) == 3
    assert all(mode.primary.stability > 0.9 for mode in modes)


@pytest.mark.shared_data
def test_thresholds_of_half_of_the_goldens_hold_on_the_other_half(table):
    """False alerts and misses on goldens not seen lie in their intervals, over ten splits."""
    rng = Random(4)
    inside, trials = 0, 0
    names = [facts.name for facts in FACTS]
    for seed in range(10):
        goldens = list(table.goldens)
        rng.shuffle(goldens)
        half, other = table.only(goldens[:150]), table.only(goldens[150:])
        for mode in calibrated(half, seed).modes:
            limit = mode.primary.threshold
            column = names.index(mode.primary.metric)
            mild = other.scores[:, other.place(mode.mode, 0.1), column]
            moderate = other.scores[:, other.place(mode.mode, 0.3), column]
            for share, stated in (
                ((mild < limit.value).mean(), limit.false_alerts),
                ((moderate >= limit.value).mean(), limit.misses),
            ):
                trials += 1
                inside += stated.lower <= share <= stated.upper
    assert trials == 60
    assert inside >= 52, inside
