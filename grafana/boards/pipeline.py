"""Shadow pipeline and cost: does the background work keep up, and what does it spend?"""

from __future__ import annotations

from typing import Final

from grafana import scales, variables
from grafana.board import Board, Section, Shelf
from grafana.panels import Column, Query, Words, bars, lines, number, rows
from grafana.promql import RATE, increase, rate, series, share, total

_ROUTE: Final = 'route=~"$route"'

# Totals, not increases: of a series that begins with its first event, Prometheus never sees that one come.
DEAD: Final = bars(
    Words(
        "Given up",
        "Exchanges moved to the dead letters since the counters began, by reason.",
        "none given up",
        runbook="EvenkeelDeadLetters",
    ),
    Query(f"sort_desc(sum by (reason) ({series('evenkeel_exchanges_dead_total')}))", "{{reason}}"),
    "locale",
    scales.ANY_IS_A_LOOK,
    decimals=0,
)
WORKER: Final = bars(
    Words(
        "Worker errors",
        "Errors that the worker survived since the counters began, by where. Its log has the traceback.",
        "no error",
        runbook="EvenkeelWorkerErrors",
    ),
    Query(f"sort_desc(sum by (where) ({series('evenkeel_worker_errors_total')}))", "{{where}}"),
    "locale",
    scales.ANY_IS_A_LOOK,
    decimals=0,
)
MONITOR: Final = lines(
    Words(
        "Monitor",
        "Verdicts folded into estimates each second, and failed attempts.",
        "no monitor scraped",
        runbook="EvenkeelMonitorStalled",
    ),
    (
        Query(rate("evenkeel_monitor_verdicts_total"), "verdicts"),
        Query(rate("evenkeel_monitor_failures_total"), "failed attempts"),
    ),
    "cps",
)
STEP: Final = number(
    Words(
        "Monitor's last step",
        "Time since the monitors of the same routes last read verdicts; the longest, if there are shards. "
        "They step every half second.",
        "no monitor scraped",
        runbook="EvenkeelMonitorStalled",
    ),
    Query(f"time() - min(max by (routes) ({series('evenkeel_monitor_last_step_timestamp_seconds')}))"),
    "s",
    scales.STANDING_S,
    decimals=0,
)
SETTINGS: Final = number(
    Words(
        "Settings refused",
        "Processes that have read changed settings and could not take them; the old ones are in force there.",
        "no process scraped",
        runbook="EvenkeelSettingsRefused",
        console="/settings",
    ),
    Query(f"sum({series('evenkeel_settings_reload_success')} == bool 0)"),
    "locale",
    scales.ANY_IS_A_LOOK,
    decimals=0,
)
COVERAGE: Final = bars(
    Words(
        "Coverage by route",
        "Share of the forwarded requests whose trials were scored, since the counters began.",
        "no requests",
    ),
    Query(f"sort(max by (route) ({series('evenkeel_sampling_coverage', _ROUTE)}))", "{{route}}"),
    "percentunit",
    scales.NEUTRAL,
    top=1,
    decimals=1,
)
ARCHIVED: Final = lines(
    Words(
        "Kept for goldens",
        "Exchanges a second kept for a while, so that they can be approved as goldens.",
        "none kept (archive.exchanges_per_route)",
        console="/goldens",
    ),
    (Query(rate("evenkeel_exchanges_archived_total", _ROUTE, by="route"), "{{route}}"),),
    "cps",
)
SPANS: Final = lines(
    Words(
        "Traces",
        "Spans a second taken by the trace collector, and lost, by reason.",
        "traces are off (telemetry.traces), or nothing was traced",
    ),
    (
        Query(rate("evenkeel_spans_exported_total"), "exported"),
        Query(rate("evenkeel_spans_dropped_total", by="reason"), "lost: {{reason}}"),
    ),
    "cps",
)


_DROPPED: Final = 'reason=~"queue_full|store_full|store_error"'


def _spent(unit: str) -> str:
    return f"max({series(f'evenkeel_spend_today_{unit}')} / {series(f'evenkeel_budget_{unit}_per_day')})"


_dropped = increase("evenkeel_exchanges_skipped_total", _ROUTE, _DROPPED)
_sampled = increase("evenkeel_exchanges_sampled_total", _ROUTE)

_NUMBERS: Final = Shelf(
    4,
    (
        (
            4,
            number(
                Words(
                    "Oldest waiting",
                    "Age of the oldest exchange in the queue: how far the scores lag behind the traffic.",
                    "no worker scraped",
                    runbook="EvenkeelPipelineStalled",
                    console="/#pipeline",
                ),
                Query(f"max({series('evenkeel_queue_oldest_seconds')})"),
                "s",
                scales.WAITING_S,
                decimals=0,
                trend=True,
            ),
        ),
        (
            4,
            number(
                Words("Waiting", "Exchanges in the queue that no worker holds.", "no worker scraped"),
                Query(total("evenkeel_queue_waiting")),
                "locale",
                decimals=0,
                trend=True,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Dollars spent today",
                    "Share of the day's budget in US dollars; at 100 % scoring pauses until midnight UTC.",
                    "no limit in dollars (budget.usd_per_day)",
                    runbook="EvenkeelBudgetNearlySpent",
                ),
                Query(_spent("usd")),
                "percentunit",
                scales.BUDGET,
                decimals=1,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Tokens spent today",
                    "Share of the day's budget in tokens; at 100 % scoring pauses until midnight UTC.",
                    "no limit in tokens (budget.tokens_per_day)",
                    runbook="EvenkeelBudgetSpent",
                ),
                Query(_spent("tokens")),
                "percentunit",
                scales.BUDGET,
                decimals=1,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Sample dropped",
                    "Share of the sampled exchanges in the shown time that were lost before the queue.",
                    "nothing dropped",
                    runbook="EvenkeelExchangesDropped",
                ),
                Query(share(f"({_dropped} or {_sampled} * 0)", _sampled)),
                "percentunit",
                scales.LOST,
                decimals=2,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Dead letters",
                    "Exchanges given up: they could not be read, or failed at every attempt.",
                    "no worker scraped",
                    runbook="EvenkeelDeadLetters",
                ),
                Query(total("evenkeel_queue_dead")),
                "locale",
                scales.ANY_IS_A_LOOK,
                decimals=0,
            ),
        ),
    ),
)

