"""Judge health: is the yardstick itself straight, and what does it cost?"""

from __future__ import annotations

from typing import Final

from grafana import scales, variables
from grafana.board import Board, Section, shelf
from grafana.panels import Column, Query, areas, bars, lines, number, rows, words_of
from grafana.promql import PLACE, RATE, highest, increase, rate, series, share

_WORDS: Final = words_of("judge")

_ROUTE: Final = 'route=~"$route"'
_BY_JUDGE: Final = 'stage="judge"'


def _mean(name: str) -> str:
    """Over routes and models, weighted by the number of observations."""
    value = highest(f"evenkeel_{name}_ratio", _ROUTE, by=PLACE)
    observed = highest(f"evenkeel_{name}_observations", _ROUTE, by=PLACE)
    return f"sum({value} * {observed}) / sum({observed})"


_decided = "evenkeel_ratings_decided_total"
_asked = share(increase(_decided, _ROUTE, _BY_JUDGE), increase(_decided, _ROUTE))
_failed = increase("evenkeel_rating_failures_total", _ROUTE)
_rated = increase("evenkeel_ratings_total", _ROUTE)

_NUMBERS: Final = shelf(
    4,
    number(_WORDS["judge"], f"min({series('evenkeel_judge_up')})", "none", scales.UP),
    number(
        _WORDS["agreement_with_heuristics"],
        _mean("cascade_agreement"),
        "percentunit",
        scales.CONSISTENCY,
        decimals=1,
    ),
    number(
        _WORDS["swap_consistency"],
        _mean("judge_swap_consistency"),
        "percentunit",
        scales.CONSISTENCY,
        decimals=1,
    ),
    number(_WORDS["judge_noise"], _mean("judge_noise"), "percentunit", scales.NOISE, decimals=1),
    number(_WORDS["calls_saved"], f"1 - {_asked}", "percentunit", decimals=0),
    number(
        _WORDS["trials_without_a_rating"],
        share(_failed, f"({_failed} + {_rated})"),
        "percentunit",
        scales.FAILED,
        decimals=1,
    ),
)


def _check(name: str, title: str, scale: scales.Scale | None = None) -> Column:
    return Column(highest(f"evenkeel_{name}_ratio", _ROUTE, by=PLACE), title, scale=scale, decimals=1)


def _check_count(name: str, title: str) -> Column:
    return Column(highest(f"evenkeel_{name}", _ROUTE, by=PLACE), title, "locale", decimals=0)


_CHECKS: Final = rows(
    _WORDS["the_judge_s_checks_by_route_and_model"],
    {"route": "Route", "model": "Model"},
    (
        _check("cascade_agreement", "Agreement", scales.CONSISTENCY),
        _check("cascade_agreement_lower", "agreement, at least"),
        _check_count("cascade_agreement_observations", "audited"),
        _check("judge_swap_consistency", "Swapped", scales.CONSISTENCY),
        _check("judge_swap_consistency_lower", "swapped, at least"),
        _check("judge_noise", "Noise", scales.NOISE),
        _check("judge_noise_upper", "noise, at most"),
        _check_count("judge_noise_observations", "judged again"),
        _check("judge_group_agreement", "Grouped", scales.CONSISTENCY),
        _check("judge_group_agreement_lower", "grouped, at least"),
    ),
)

_CONSISTENCY: Final = lines(
    _WORDS["consistency_over_time"],
    (
        Query(_mean("cascade_agreement"), "agreement with heuristics"),
        Query(_mean("judge_swap_consistency"), "same with sides swapped"),
        Query(f"1 - {_mean('judge_noise')}", "same when judged again"),
        Query(_mean("judge_group_agreement"), "same alone as in a group"),
    ),
    "percentunit",
    limit=scales.CONSISTENCY,
    lowest=0.5,
    top=1,
)

_DECIDED: Final = areas(
    _WORDS["who_decided_the_ratings"],
    "cps",
    rate("evenkeel_ratings_decided_total", _ROUTE, by="stage"),
    "{{stage}}",
)

_RECHECKS: Final = areas(
    _WORDS["pairs_judged_again"], "cps", rate("evenkeel_judge_rechecks_total", by="outcome"), "{{outcome}}"
)

_FAILURES: Final = areas(
    _WORDS["trials_without_a_rating_by_reason"],
    "none",
    increase("evenkeel_rating_failures_total", _ROUTE, by="reason", over=RATE),
    "{{reason}}",
)

_COST: Final = areas(
    _WORDS["cost_by_route"],
    "currencyUSD",
    f"3600 * {rate('evenkeel_spend_usd_total', _ROUTE, by='route')}",
    "{{route}}",
)

_COST_PER_TRIAL: Final = bars(
    _WORDS["cost_of_a_rated_trial"],
    Query(
        f"sort_desc({increase('evenkeel_spend_usd_total', _ROUTE, by='route')}"
        f" / ({increase('evenkeel_ratings_total', _ROUTE, by='route')} > 0))",
        "{{route}}",
    ),
    "currencyUSD",
    scales.NEUTRAL,
    decimals=5,
)

_EMBEDDINGS: Final = lines(
    _WORDS["ratings_without_embeddings"],
    Query(rate("evenkeel_embeddings_failures_total", by="reason"), "{{reason}}"),
    "cps",
)

JUDGE: Final = Board(
    uid="evenkeel-judge",
    title="evenkeel: judge health",
    description="Whether the judge can be believed: agreement, consistency, noise; what it saves and costs.",
    sections=(
        Section(
            (
                _NUMBERS,
                shelf(9, _CONSISTENCY, _DECIDED),
                shelf(8, _CHECKS),
                shelf(8, _FAILURES, _COST, _COST_PER_TRIAL),
            )
        ),
        Section(
            (shelf(8, _RECHECKS, _EMBEDDINGS),),
            "Details",
            collapsed=True,
        ),
    ),
    narrowed_by=(variables.routes(),),
    marks=(_ROUTE,),
)
"""When an alert is doubted."""
