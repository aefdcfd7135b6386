"""Judge health: is the yardstick itself straight, and what does it cost?"""

from __future__ import annotations

from typing import Final

from grafana import scales, variables
from grafana.board import Board, Section, Shelf
from grafana.panels import Column, Query, Words, bars, lines, number, rows
from grafana.promql import PLACE, RATE, highest, increase, rate, series, share

_ROUTE: Final = 'route=~"$route"'
_BY_JUDGE: Final = 'stage="judge"'


def _mean(name: str) -> str:
    """Over routes and models, weighted by the number of observations."""
    value = highest(f"evenkeel_{name}", _ROUTE, by=PLACE)
    observed = highest(f"evenkeel_{name}_observations", _ROUTE, by=PLACE)
    return f"sum({value} * {observed}) / sum({observed})"


_decided = "evenkeel_ratings_decided_total"
_asked = share(increase(_decided, _ROUTE, _BY_JUDGE), increase(_decided, _ROUTE))
_failed = increase("evenkeel_verdict_failures_total", _ROUTE)
_rated = increase("evenkeel_verdicts_total", _ROUTE)

_NUMBERS: Final = Shelf(
    4,
    (
        (
            4,
            number(
                Words(
                    "Judge",
                    "Whether the judge could be used when it was last checked: 1 = yes. "
                    "While it cannot, sampled exchanges wait and nothing is scored.",
                    "no judge is set (judge.model)",
                    runbook="EvenkeelJudgeUnusable",
                    console="/#pipeline",
                ),
                Query(f"min({series('evenkeel_judge_up')})"),
                "none",
                scales.UP,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Agreement with cheap scores",
                    "Share of audited pairs to which the judge said what the cheap scores had decided alone.",
                    "no pair audited yet",
                    runbook="EvenkeelCascadeDisagrees",
                ),
                Query(_mean("cascade_agreement")),
                "percentunit",
                scales.CONSISTENCY,
                decimals=1,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Swap consistency",
                    "Share of pairs that got the same rating with their two answers in the other order.",
                    "no pair swapped yet",
                    runbook="EvenkeelJudgeInconsistent",
                ),
                Query(_mean("judge_swap_consistency")),
                "percentunit",
                scales.CONSISTENCY,
                decimals=1,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Judge noise",
                    "Share of pairs that got another rating when they were judged again.",
                    "no pair judged again yet",
                    runbook="EvenkeelJudgeInconsistent",
                ),
                Query(_mean("judge_noise_rate")),
                "percentunit",
                scales.NOISE,
                decimals=1,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Calls saved",
                    "Share of ratings in the shown time for which equality or cheap scores sufficed.",
                    "no rating in this time",
                ),
                Query(f"1 - {_asked}"),
                "percentunit",
                decimals=0,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Trials without a rating",
                    "Share of the trials in the shown time that could not be scored. They are in no "
                    "estimate.",
                    "none failed",
                    runbook="EvenkeelVerdictsFailing",
                ),
                Query(share(_failed, f"({_failed} + {_rated})")),
                "percentunit",
                scales.FAILED,
                decimals=1,
            ),
        ),
    ),
)


def _check(name: str, title: str, scale: scales.Scale | None = None) -> Column:
    return Column(Query(highest(f"evenkeel_{name}", _ROUTE, by=PLACE)), title, scale=scale, decimals=1)


def _check_count(name: str, title: str) -> Column:
    return Column(Query(highest(f"evenkeel_{name}", _ROUTE, by=PLACE)), title, "locale", decimals=0)


_CHECKS: Final = rows(
    Words(
        "The judge's checks by route and model",
        "Everything since the beginning, with the lower end of the interval (of noise, the upper). "
        "Alerts compare the last six hours with it.",
        "no check made yet",
        runbook="EvenkeelJudgeDrift",
    ),
    {"route": "Route", "model": "Model"},
    (
        _check("cascade_agreement", "Agreement", scales.CONSISTENCY),
        _check("cascade_agreement_lower", "agreement, at least"),
        _check_count("cascade_agreement_observations", "audited"),
        _check("judge_swap_consistency", "Swapped", scales.CONSISTENCY),
        _check("judge_swap_consistency_lower", "swapped, at least"),
        _check("judge_noise_rate", "Noise", scales.NOISE),
        _check("judge_noise_rate_upper", "noise, at most"),
        _check_count("judge_noise_rate_observations", "judged again"),
    ),
)

