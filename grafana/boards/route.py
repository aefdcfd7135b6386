"""One route and model: what shifts its answers, how sure that is, and what a change did to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana import scales, variables
from grafana.board import Board, Section, Shelf, shelf
from grafana.panels import Band, Column, Query, areas, bands, bars, lines, number, rows, words_of
from grafana.promql import RATE, highest, increase, series

if TYPE_CHECKING:
    from grafana_foundation_sdk.models import dashboard

_WORDS: Final = words_of("route")

_ROUTE: Final = 'route="$route"'
_HERE: Final = (_ROUTE, 'model="$model"')
_WINDOW: Final = 'window="$window"'
_CELL_LINK: Final = (
    "/trials?route=${route:percentencode}&perturbation=${__data.fields.Perturbation:percentencode}"
)


def _cell(name: str, *matchers: str) -> str:
    return highest(f"evenkeel_window_{name}", *_HERE, _WINDOW, *matchers, by="perturbation")


def _cell_column(name: str, title: str) -> Column:
    return Column(_cell(name), title, decimals=0)


CELLS: Final = rows(
    _WORDS["all_perturbations"],
    {"perturbation": "Perturbation"},
    (
        Column(_cell("robustness_score"), "Robustness", scale=scales.ROBUSTNESS, decimals=0),
        _cell_column("content_delta", "Shifted"),
        _cell_column("content_delta_lower", "at least"),
        _cell_column("content_delta_upper", "at most"),
        _cell_column("excess", "Above noise"),
        _cell_column("excess_lower", "above noise at least"),
        _cell_column("excess_upper", "above noise at most"),
        Column(
            f"{highest('evenkeel_excess_evidence_log10', *_HERE, by='perturbation')}"
            f" / {highest('evenkeel_excess_alarm_log10', *_HERE, by='perturbation')}",
            "Evidence",
            scale=scales.EVIDENCE,
            decimals=0,
        ),
        Column(_cell("content_delta_observations"), "Trials", "locale", decimals=0),
    ),
    sort_by="Robustness",
    ascending=True,
    link=_CELL_LINK,
)

DRIFT: Final = lines(
    _WORDS["evidence_of_drift"],
    Query(
        f"topk(8, {highest('evenkeel_drift_evidence_log10', *_HERE, by='perturbation')})",
        "{{perturbation}}",
    ),
    "none",
)

_BY_TEST: Final = "requested_model, detector"

SILENT: Final = lines(
    _WORDS["evidence_of_a_silent_change"],
    Query(
        f"{highest('evenkeel_silent_evidence_log10', _ROUTE, by=_BY_TEST)}"
        f" / {highest('evenkeel_silent_alarm_log10', _ROUTE, by=_BY_TEST)}",
        "{{requested_model}}: {{detector}}",
    ),
    "percentunit",
    limit=scales.EVIDENCE,
)

FAILURES: Final = areas(
    _WORDS["trials_without_a_rating"],
    "none",
    increase("evenkeel_verdict_failures_total", *_HERE, by="reason", over=RATE),
    "{{reason}}",
)

RATINGS: Final = areas(
    _WORDS["ratings"],
    "none",
    increase(
        "evenkeel_verdicts_total",
        *_HERE,
        'perturbation!="baseline.identical"',
        by="rating",
        over=RATE,
    ),
    "rating {{rating}}",
)


_BY_ROUTE: Final = 'level="route"'
_MEASURES: Final = {
    "robustness_score": "Robustness",
    "content_delta": "Shifted",
    "noise_floor": "Noise floor",
    "excess": "Above noise",
}


def _measures(expr: str) -> str:
    """One series for each measure, from an expression with `NAME` in it."""
    return " or ".join(
        f'label_replace({expr.replace("NAME", name)}, "measure", "{title}", "", "")'
        for name, title in _MEASURES.items()
    )


def _level(name: str, window: str) -> str:
    over = f'window="{window}"'
    return f"max({highest(f'evenkeel_rollup_{name}', _BY_ROUTE, _ROUTE, over, by='route')})"


_since = _level("NAME", "since_change")
_n_all, _n_since = _level("NAME_observations", "all"), _level("NAME_observations", "since_change")
_before = f"({_level('NAME', 'all')} * {_n_all} - {_since} * {_n_since}) / ({_n_all} - {_n_since} > 0)"

_lowest, _highest = _level("NAME_lower", "since_change"), _level("NAME_upper", "since_change")
_moved = f"({_before} < bool {_lowest}) + ({_before} > bool {_highest})"

BEFORE_AFTER: Final = rows(
    _WORDS["before_and_since_the_last_change"],
    {"measure": "Measure"},
    (
        Column(_measures(_before), "Before", decimals=1),
        Column(_measures(_since), "Since", decimals=1),
        Column(_measures(_lowest), "at least", decimals=1),
        Column(_measures(_highest), "at most", decimals=1),
        Column(_measures(_moved), "Moved", "none", scale=scales.ANY_IS_A_LOOK, words={0: "no", 1: "yes"}),
        Column(_measures(_n_since), "Exchanges since", "locale", decimals=0),
    ),
)

KINDS: Final = rows(
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

# The label is the golden and its version; the console's pages are by golden.
_golden_score = (
    f"max by (golden, metric) (label_replace({series('evenkeel_golden_score', _ROUTE)},"
    ' "golden", "$1", "golden", "(.+)@[0-9]+"))'
)

GOLDENS: Final = rows(
    _WORDS["goldens_asked_again"],
    {"golden": "Golden", "metric": "Metric"},
    (Column(_golden_score, "Score", scale=scales.ROBUSTNESS, width=80, decimals=0),),
    sort_by="Score",
    ascending=True,
    link="/goldens/${__data.fields.Golden:percentencode}",
)


_BY_MODEL: Final = 'level="model"'
_ROLLED: Final = (_BY_MODEL, *_HERE, _WINDOW)
_rated_at = highest("evenkeel_rollup_last_score_timestamp_seconds", _BY_MODEL, *_HERE, by="route")


def _rolled(name: str) -> str:
    return f"max({highest(f'evenkeel_rollup_{name}', *_ROLLED, by='route')})"


def _band(name: str, legend: str, colour: str) -> Band:
    return Band(Query(_rolled(name), legend), _rolled(f"{name}_lower"), _rolled(f"{name}_upper"), colour)


_NUMBERS: Final = shelf(
    4,
    number(
        _WORDS["robustness"],
        _rolled("robustness_score"),
        "percentunit",
        scales.ROBUSTNESS,
        decimals=1,
        trend=True,
    ),
    number(
        _WORDS["cells_in_alert"],
        f"sum({highest('evenkeel_alert', *_HERE, by='perturbation')})",
        "none",
        scales.ANY_IS_WRONG,
    ),
    number(_WORDS["above_noise"], _rolled("excess"), "percentunit", decimals=1, trend=True),
    number(_WORDS["noise_floor"], _rolled("noise_floor"), "percentunit", decimals=1, trend=True),
    number(_WORDS["exchanges"], _rolled("robustness_score_observations"), "locale", decimals=0),
    number(_WORDS["latest_rating"], f"time() - max({_rated_at})", "s", scales.STALE_S, decimals=0),
)

_ROBUSTNESS: Final = bands(
    _WORDS["robustness_with_its_interval"], (_band("robustness_score", "robustness", "green"),)
)

_SHIFTED: Final = bands(
    _WORDS["shifted_answers_against_noise"],
    (_band("content_delta", "perturbed", "orange"), _band("noise_floor", "control", "#8e8e8e")),
)

_EXCESS: Final = bands(
    _WORDS["above_noise_with_its_interval"],
    (_band("excess", "above noise", "blue"),),
    limits=(Query(f"max({highest('evenkeel_excess_threshold', *_HERE, by='route')})", "tolerated"),),
    lowest=None,
    top=None,
)


def _kinds(name: str, pattern: str, shown: str) -> dashboard.Panel:
    """Robustness under the kinds of a pattern, worst first; `shown` says which group of it names the bar."""
    found = _cell("robustness_score", f'perturbation=~"{pattern}"')
    query = Query(f'sort(label_replace({found}, "shown", "$1", "perturbation", "{shown}"))', "{{shown}}")
    return bars(_WORDS[name], query, "percentunit", scales.ROBUSTNESS, top=1, decimals=0)


_FORMATS: Final = _kinds("formats", "format[.].+", "format[.](.+)")
_LANGUAGES: Final = _kinds("languages", "(multi|cross)lingual[.].+", "[a-z]+[.](.+)")
_WORDING: Final = _kinds("wording_and_order", "(general|positional|compound)[.].+", "(.+)")

ROUTE: Final = Board(
    uid="evenkeel-route",
    title="evenkeel: route",
    description=(
        "One route and model: noise and points above it with intervals, formats, languages, before and after."
    ),
    sections=(
        Section(
            (
                _NUMBERS,
                shelf(9, _ROBUSTNESS, _SHIFTED, _EXCESS),
                shelf(9, _WORDING, _FORMATS, _LANGUAGES),
            )
        ),
        Section((Shelf(8, ((12, BEFORE_AFTER), (6, KINDS), (6, GOLDENS))), shelf(7, SILENT)), "Changes"),
        Section(
            (shelf(14, CELLS), shelf(8, RATINGS, FAILURES, DRIFT)),
            "All perturbations, ratings and drift",
            collapsed=True,
        ),
    ),
    narrowed_by=(variables.routes(one=True), variables.model(), variables.window()),
    marks=(_ROUTE,),
)
"""After the overview."""
