"""Overview: does anything need attention, and where?"""

from __future__ import annotations

from typing import Final

from grafana import scales, variables
from grafana.board import Board, Section, Shelf, shelf
from grafana.panels import Column, Query, lines, matrix, number, rows, words_of
from grafana.promql import CELL, PLACE, highest, increase, rate, recent, series, share

_WORDS: Final = words_of("overview")

_ROUTE: Final = 'route=~"$route"'
_OPEN: Final = "route, slot"
_ALERTS: Final = 'alertname=~"Evenkeel.*", alertname!="EvenkeelIncidentAcknowledged"'


def _of_incidents(name: str) -> str:
    return highest(f"evenkeel_incident_{name}", _ROUTE, by=_OPEN)


_said = highest("evenkeel_incident_open", _ROUTE, by=f"{_OPEN}, change, effect, severity, acknowledged")

INCIDENTS: Final = rows(
    _WORDS["open_incidents"],
    {
        "route": "Route",
        "slot": "Slot",
        "effect": "Answers",
        "change": "After a change of",
        "severity": "Severity",
        "acknowledged": "Acknowledged",
    },
    (
        Column(
            f"(time() - {_of_incidents('opened_timestamp_seconds')}) * on ({_OPEN}) group_right () {_said}",
            "Open for",
            "s",
            width=90,
            decimals=0,
        ),
        Column(
            f"100 * {_of_incidents('above_noise_ratio')} * on ({_OPEN}) group_right () {_said}",
            "Points above noise",
            "none",
            width=140,
            decimals=0,
        ),
        Column(
            f"100 * {_of_incidents('above_noise_lower_ratio')} * on ({_OPEN}) group_right () {_said}",
            "at least",
            "none",
            width=75,
            decimals=0,
        ),
        Column(
            f"100 * {_of_incidents('limit_ratio')} * on ({_OPEN}) group_right () {_said}",
            "Limit",
            "none",
            width=65,
            decimals=0,
        ),
    ),
    sort_by="Open for",
    link="/incidents",
)

ALERTS: Final = rows(
    _WORDS["alerts"],
    {
        "alertname": "Alert",
        "severity": "Severity",
        "alertstate": "State",
        "route": "Route",
    },
    (
        Column(
            f"count by (alertname, severity, alertstate, route) ({series('ALERTS', _ALERTS)})",
            "Number",
            "none",
            width=75,
        ),
    ),
    sort_by="Severity",
    ascending=True,
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

_rated = highest("evenkeel_last_score_timestamp_seconds", _ROUTE, by=PLACE)


def _now(name: str) -> str:
    """Of each route and model that was rated in the shown time."""
    return recent(highest(f"evenkeel_{name}", _ROUTE, by=PLACE), _rated, PLACE)


_covered = share(
    increase("evenkeel_exchanges_scored_total", _ROUTE), increase("evenkeel_proxy_requests_total", _ROUTE)
)
_rated_at = highest("evenkeel_last_score_timestamp_seconds", _ROUTE, by="route")

_NUMBERS: Final = shelf(
    4,
    number(
        _WORDS["incidents"],
        f"count({highest('evenkeel_incident_open', _ROUTE, by=_OPEN)}) or vector(0)",
        "none",
        scales.ANY_IS_WRONG,
    ),
    number(
        _WORDS["most_points_above_noise"],
        f"100 * max({_now('above_noise_ratio')})",
        "none",
        scales.POINTS,
        decimals=1,
        trend=True,
    ),
    number(_WORDS["latest_rating"], f"time() - min({_rated_at})", "s", scales.STALE_S, decimals=0),
    number(_WORDS["coverage"], f"clamp_max({_covered}, 1)", "percentunit", decimals=1),
    number(_WORDS["requests"], rate("evenkeel_proxy_requests_total", _ROUTE), "reqps", trend=True),
    number(
        _WORDS["lowest_robustness"],
        f"min({_now('robustness_ratio')})",
        "percentunit",
        scales.ROBUSTNESS,
        decimals=1,
        trend=True,
    ),
)

_cells = highest("evenkeel_cell_above_noise_ratio", _ROUTE, by=CELL)

_HEATMAP: Final = matrix(
    _WORDS["points_above_noise_by_rewording_route_and_model"],
    Query(
        f'label_join(100 * ({_cells} and on ({PLACE}) ({_rated} > time() - $__range_s)), "place", " · ",'
        ' "route", "model")'
    ),
    row="perturbation",
    column="place",
    unit="none",
    scale=scales.POINTS,
    row_title="Rewording",
)

_PLACES: Final = rows(
    _WORDS["routes_and_models"],
    {"route": "Route", "model": "Model"},
    (
        Column(
            f"100 * {_now('above_noise_ratio')}",
            "Points above noise",
            "none",
            scale=scales.POINTS,
            decimals=1,
        ),
        Column(f"100 * {_now('above_noise_lower_ratio')}", "at least", "none", decimals=1),
        Column(f"100 * {_now('above_noise_upper_ratio')}", "at most", "none", decimals=1),
        Column(_now("above_noise_observations"), "Exchanges", "locale", decimals=0),
        Column(_now("noise_floor_ratio"), "Noise floor", decimals=1),
        Column(_now("quality_worse_ratio"), "Worse, of the shifted", decimals=1),
        Column(_now("robustness_ratio"), "Robustness", scale=scales.ROBUSTNESS, decimals=1),
    ),
    sort_by="Points above noise",
    link="/routes/${__data.fields.Route:percentencode}",
)

_TREND: Final = lines(
    _WORDS["points_above_noise_over_time"],
    Query(f"100 * {highest('evenkeel_above_noise_ratio', _ROUTE, by=PLACE)}", "{{route}} · {{model}}"),
    "none",
    limit=scales.POINTS,
    lowest=None,
)

OVERVIEW: Final = Board(
    uid="evenkeel-overview",
    title="evenkeel: overview",
    description="Whether answers hold when a question is reworded: where they do not, and since when.",
    sections=(
        Section(
            (
                _NUMBERS,
                shelf(8, INCIDENTS, _TREND),
                shelf(14, _HEATMAP),
                shelf(9, _PLACES),
            )
        ),
        Section((Shelf(9, ((14, ALERTS), (10, BURN))),), "Alerts and objective", collapsed=True),
    ),
    narrowed_by=(variables.routes(),),
    marks=(_ROUTE,),
)
"""Start here."""
