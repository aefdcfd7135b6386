"""Shadow pipeline and cost: does the background work keep up, and what does it spend?"""

from __future__ import annotations

from typing import Final

from grafana import scales, variables
from grafana.board import Board, Section, Shelf, shelf
from grafana.panels import Column, Query, areas, bars, lines, number, rows, words_of
from grafana.promql import RATE, increase, rate, series, share, total

_WORDS: Final = words_of("pipeline")

_ROUTE: Final = 'route=~"$route"'

# Totals, not increases: of a series that begins with its first event, Prometheus never sees that one come.
DEAD: Final = bars(
    _WORDS["given_up"],
    Query(f"sort_desc(sum by (reason) ({series('evenkeel_exchanges_dead_total')}))", "{{reason}}"),
    "locale",
    scales.ANY_IS_A_LOOK,
    decimals=0,
)
WORKER: Final = bars(
    _WORDS["worker_errors"],
    Query(f"sort_desc(sum by (where) ({series('evenkeel_worker_errors_total')}))", "{{where}}"),
    "locale",
    scales.ANY_IS_A_LOOK,
    decimals=0,
)
MONITOR: Final = lines(
    _WORDS["monitor"],
    (
        Query(rate("evenkeel_monitor_verdicts_total"), "verdicts"),
        Query(rate("evenkeel_monitor_failures_total"), "failed attempts"),
    ),
    "cps",
)
STEP: Final = number(
    _WORDS["monitor_s_last_step"],
    f"time() - min(max by (routes) ({series('evenkeel_monitor_last_step_timestamp_seconds')}))",
    "s",
    scales.STANDING_S,
    decimals=0,
)
SETTINGS: Final = number(
    _WORDS["settings_refused"],
    f"sum({series('evenkeel_settings_reload_success')} == bool 0)",
    "locale",
    scales.ANY_IS_A_LOOK,
    decimals=0,
)
COVERAGE: Final = bars(
    _WORDS["coverage_by_route"],
    Query(f"sort(max by (route) ({series('evenkeel_sampling_coverage_ratio', _ROUTE)}))", "{{route}}"),
    "percentunit",
    scales.NEUTRAL,
    top=1,
    decimals=1,
)
ARCHIVED: Final = lines(
    _WORDS["kept_for_goldens"],
    Query(rate("evenkeel_exchanges_archived_total", _ROUTE, by="route"), "{{route}}"),
    "cps",
)
SPANS: Final = lines(
    _WORDS["traces"],
    (
        Query(rate("evenkeel_spans_exported_total"), "exported"),
        Query(rate("evenkeel_spans_dropped_total", by="reason"), "lost: {{reason}}"),
    ),
    "cps",
)


_DROPPED: Final = 'reason=~"queue_full|store_full|store_error"'


def _spent(unit: str) -> str:
    return f"max({series(f'evenkeel_spend_today_{unit}')} / {series(f'evenkeel_budget_{unit}_per_day')})"


_settled = increase("evenkeel_exchanges_skipped_total", _ROUTE, 'reason="settled"', by="route", over=RATE)
_sampled_by_route = increase("evenkeel_exchanges_sampled_total", _ROUTE, by="route", over=RATE)
_dropped = increase("evenkeel_exchanges_skipped_total", _ROUTE, _DROPPED)
_sampled = increase("evenkeel_exchanges_sampled_total", _ROUTE)

_NUMBERS: Final = shelf(
    4,
    number(
        _WORDS["oldest_waiting"],
        f"max({series('evenkeel_queue_oldest_seconds')})",
        "s",
        scales.WAITING_S,
        decimals=0,
        trend=True,
    ),
    number(_WORDS["waiting"], total("evenkeel_queue_waiting"), "locale", decimals=0, trend=True),
    number(_WORDS["dollars_spent_today"], _spent("usd"), "percentunit", scales.BUDGET, decimals=1),
    number(_WORDS["tokens_spent_today"], _spent("tokens"), "percentunit", scales.BUDGET, decimals=1),
    number(
        _WORDS["sample_dropped"],
        share(f"({_dropped} or {_sampled} * 0)", _sampled),
        "percentunit",
        scales.LOST,
        decimals=2,
    ),
    number(_WORDS["dead_letters"], total("evenkeel_queue_dead"), "locale", scales.ANY_IS_A_LOOK, decimals=0),
)

