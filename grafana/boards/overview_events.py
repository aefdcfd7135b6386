"""What happened: alerts, changes, cells that left their baseline, budget burned."""

from __future__ import annotations

from typing import Final

from grafana import scales
from grafana.panels import Column, Query, Words, lines, rows
from grafana.promql import CELL, highest, series

_ROUTE: Final = 'route=~"$route"'
CELL_LINK: Final = (
    "/?route=${__data.fields.Route:percentencode}"
    "&perturbation=${__data.fields.Perturbation:percentencode}#verdicts"
)
_LAST_500: Final = 'window="500"'
_SHOWN_ALERTS: Final = 'alertname=~"Evenkeel.*"'
ALERTS: Final = rows(
    Words(
        "Alerts",
        "Alerts of deploy/prometheus/rules that are pending or firing, newest state. "
        "Each has a runbook of its name in docs/runbooks.",
        "none pending or firing",
        runbook="README",
    ),
    {
        "alertname": "Alert",
        "severity": "Severity",
        "alertstate": "State",
        "route": "Route",
        "perturbation": "Perturbation",
    },
    (
        Column(
            Query(
                "count by (alertname, severity, alertstate, route, perturbation) "
                f"({series('ALERTS', _SHOWN_ALERTS)})"
            ),
            "Number",
            "none",
            width=75,
        ),
    ),
    sort_by="Severity",
    ascending=True,
)

CHANGES: Final = rows(
    Words(
        "Latest changes",
        "The latest changes of each route, their likely cause, and whether answers got worse with them.",
        "no change so far",
        runbook="EvenkeelChangeRegression",
        console="/changes",
    ),
    {"route": "Route", "cause": "Likely cause", "change": "Change"},
    (
        Column(
            Query(
                f"time() - {highest('evenkeel_change_timestamp_seconds', _ROUTE, by='route, change, cause')}"
            ),
            "Ago",
            "s",
        ),
        Column(
            Query(highest("evenkeel_change_regression", _ROUTE, by="route, change, cause")),
            "Worse",
            "none",
            scale=scales.ANY_IS_WRONG,
            width=90,
            words={0: "not so far", 1: "yes"},
        ),
    ),
    sort_by="Ago",
    ascending=True,
    link="/changes/${__data.fields.Change:percentencode}",
)

_drifted = highest("evenkeel_drift_alert", _ROUTE, by=f"{CELL}, direction")

DRIFT: Final = rows(
    Words(
        "Left their baseline",
        "Cells whose rate of shifted answers has risen or fallen from the cell's own baseline, by "
        "the evidence.",
        "none has",
        runbook="EvenkeelDrift",
    ),
    {"route": "Route", "model": "Model", "perturbation": "Perturbation", "direction": "Direction"},
    (
        Column(
            Query(
                f"{highest('evenkeel_window_content_delta', _ROUTE, _LAST_500, by=CELL)}"
                f" * on ({CELL}) group_right () ({_drifted} == 1)"
            ),
            "Shifted, last 500",
            width=130,
            decimals=0,
        ),
    ),
    link=CELL_LINK,
)

BURN: Final = lines(
    Words(
        "Robustness budget",
        "How many times as fast as the objective allows trials change in quality, by route and over "
        "two windows. "
        "From 5 on the fast alert fires, from 2.5 the slow one. From the rules of deploy/prometheus.",
        "too few trials, or the rules of deploy/prometheus are not loaded",
        runbook="EvenkeelRobustnessBurnFast",
    ),
    tuple(
        Query(
            f"{highest(f'evenkeel:quality_shifts:ratio{window}', _ROUTE, by='job, route')}"
            f" / on (job, route) {highest('evenkeel:robustness_budget:ratio', _ROUTE, by='job, route')}",
            f"{{{{route}}}}, {window}",
        )
        for window in ("1h", "6h")
    ),
    "none",
    limit=scales.BURN,
)
