"""Score tables with known means, deviations and distributions."""

from __future__ import annotations

from datetime import date
from math import sqrt
from random import Random
from statistics import NormalDist

from evenkeel.lab.calibrate.calibrate import calibrate
from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.score_table import CandidateScores, MetricFacts, score_table

MISSING, COMPRESSED, REWORDED = FailureMode.MISSING, FailureMode.COMPRESSED, FailureMode.REWORDED
SEVERITIES = (0.1, 0.3, 0.5)

FACTS = (
    MetricFacts("workflow_graph_f1", 1, "structural"),
    MetricFacts("workflow_chain_f1", 1, "structural"),
    MetricFacts("workflow_bleu", 1, "lexical"),
    MetricFacts("workflow_gleu", 1, "lexical"),
    MetricFacts("workflow_bert_score", 1, "semantic"),
    MetricFacts("workflow_tau_weighted", 1, "order"),
    MetricFacts("workflow_judge", 1, "judge", cost_usd=0.0075),
)

# Mean and standard deviation at 10, 30 and 50 %: WorkflowPerturb, tables 2, 3 and 4.
PUBLISHED_SCORES = {
    MISSING: {
        "workflow_graph_f1": ((0.90, 0.06), (0.76, 0.06), (0.61, 0.06)),
        "workflow_chain_f1": ((0.90, 0.07), (0.76, 0.06), (0.61, 0.06)),
        "workflow_bleu": ((0.79, 0.13), (0.52, 0.14), (0.29, 0.13)),
        "workflow_gleu": ((0.80, 0.11), (0.58, 0.11), (0.42, 0.11)),
        "workflow_bert_score": ((0.81, 0.26), (0.68, 0.28), (0.72, 0.30)),
        "workflow_tau_weighted": ((0.81, 0.09), (0.61, 0.08), (0.44, 0.07)),
        "workflow_judge": ((0.64, 0.21), (0.36, 0.08), (0.32, 0.10)),
    },
    COMPRESSED: {
        "workflow_graph_f1": ((0.86, 0.10), (0.66, 0.15), (0.45, 0.18)),
        "workflow_chain_f1": ((0.86, 0.10), (0.66, 0.15), (0.44, 0.18)),
        "workflow_bleu": ((0.87, 0.14), (0.71, 0.17), (0.51, 0.20)),
        "workflow_gleu": ((0.86, 0.12), (0.70, 0.15), (0.53, 0.17)),
        "workflow_bert_score": ((0.41, 0.26), (0.36, 0.25), (0.32, 0.24)),
        "workflow_tau_weighted": ((0.74, 0.14), (0.46, 0.16), (0.17, 0.19)),
        "workflow_judge": ((0.64, 0.22), (0.41, 0.13), (0.37, 0.10)),
    },
    REWORDED: {
        "workflow_graph_f1": ((0.97, 0.08), (0.91, 0.12), (0.85, 0.16)),
        "workflow_chain_f1": ((0.96, 0.08), (0.91, 0.12), (0.85, 0.16)),
        "workflow_bleu": ((0.85, 0.12), (0.66, 0.14), (0.50, 0.15)),
        "workflow_gleu": ((0.86, 0.10), (0.67, 0.13), (0.52, 0.14)),
        "workflow_bert_score": ((0.94, 0.20), (0.86, 0.21), (0.79, 0.21)),
        "workflow_tau_weighted": ((1.00, 0.05), (0.99, 0.08), (0.99, 0.09)),
        "workflow_judge": ((0.98, 0.08), (0.99, 0.07), (0.99, 0.06)),
    },
}

# Sensitivities: WorkflowPerturb, table 5, in the order of the modes above.
PUBLISHED_SENSITIVITIES = {
    "workflow_graph_f1": (0.72, 1.04, 0.29),
    "workflow_chain_f1": (0.72, 1.04, 0.29),
    "workflow_bleu": (1.23, 0.88, 0.88),
    "workflow_gleu": (0.96, 0.84, 0.84),
    "workflow_bert_score": (0.24, 0.23, 0.39),
    "workflow_tau_weighted": (0.94, 1.42, 0.02),
    "workflow_judge": (0.80, 0.70, -0.03),
}


def published_rows(goldens=400):
    """Rows whose scores have the published means and deviations, spread as a normal distribution is."""
    deviates = [NormalDist().inv_cdf((i + 0.5) / goldens) for i in range(goldens)]
    size = sqrt(sum(each * each for each in deviates) / goldens)
    return [
        CandidateScores(
            f"golden-{i:05d}",
            mode,
            severity,
            1.0 if mode is REWORDED else 1 - severity,
            {name: ends[place][0] + ends[place][1] * deviates[i] / size for name, ends in of_mode.items()},
        )
        for mode, of_mode in PUBLISHED_SCORES.items()
        for place, severity in enumerate(SEVERITIES)
        for i in range(goldens)
    ]


def planted_rows(goldens, rng):
    """Skewed, tied scores in [0, 1] whose spread between goldens is as large as that between conditions."""
    rows = []
    for i in range(goldens):
        steps = rng.randint(5, 20)
        skill = rng.betavariate(5, 2)
        for severity in SEVERITIES:
            kept = round(steps * (1 - severity)) / steps
            scores = {
                "workflow_graph_f1": max(0.0, kept - (rng.random() < 0.2) / steps),
                "workflow_bleu": min(1.0, max(0.0, kept * (0.7 + 0.3 * skill) + rng.gauss(0, 0.05))),
            }
            rows.append(CandidateScores(f"g{i:05d}", MISSING, severity, 1 - severity, scores))
    return rows


def calibrated(rows, facts, **options):
    """The calibration of some rows, from few resamples."""
    return calibrate(
        score_table(rows, facts),
        **{
            "source": "planted <workflows>", "calibrated_on": date(2026, 3, 4), "encoder": "small-encoder",
            "seed": 9, "rng": Random(9), "resamples": 100, **options,
        },
    )  # fmt: skip
