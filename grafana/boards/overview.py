"""Overview: does anything need attention, and where?"""

from __future__ import annotations

from typing import Final

from grafana import scales, variables
from grafana.board import Board, Section, Shelf, shelf
from grafana.panels import Column, Query, lines, matrix, number, rows, words_of
from grafana.promql import CELL, PLACE, highest, increase, rate, recent, series, share

_WORDS: Final = words_of("overview")

_ROUTE: Final = 'route=~"$route"'
CELL_LINK: Final = (
    "/trials?route=${__data.fields.Route:percentencode}"
    "&perturbation=${__data.fields.Perturbation:percentencode}"
)
_LAST_500: Final = 'window="500"'
_SHOWN_ALERTS: Final = 'alertname=~"Evenkeel.*"'
ALERTS: Final = rows(
    _WORDS["alerts"],
    {
        "alertname": "Alert",
        "severity": "Severity",
        "alertstate": "State",
        "route": "Route",
        "perturbation": "Perturbation",
    },
    (
        Column(
            "count by (alertname, severity, alertstate, route, perturbation) "
            f"({series('ALERTS', _SHOWN_ALERTS)})",
            "Number",
            "none",
            width=75,
        ),
    ),
    sort_by="Severity",
    ascending=True,
)

_CHANGE: Final = "route, change, cause"
_EFFECT: Final = highest("evenkeel_change_effect", _ROUTE, by=f"{_CHANGE}, effect")

CHANGES: Final = rows(
    _WORDS["latest_changes"],
    {"route": "Route", "effect": "Answers", "cause": "Coincided with", "change": "Change"},
    (
        Column(
            f"time() - {highest('evenkeel_change_timestamp_seconds', _ROUTE, by=_CHANGE)}"
            f" * on ({_CHANGE}) group_right () ({_EFFECT} == 1)",
            "Ago",
            "s",
        ),
    ),
    sort_by="Ago",
    ascending=True,
    link="/changes/${__data.fields.Change:percentencode}",
)

_drifted = highest("evenkeel_drift_alert", _ROUTE, by=f"{CELL}, direction")

DRIFT: Final = rows(
    _WORDS["left_their_baseline"],
    {"route": "Route", "model": "Model", "perturbation": "Perturbation", "direction": "Direction"},
    (
        Column(
            f"{highest('evenkeel_window_content_delta', _ROUTE, _LAST_500, by=CELL)}"
            f" * on ({CELL}) group_right () ({_drifted} == 1)",
            "Shifted, last 500",
            width=130,
            decimals=0,
        ),
    ),
    link=CELL_LINK,
)

BURN: Final = lines(
    _WORDS["robustness_budget"],
    tuple(
        Query(
            f"{highest(f'evenkeel:quality_shifts:ratio{window}', _ROUTE, by='job, route')}"
            f" / on (job, route) {highest('evenkeel:robustness_budget:ratio', _ROUTE, by='job, route')}",
            f"{{{{route}}}}, {window}",
        )
        for window in ("6h", "3d")
    ),
    "none",
    limit=scales.BURN,
)


_WINDOW: Final = 'window="$window"'
_BY_ROUTE: Final = 'level="route"'
_BY_MODEL: Final = 'level="model"'
_BY_CATEGORY: Final = 'level="category"'

_rated = highest("evenkeel_last_score_timestamp_seconds", _ROUTE, by=CELL)
_up = highest("evenkeel_alert", _ROUTE, by=CELL)
_used = (
    f"{highest('evenkeel_excess_evidence_log10', _ROUTE, by=CELL)}"
    f" / {highest('evenkeel_excess_alarm_log10', _ROUTE, by=CELL)}"
)
# Cells that move together are raised before each has all the evidence: those in alert come first.
_worst = f"topk(15, {recent(f'{_used} + on ({CELL}) 10 * {_up}', _rated, CELL)})"


def _of_the_worst(expr: str) -> str:
    return f"{expr} and on ({CELL}) {_worst}"


def _window(name: str) -> str:
    return highest(f"evenkeel_window_{name}", _ROUTE, _WINDOW, by=CELL)


_robustness = highest("evenkeel_rollup_robustness_score", _BY_ROUTE, _ROUTE, _WINDOW, by="route")
_changed_at = highest("evenkeel_last_change_timestamp_seconds", _ROUTE, by="route, kind")
_covered = share(
    increase("evenkeel_exchanges_scored_total", _ROUTE), increase("evenkeel_proxy_requests_total", _ROUTE)
)
_rated_at = highest("evenkeel_rollup_last_score_timestamp_seconds", _BY_ROUTE, _ROUTE, by="route")


