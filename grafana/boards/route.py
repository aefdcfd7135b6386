"""One route and model: what shifts its answers, how sure that is, and what a change did to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana import scales, variables
from grafana.board import Board, Section, shelf
from grafana.panels import Band, Column, Query, areas, bands, bars, lines, number, rows, words_of
from grafana.promql import RATE, highest, increase

if TYPE_CHECKING:
    from grafana_foundation_sdk.models import dashboard

_WORDS: Final = words_of("route")

_ROUTE: Final = 'route="$route"'
_HERE: Final = (_ROUTE, 'model="$model"')


def _now(name: str) -> str:
    return f"max({highest(f'evenkeel_{name}', *_HERE, by='route')})"


def _band(name: str, legend: str, colour: str) -> Band:
    value, lower, upper = (_now(f"{name}{end}_ratio") for end in ("", "_lower", "_upper"))
    return Band(Query(value, legend), lower, upper, colour)


_NUMBERS: Final = shelf(
    4,
    number(
        _WORDS["points_above_noise"],
        f"100 * {_now('above_noise_ratio')}",
        "none",
        scales.POINTS,
        decimals=1,
        trend=True,
    ),
    number(_WORDS["at_least"], f"100 * {_now('above_noise_lower_ratio')}", "none", decimals=1),
    number(_WORDS["at_most"], f"100 * {_now('above_noise_upper_ratio')}", "none", decimals=1),
    number(_WORDS["exchanges"], _now("above_noise_observations"), "locale", decimals=0),
    number(_WORDS["noise_floor"], _now("noise_floor_ratio"), "percentunit", decimals=1, trend=True),
    number(
        _WORDS["open_incidents"],
        f"max({highest('evenkeel_route_incidents', _ROUTE, by='route')})",
        "none",
        scales.ANY_IS_WRONG,
    ),
)

_ABOVE: Final = bands(
    _WORDS["above_noise_with_its_interval"],
    (_band("above_noise", "above noise", "blue"),),
    limits=(Query(_now("above_noise_limit_ratio"), "limit"),),
    lowest=None,
    top=None,
)

_SHIFTED: Final = bands(
    _WORDS["shifted_answers_against_noise"],
    (_band("content_delta", "perturbed", "orange"), _band("noise_floor", "control", "#8e8e8e")),
)

_ROBUSTNESS: Final = bands(
    _WORDS["robustness_with_its_interval"], (_band("robustness", "robustness", "green"),)
)


def _kinds(name: str, pattern: str, shown: str) -> dashboard.Panel:
    """Points above noise under the kinds of a pattern, worst first; its group `shown` names the bar."""
    found = highest(
        "evenkeel_cell_above_noise_ratio", *_HERE, f'perturbation=~"{pattern}"', by="perturbation"
    )
    query = Query(
        f'sort_desc(label_replace(100 * {found}, "shown", "$1", "perturbation", "{shown}"))', "{{shown}}"
    )
    return bars(_WORDS[name], query, "none", scales.POINTS, decimals=0)


_WORDING: Final = _kinds("wording_and_order", "(general|positional|compound)[.].+", "(.+)")
_FORMATS: Final = _kinds("formats", "format[.].+", "format[.](.+)")
_LANGUAGES: Final = _kinds("languages", "(multi|cross)lingual[.].+", "[a-z]+[.](.+)")

CHANGED: Final = rows(
    _WORDS["changes_seen"],
    {"kind": "Kind"},
    (
        Column(
            f"time() - {highest('evenkeel_last_change_timestamp_seconds', _ROUTE, by='kind')}",
            "Last, ago",
            "s",
            decimals=0,
        ),
        Column(
            highest("evenkeel_changes_total", _ROUTE, by="kind"), "So far", "locale", width=80, decimals=0
        ),
    ),
    sort_by="Last, ago",
    ascending=True,
)

GOLDENS: Final = rows(
    _WORDS["goldens_asked_again"],
    {"metric": "Metric"},
    (
        Column(
            highest("evenkeel_goldens_score_ratio", _ROUTE, by="metric"),
            "Mean score",
            scale=scales.ROBUSTNESS,
            width=100,
            decimals=0,
        ),
    ),
    sort_by="Mean score",
    ascending=True,
    link="/goldens",
)

SILENT: Final = lines(
    _WORDS["evidence_of_a_silent_change"],
    Query(
        highest("evenkeel_silent_evidence_ratio", _ROUTE, by="requested_model, detector"),
        "{{requested_model}}: {{detector}}",
    ),
    "percentunit",
    limit=scales.EVIDENCE,
)

EVIDENCE: Final = lines(
    _WORDS["evidence_by_rewording"],
    Query(
        f"topk(8, {highest('evenkeel_cell_evidence_ratio', *_HERE, by='perturbation')})", "{{perturbation}}"
    ),
    "percentunit",
    limit=scales.EVIDENCE,
)

RATINGS: Final = areas(
    _WORDS["ratings"],
    "none",
    increase("evenkeel_ratings_total", *_HERE, 'trial="perturbed"', by="rating", over=RATE),
    "rating {{rating}}",
)

FAILURES: Final = areas(
    _WORDS["trials_without_a_rating"],
    "none",
    increase("evenkeel_rating_failures_total", _ROUTE, by="reason", over=RATE),
    "{{reason}}",
)

ROUTE: Final = Board(
    uid="evenkeel-route",
    title="evenkeel: route",
    description="One route and model: points above noise with interval, noise floor, rewordings, changes.",
    sections=(
        Section(
            (
                _NUMBERS,
                shelf(9, _ABOVE, _SHIFTED, _ROBUSTNESS),
                shelf(9, _WORDING, _FORMATS, _LANGUAGES),
            )
        ),
        Section((shelf(8, CHANGED, GOLDENS, SILENT),), "Changes"),
        Section((shelf(8, EVIDENCE, RATINGS, FAILURES),), "Evidence and ratings", collapsed=True),
    ),
    narrowed_by=(variables.routes(one=True), variables.model()),
    marks=(_ROUTE,),
)
"""After the overview."""
