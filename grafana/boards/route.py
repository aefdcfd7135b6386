"""One route and model: what shifts its answers, how sure that is, and what a change did to it."""

from __future__ import annotations

from typing import Final

from grafana import scales, variables
from grafana.board import Board, Section, Shelf
from grafana.boards.route_cells import CELLS, DRIFT, FAILURES, RATINGS
from grafana.boards.route_changes import BEFORE_AFTER, GOLDENS, KINDS
from grafana.panels import Band, Query, Words, bands, bars, number
from grafana.promql import highest

_ROUTE: Final = 'route="$route"'
_MODEL: Final = 'model="$model"'
_WINDOW: Final = 'window="$window"'
_HERE: Final = (_ROUTE, _MODEL)
_BY_MODEL: Final = 'level="model"'
_BY_ROUTE: Final = 'level="route"'
_ROLLED: Final = (_BY_MODEL, *_HERE, _WINDOW)
_rated_at = highest("evenkeel_rollup_last_score_timestamp_seconds", _BY_MODEL, *_HERE, by="route")


def _rolled(name: str) -> str:
    return f"max({highest(f'evenkeel_rollup_{name}', *_ROLLED, by='route')})"


def _cell(name: str, *matchers: str) -> str:
    return highest(f"evenkeel_window_{name}", *_HERE, _WINDOW, *matchers, by="perturbation")


def _band(name: str, legend: str, colour: str) -> Band:
    return Band(Query(_rolled(name), legend), _rolled(f"{name}_lower"), _rolled(f"{name}_upper"), colour)


_NUMBERS: Final = Shelf(
    4,
    (
        (
            4,
            number(
                Words(
                    "Robustness",
                    "One minus the rate of answers that shifted and changed in quality, over all "
                    "perturbations.",
                    "too few exchanges",
                    runbook="EvenkeelRobustnessBurnSlow",
                ),
                Query(_rolled("robustness_score")),
                "percentunit",
                scales.ROBUSTNESS,
                decimals=1,
                trend=True,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Cells in alert",
                    "Perturbations under which the answers shift more than is tolerated, by the evidence.",
                    "nothing rated",
                    runbook="EvenkeelRobustnessBreach",
                    console="/?route=${route:percentencode}",
                ),
                Query(f"sum({highest('evenkeel_alert', *_HERE, by='perturbation')})"),
                "none",
                scales.ANY_IS_WRONG,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Excess",
                    "Share of shifted answers minus that of identical resends of the same exchanges, "
                    "over all "
                    "perturbations: what the wording does beyond chance.",
                    "too few exchanges",
                ),
                Query(_rolled("excess")),
                "percentunit",
                decimals=1,
                trend=True,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Noise floor",
                    "Share of identical resends whose content shifted: what chance alone does.",
                    "too few resends",
                ),
                Query(_rolled("noise_floor")),
                "percentunit",
                decimals=1,
                trend=True,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Exchanges",
                    "Exchanges behind the robustness shown, in the chosen window.",
                    "too few exchanges",
                ),
                Query(_rolled("robustness_score_observations")),
                "locale",
                decimals=0,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Latest rating",
                    "Time since a trial was last rated.",
                    "nothing rated",
                    runbook="EvenkeelScoresStale",
                ),
                Query(f"time() - max({_rated_at})"),
                "s",
                scales.STALE_S,
                decimals=0,
            ),
        ),
    ),
)

_ROBUSTNESS: Final = bands(
    Words(
        "Robustness, with its interval",
        "The band covers the true rate with 95 % at all times of looking. Violet marks are changes.",
        "too few exchanges",
        runbook="EvenkeelRobustnessBurnFast",
    ),
    (_band("robustness_score", "robustness", "green"),),
)

_SHIFTED: Final = bands(
    Words(
        "Shifted answers against noise",
        "Share of shifted answers under perturbation (orange) and of identical resends (grey). "
        "As long as the bands overlap much, wording may matter no more than chance.",
        "too few exchanges",
    ),
    (_band("content_delta", "perturbed", "orange"), _band("noise_floor", "identical resend", "#8e8e8e")),
)

_EXCESS: Final = bands(
    Words(
        "Excess, with its interval",
        "Paired difference of the two, over all perturbations. The dashed line is what is tolerated "
        "of each cell.",
        "too few exchanges",
        runbook="EvenkeelRobustnessBreach",
    ),
    (_band("excess", "excess", "blue"),),
    limits=(Query(f"max({highest('evenkeel_excess_threshold', *_HERE, by='route')})", "tolerated"),),
    lowest=None,
    top=None,
)


def _kinds(pattern: str, shown: str) -> Query:
    """Robustness under the kinds of a pattern, worst first; `shown` says which group of it names the bar."""
    found = _cell("robustness_score", f'perturbation=~"{pattern}"')
    return Query(f'sort(label_replace({found}, "shown", "$1", "perturbation", "{shown}"))', "{{shown}}")


_FORMATS: Final = bars(
    Words(
        "Formats",
        "Robustness when the answer is asked for in another format, worst first.",
        "no format perturbation has enough trials",
    ),
    _kinds("format[.].+", "format[.](.+)"),
    "percentunit",
    scales.ROBUSTNESS,
    top=1,
    decimals=0,
)
_LANGUAGES: Final = bars(
    Words(
        "Languages",
        "Robustness when the question, the answer or both are in another language, worst first: "
        "“de” = asked and answered in German, “en_to_de” = asked in English, answered in German.",
        "no language perturbation has enough trials",
    ),
    _kinds("(multi|cross)lingual[.].+", "[a-z]+[.](.+)"),
    "percentunit",
    scales.ROBUSTNESS,
    top=1,
    decimals=0,
)
_WORDING: Final = bars(
    Words(
        "Wording and order",
        "Robustness under typos, casing, tone, paraphrase, and when parts of the prompt change "
        "places, worst first.",
        "no such perturbation has enough trials",
    ),
    _kinds("(general|positional|compound)[.].+", "(.+)"),
    "percentunit",
    scales.ROBUSTNESS,
    top=1,
    decimals=0,
)

ROUTE: Final = Board(
    uid="evenkeel-route",
    title="evenkeel: route",
    description=(
        "One route and model in detail: noise, excess and intervals, formats and languages, before and after."
    ),
    sections=(
        Section(
            (
                _NUMBERS,
                Shelf(9, ((8, _ROBUSTNESS), (8, _SHIFTED), (8, _EXCESS))),
                Shelf(9, ((8, _WORDING), (8, _FORMATS), (8, _LANGUAGES))),
            )
        ),
        Section((Shelf(8, ((12, BEFORE_AFTER), (6, KINDS), (6, GOLDENS))),), "Changes"),
        Section(
            (Shelf(14, ((24, CELLS),)), Shelf(8, ((8, RATINGS), (8, FAILURES), (8, DRIFT)))),
            "All perturbations, ratings and drift",
            collapsed=True,
        ),
    ),
    narrowed_by=(variables.routes(one=True), variables.model(), variables.window()),
    marks=(_ROUTE,),
)
"""After the overview."""