def _named_place(expr: str) -> str:
    return f'label_join({expr}, "place", " · ", "route", "model")'


_NUMBERS: Final = shelf(
    4,
    number(_WORDS["cells_in_alert"], f"sum({_up})", "none", scales.ANY_IS_WRONG),
    number(
        _WORDS["lowest_robustness_of_a_route"],
        f"min({_robustness})",
        "percentunit",
        scales.ROBUSTNESS,
        decimals=1,
        trend=True,
    ),
    number(_WORDS["latest_rating"], f"time() - min({_rated_at})", "s", scales.STALE_S, decimals=0),
    number(_WORDS["changes"], f"count({_changed_at} > time() - $__range_s)", "none", decimals=0),
    number(_WORDS["coverage"], f"clamp_max({_covered}, 1)", "percentunit", decimals=1),
    number(_WORDS["requests"], rate("evenkeel_proxy_requests_total", _ROUTE), "reqps", trend=True),
)

_HEATMAP: Final = matrix(
    _WORDS["robustness_by_perturbation_route_and_model"],
    Query(_named_place(recent(_window("robustness_score"), _rated, CELL))),
    row="perturbation",
    column="place",
    unit="percentunit",
    scale=scales.ROBUSTNESS,
    row_title="Perturbation",
)

_WORST: Final = rows(
    _WORDS["in_alert_or_closest_to_it"],
    {"route": "Route", "model": "Model", "perturbation": "Perturbation"},
    (
        Column(
            _of_the_worst(_up),
            "Alert",
            "none",
            scale=scales.ANY_IS_WRONG,
            width=60,
            words={0: "no", 1: "yes"},
        ),
        Column(_of_the_worst(_used), "Evidence", scale=scales.EVIDENCE, width=85, decimals=0),
        Column(_of_the_worst(_window("excess")), "Above noise", width=75, decimals=0),
        Column(_of_the_worst(_window("excess_lower")), "at least", width=75, decimals=0),
        Column(_of_the_worst(highest("evenkeel_excess_threshold", _ROUTE, by=CELL)), "Tolerated", width=80),
    ),
    sort_by="Evidence",
    link=CELL_LINK,
)

_TREND: Final = lines(
    _WORDS["robustness_by_route"],
    Query(highest("evenkeel_rollup_robustness_score", _BY_ROUTE, _ROUTE, _WINDOW, by="route"), "{{route}}"),
    "percentunit",
    limit=scales.ROBUSTNESS,
    lowest=0.5,
    top=1,
)

_EXCESS: Final = lines(
    _WORDS["above_noise_by_category"],
    Query(highest("evenkeel_rollup_excess", _BY_CATEGORY, _ROUTE, _WINDOW, by="category"), "{{category}}"),
    "percentunit",
    lowest=None,
)

_CATEGORIES: Final = matrix(
    _WORDS["robustness_by_category_route_and_model"],
    Query(
        _named_place(
            highest(
                "evenkeel_rollup_robustness_score", _BY_CATEGORY, _ROUTE, _WINDOW, by=f"{PLACE}, category"
            )
        )
    ),
    row="category",
    column="place",
    unit="percentunit",
    scale=scales.ROBUSTNESS,
    row_title="Category",
)

_QUALITY: Final = rows(
    _WORDS["how_quality_changed"],
    {"route": "Route", "model": "Model"},
    tuple(
        Column(highest(f"evenkeel_rollup_{name}", _BY_MODEL, _ROUTE, _WINDOW, by=PLACE), title, decimals=1)
        for name, title in (
            ("content_delta", "Shifted"),
            ("quality_worse", "of those worse"),
            ("quality_better", "of those better"),
            ("noise_floor", "Noise floor"),
        )
    ),
)

OVERVIEW: Final = Board(
    uid="evenkeel-overview",
    title="evenkeel: overview",
    description=(
        "Whether answers still hold when the question is reworded: where they do not, since when, and why."
    ),
    sections=(
        Section(
            (
                _NUMBERS,
                shelf(16, _HEATMAP),
                Shelf(12, ((13, _WORST), (11, ALERTS))),
                shelf(10, _TREND, _EXCESS, BURN),
            )
        ),
        Section((shelf(7, CHANGES, DRIFT),), "Changes and drift"),
        Section((Shelf(8, ((14, _CATEGORIES), (10, _QUALITY))),), "By category and quality", collapsed=True),
    ),
    narrowed_by=(variables.routes(), variables.window()),
    marks=(_ROUTE,),
)
"""Start here."""