_CONSISTENCY: Final = lines(
    Words(
        "Consistency over time",
        "Means over routes and models, weighted by observations. A step is a judge that changed.",
        "no check made yet",
        runbook="EvenkeelJudgeDrift",
    ),
    (
        Query(_mean("cascade_agreement"), "agreement with cheap scores"),
        Query(_mean("judge_swap_consistency"), "same with sides swapped"),
        Query(f"1 - {_mean('judge_noise_rate')}", "same when judged again"),
    ),
    "percentunit",
    limit=scales.CONSISTENCY,
    lowest=0.5,
    top=1,
)

_DECIDED: Final = lines(
    Words(
        "Who decided the ratings",
        "Ratings a second, by stage: equal answers need nobody, clear pairs only cheap scores, the "
        "rest the judge.",
        "no rating in this time",
    ),
    (Query(rate("evenkeel_ratings_decided_total", _ROUTE, by="stage"), "{{stage}}"),),
    "cps",
    stacked=True,
)

_RECHECKS: Final = lines(
    Words(
        "Pairs judged again",
        "Ratings a second that were made again to measure the judge's noise, by outcome.",
        "none in this time (judge.recheck_share)",
    ),
    (Query(rate("evenkeel_judge_rechecks_total", by="outcome"), "{{outcome}}"),),
    "cps",
    stacked=True,
)

_FAILURES: Final = lines(
    Words(
        "Trials without a rating, by reason",
        "In each step of the graph: the endpoint, the replay or the judge failed.",
        "none failed in this time",
        runbook="EvenkeelVerdictsFailing",
        console="/#verdicts",
    ),
    (Query(increase("evenkeel_verdict_failures_total", _ROUTE, by="reason", over=RATE), "{{reason}}"),),
    "none",
    stacked=True,
)

_COST: Final = lines(
    Words(
        "Cost by route",
        "US dollars an hour for replays, judge and rewriter together, by list price.",
        "nothing spent in this time",
        runbook="EvenkeelBudgetNearlySpent",
    ),
    (Query(f"3600 * {rate('evenkeel_spend_usd_total', _ROUTE, by='route')}", "{{route}}"),),
    "currencyUSD",
    stacked=True,
)

_COST_PER_TRIAL: Final = bars(
    Words(
        "Cost of a rated trial",
        "US dollars for each rated trial in the shown time: replay, judge and rewriter together.",
        "no rated trial in this time",
    ),
    Query(
        f"sort_desc({increase('evenkeel_spend_usd_total', _ROUTE, by='route')}"
        f" / ({increase('evenkeel_verdicts_total', _ROUTE, by='route')} > 0))",
        "{{route}}",
    ),
    "currencyUSD",
    scales.NEUTRAL,
    decimals=5,
)

_NOISE_IN_ESTIMATES: Final = lines(
    Words(
        "Judge noise by route",
        "Share of pairs rated otherwise when judged again, over 24 hours: it enters every estimate "
        "of the route.",
        "no pair judged again yet",
        runbook="EvenkeelJudgeInconsistent",
    ),
    (
        Query(
            highest("evenkeel_rollup_judge_noise_rate", 'level="route"', 'window="24h"', _ROUTE, by="route"),
            "{{route}}",
        ),
    ),
    "percentunit",
    limit=scales.NOISE,
)

_EMBEDDINGS: Final = lines(
    Words(
        "Ratings without embeddings",
        "Ratings a second made without sentence embeddings because those failed, by reason; more go "
        "to the judge.",
        "no embedding failed",
    ),
    (Query(rate("evenkeel_embeddings_failures_total", by="reason"), "{{reason}}"),),
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
                Shelf(9, ((12, _CONSISTENCY), (12, _DECIDED))),
                Shelf(8, ((24, _CHECKS),)),
                Shelf(8, ((8, _FAILURES), (8, _COST), (8, _COST_PER_TRIAL))),
            )
        ),
        Section(
            (Shelf(8, ((8, _NOISE_IN_ESTIMATES), (8, _RECHECKS), (8, _EMBEDDINGS))),),
            "Details",
            collapsed=True,
        ),
    ),
    narrowed_by=(variables.routes(),),
    marks=(_ROUTE,),
)
"""When an alert is doubted."""
