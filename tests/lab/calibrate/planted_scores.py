"""Score tables with known means, deviations and distributions."""

from datetime import date
from math import sqrt
from statistics import NormalDist

from evenkeel.lab.calibrate.calibrate import calibrate
from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.published import PAPER
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


def published_rows(goldens=400):
    """Rows whose scores have the published means and deviations, spread as a normal distribution is."""
    deviates = [NormalDist().inv_cdf((i + 0.5) / goldens) for i in range(goldens)]
    size = sqrt(sum(each * each for each in deviates) / goldens)
    scores = {
        mode: [(facts.name, getattr(PAPER[facts.name], mode.value)) for facts in FACTS]
        for mode in (MISSING, COMPRESSED, REWORDED)
    }
    return [
        CandidateScores(
            f"golden-{i:05d}",
            mode,
            severity,
            1.0 if mode is REWORDED else 1 - severity,
            {name: ends[place].mean + ends[place].deviation * deviates[i] / size for name, ends in of_mode},
        )
        for mode, of_mode in scores.items()
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
            "seed": 9, "resamples": 100, **options,
        },
    )  # fmt: skip