_FLOW: Final = lines(
    _WORDS["from_traffic_to_scores"],
    tuple(
        Query(rate(f"evenkeel_exchanges_{step}_total", _ROUTE), f"{place} {step}")
        for place, step in enumerate(("eligible", "sampled", "queued", "scored"), start=1)
    ),
    "cps",
)

_QUEUE: Final = lines(
    _WORDS["queue"],
    (
        Query(total("evenkeel_queue_waiting"), "waiting"),
        Query(total("evenkeel_queue_leased"), "in work"),
    ),
    "none",
    stacked=True,
)

_SPEND: Final = lines(
    _WORDS["spent_against_the_budget"],
    (
        Query(_spent("usd"), "dollars"),
        Query(_spent("tokens"), "tokens"),
    ),
    "percentunit",
    limit=scales.BUDGET,
)

_COST: Final = areas(
    _WORDS["dollars_by_route"],
    "currencyUSD",
    f"3600 * {rate('evenkeel_spend_usd_total', _ROUTE, by='route')}",
    "{{route}}",
)
_TOKENS: Final = areas(
    _WORDS["tokens_by_route"], "short", rate("evenkeel_spend_tokens_total", _ROUTE, by="route"), "{{route}}"
)

_LEFT: Final = areas(
    _WORDS["exchanges_left_out"],
    "none",
    increase("evenkeel_exchanges_skipped_total", _ROUTE, by="reason", over=RATE),
    "{{reason}}",
)

_TRIALS: Final = areas(
    _WORDS["trials_by_outcome"], "cps", rate("evenkeel_trials_total", _ROUTE, by="outcome"), "{{outcome}}"
)

_TIERS: Final = areas(
    _WORDS["replays_by_tier"], "cps", rate("evenkeel_replays_total", _ROUTE, by="tier"), "{{tier}}"
)

_SETTLED: Final = lines(
    _WORDS["left_out_as_settled"],
    Query(
        share(f"({_settled} or {_sampled_by_route} * 0)", _sampled_by_route),
        "{{route}}",
    ),
    "percentunit",
    top=1,
)

_BATCHES: Final = lines(
    _WORDS["batches"],
    (
        Query(total("evenkeel_batch_waiting"), "exchanges waiting"),
        Query(increase("evenkeel_batches_total", _ROUTE, by="state", over=RATE), "batches {{state}}"),
    ),
    "none",
)

_not_made = increase("evenkeel_trials_skipped_total", _ROUTE, by="route, reason")

_NOT_MADE: Final = rows(
    _WORDS["trials_not_made"],
    {"route": "Route", "reason": "Reason"},
    (Column(f"topk(30, {_not_made}) > 0", "Trials", "locale", width=80, decimals=0),),
    sort_by="Trials",
)

_REWRITES: Final = bars(
    _WORDS["texts_asked_of_the_rewriter"],
    Query(f"sort_desc({increase('evenkeel_rewrites_total', by='outcome')})", "{{outcome}}"),
    "locale",
    scales.NEUTRAL,
    decimals=0,
)

PIPELINE: Final = Board(
    uid="evenkeel-pipeline",
    title="evenkeel: shadow pipeline and cost",
    description="The background work: lag, spend against the budget, what is left out and why.",
    sections=(
        Section(
            (
                _NUMBERS,
                Shelf(9, ((9, _FLOW), (8, _QUEUE), (7, _SPEND))),
                Shelf(9, ((9, _LEFT), (8, _TRIALS), (7, _COST))),
                Shelf(8, ((8, _TIERS), (8, _SETTLED), (8, _BATCHES))),
                Shelf(9, ((14, _NOT_MADE), (10, _REWRITES))),
            )
        ),
        Section(
            (
                Shelf(7, ((5, DEAD), (5, WORKER), (7, MONITOR), (4, STEP), (3, SETTINGS))),
                shelf(7, COVERAGE, ARCHIVED, _TOKENS, SPANS),
            ),
            "Worker, monitor and more",
            collapsed=True,
        ),
    ),
    narrowed_by=(variables.routes(),),
)
"""When scores are old or few."""