_FLOW: Final = lines(
    Words(
        "From traffic to scores",
        "Exchanges a second at each step: eligible, chosen by the sampling rate, queued, scored. "
        "Scored below queued for long means that the workers do not keep up.",
        "no traffic in this time",
        runbook="EvenkeelPipelineStarved",
    ),
    tuple(
        Query(rate(f"evenkeel_exchanges_{step}_total", _ROUTE), f"{place} {step}")
        for place, step in enumerate(("eligible", "sampled", "queued", "scored"), start=1)
    ),
    "cps",
)

_QUEUE: Final = lines(
    Words(
        "Queue",
        "Exchanges that wait, and those that a worker holds.",
        "no worker scraped",
        runbook="EvenkeelPipelineStalled",
    ),
    (
        Query(total("evenkeel_queue_waiting"), "waiting"),
        Query(total("evenkeel_queue_leased"), "in work"),
    ),
    "none",
    stacked=True,
)

_SPEND: Final = lines(
    Words(
        "Spent against the budget",
        "Share of the day's budgets that is spent; the day ends at midnight UTC. At 100 % scoring pauses.",
        "no budget is set",
        runbook="EvenkeelBudgetSpent",
    ),
    (
        Query(_spent("usd"), "dollars"),
        Query(
            _spent("tokens"),
            "tokens",
        ),
    ),
    "percentunit",
    limit=scales.BUDGET,
)

_COST: Final = lines(
    Words("Dollars by route", "US dollars an hour, by list price.", "nothing spent in this time"),
    (Query(f"3600 * {rate('evenkeel_spend_usd_total', _ROUTE, by='route')}", "{{route}}"),),
    "currencyUSD",
    stacked=True,
)
_TOKENS: Final = lines(
    Words("Tokens by route", "Tokens a second of replays, judge and rewriter.", "nothing spent in this time"),
    (Query(rate("evenkeel_spend_tokens_total", _ROUTE, by="route"), "{{route}}"),),
    "short",
    stacked=True,
)

_LEFT: Final = lines(
    Words(
        "Exchanges left out",
        "Sampled exchanges that were not queued or not scored, in each step of the graph, by reason. "
        "“status” and “client_left” are the traffic's own; “budget” is the budget; "
        "“queue_full” and “store_…” are losses.",
        "none left out in this time",
        runbook="EvenkeelExchangesDropped",
    ),
    (Query(increase("evenkeel_exchanges_skipped_total", _ROUTE, by="reason", over=RATE), "{{reason}}"),),
    "none",
    stacked=True,
)

_TRIALS: Final = lines(
    Words(
        "Trials by outcome",
        "Trials a second: rated 3 (same content), 2, 1 (other content), or the reason why they could "
        "not be rated.",
        "no trial in this time",
        runbook="EvenkeelVerdictsFailing",
    ),
    (Query(rate("evenkeel_trials_total", _ROUTE, by="outcome"), "{{outcome}}"),),
    "cps",
    stacked=True,
)

_not_made = increase("evenkeel_trials_skipped_total", _ROUTE, by="route, perturbation, reason")

_NOT_MADE: Final = rows(
    Words(
        "Trials not made",
        "In the shown time, most frequent first. “already_wanted”, “no_context” and the like: the "
        "kind does not apply "
        "to such prompts; “rewriter_…”: no usable text came back; “budget”: see above.",
        "every trial was made",
        console="/#pipeline",
    ),
    {"route": "Route", "perturbation": "Perturbation", "reason": "Reason"},
    (
        Column(
            Query(f"topk(30, {_not_made}) > 0"),
            "Trials",
            "locale",
            width=80,
            decimals=0,
        ),
    ),
    sort_by="Trials",
)

_REWRITES: Final = bars(
    Words(
        "Texts asked of the rewriter",
        "In the shown time, by outcome: accepted, taken from the cache, rejected (and why).",
        "no rewriter is set, or nothing was asked of it",
    ),
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
                Shelf(9, ((14, _NOT_MADE), (10, _REWRITES))),
            )
        ),
        Section(
            (
                Shelf(7, ((5, DEAD), (5, WORKER), (7, MONITOR), (4, STEP), (3, SETTINGS))),
                Shelf(7, ((6, COVERAGE), (6, ARCHIVED), (6, _TOKENS), (6, SPANS))),
            ),
            "Worker, monitor and more",
            collapsed=True,
        ),
    ),
    narrowed_by=(variables.routes(),),
)
"""When scores are old or few."""
