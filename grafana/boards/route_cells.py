"""Every perturbation of a route and model, and the trials behind the estimates."""

from __future__ import annotations

from typing import Final

from grafana import scales
from grafana.panels import Column, Query, Words, lines, rows
from grafana.promql import RATE, highest, increase

_HERE: Final = ('route="$route"', 'model="$model"')
_WINDOW: Final = 'window="$window"'
_CELL_LINK: Final = (
    "/?route=${route:percentencode}&perturbation=${__data.fields.Perturbation:percentencode}#verdicts"
)


def _cell(name: str) -> str:
    return highest(f"evenkeel_window_{name}", *_HERE, _WINDOW, by="perturbation")


CELLS: Final = rows(
    Words(
        "All perturbations",
        "Over the chosen window; evidence since the alert last began to look. At 100 % a cell is raised "
        "on its own, cells that move together earlier.",
        "too few trials",
        runbook="EvenkeelRobustnessBreach",
    ),
    {"perturbation": "Perturbation"},
    (
        Column(Query(_cell("robustness_score")), "Robustness", scale=scales.ROBUSTNESS, decimals=0),
        Column(Query(_cell("content_delta")), "Shifted", decimals=0),
        Column(Query(_cell("content_delta_lower")), "at least", decimals=0),
        Column(Query(_cell("content_delta_upper")), "at most", decimals=0),
        Column(Query(_cell("excess")), "Excess", decimals=0),
        Column(Query(_cell("excess_lower")), "excess at least", decimals=0),
        Column(Query(_cell("excess_upper")), "excess at most", decimals=0),
        Column(
            Query(
                f"{highest('evenkeel_excess_evidence_log10', *_HERE, by='perturbation')}"
                f" / {highest('evenkeel_excess_alarm_log10', *_HERE, by='perturbation')}"
            ),
            "Evidence",
            scale=scales.EVIDENCE,
            decimals=0,
        ),
        Column(Query(_cell("content_delta_observations")), "Trials", "locale", decimals=0),
    ),
    sort_by="Robustness",
    ascending=True,
    link=_CELL_LINK,
)

DRIFT: Final = lines(
    Words(
        "Evidence of drift",
        "Evidence, in powers of ten, that the rate of shifted answers has left the cell's own baseline; "
        "the eight highest.",
        "no cell has a baseline yet",
        runbook="EvenkeelDrift",
    ),
    (
        Query(
            f"topk(8, {highest('evenkeel_drift_evidence_log10', *_HERE, by='perturbation')})",
            "{{perturbation}}",
        ),
    ),
    "none",
)

FAILURES: Final = lines(
    Words(
        "Trials without a rating",
        "Trials in each step of the graph that could not be scored, by reason. They are in no estimate.",
        "none failed in this time",
        runbook="EvenkeelVerdictsFailing",
    ),
    (
        Query(
            increase("evenkeel_verdict_failures_total", *_HERE, by="reason", over=RATE),
            "{{reason}}",
        ),
    ),
    "none",
    stacked=True,
)

RATINGS: Final = lines(
    Words(
        "Ratings",
        "Trials in each step of the graph by similarity rating: 3 = same content, 2 = some shifted, "
        "= other content.",
        "no trial rated",
    ),
    (
        Query(
            increase(
                "evenkeel_verdicts_total",
                *_HERE,
                'perturbation!="baseline.identical"',
                by="rating",
                over=RATE,
            ),
            "rating {{rating}}",
        ),
    ),
    "none",
    stacked=True,
)
