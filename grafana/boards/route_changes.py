"""What a change did to a route: before and since, kinds of changes, goldens asked again."""

from __future__ import annotations

from typing import Final

from grafana import scales
from grafana.panels import Column, Query, Words, rows
from grafana.promql import highest, series

_ROUTE: Final = 'route="$route"'
_BY_ROUTE: Final = 'level="route"'
_MEASURES: Final = {
    "robustness_score": "Robustness",
    "content_delta": "Shifted",
    "noise_floor": "Noise floor",
    "excess": "Excess",
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
    Words(
        "Before and since the last change",
        "Over the whole route, whichever model answered: everything before the last change, and "
        "everything since with its interval. Moved: “before” lies outside of it, so the change mattered.",
        "too few exchanges on both sides of a change",
        runbook="EvenkeelChangeRegression",
        console="/changes?route=${route:percentencode}",
    ),
    {"measure": "Measure"},
    (
        Column(Query(_measures(_before)), "Before", decimals=1),
        Column(Query(_measures(_since)), "Since", decimals=1),
        Column(Query(_measures(_lowest)), "at least", decimals=1),
        Column(Query(_measures(_highest)), "at most", decimals=1),
        Column(
            Query(_measures(_moved)), "Moved", "none", scale=scales.ANY_IS_A_LOOK, words={0: "no", 1: "yes"}
        ),
        Column(Query(_measures(_n_since)), "Exchanges since", "locale", decimals=0),
    ),
)

KINDS: Final = rows(
    Words(
        "Changes seen",
        "By kind: how long ago the last was, and how many so far.",
        "no change so far",
        console="/changes?route=${route:percentencode}",
    ),
    {"kind": "Kind"},
    (
        Column(
            Query(f"time() - {highest('evenkeel_last_change_timestamp_seconds', _ROUTE, by='kind')}"),
            "Last, ago",
            "s",
            decimals=0,
        ),
        Column(
            Query(highest("evenkeel_changes_total", _ROUTE, by="kind")),
            "So far",
            "locale",
            width=80,
            decimals=0,
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
    Words(
        "Goldens, asked again",
        "How close the latest answers to the approved goldens are to what was approved; 100 % = the same.",
        "no golden was asked again (goldens are approved in the console)",
        console="/goldens?route=${route:percentencode}",
    ),
    {"golden": "Golden", "metric": "Metric"},
    (
        Column(
            Query(_golden_score),
            "Score",
            scale=scales.ROBUSTNESS,
            width=80,
            decimals=0,
        ),
    ),
    sort_by="Score",
    ascending=True,
    link="/goldens/${__data.fields.Golden:percentencode}",
)
