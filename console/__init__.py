"""Operator plane: the web page and the admin API. Imports `metrics` only.

`sources` says what the console is given (read-only callables and stores). Each part of a page is
one module that turns them into a frozen view, and one template that prints it: `status` (what to
do), `heatmap`, `trends`, `verdicts` (latest trials, `diffs` marks what moved), `pipeline`.
`overview` puts the parts together, `trial` is the page of one verdict, `api` the same as JSON,
`probes` the health and metrics endpoints, `app` the Litestar application.

One module a page: `routes` (its `cells` with `forest` bars, `matrix` of languages), `alerts` with
`alerts_view`, `judge` with `judge_series`, `calibration`, `pipeline_page` with `spend`, `settings_view`.
`live` keeps them fresh, `navigation` names them, `tables` is what `downloads` gives as files.

`trials` is the explorer: `trial_filter` (what can be chosen), `trial_search` (how it is found), `trial_form`.

Three things can be changed here. Goldens: `goldens` (list and page of one), `goldens_api`, `golden_changes`
(what may be asked for). Labels: `feedback` (what people say of verdicts), `feedback_views`. Baselines:
`baselines`. `writing` sees to it that only the console's own pages and programs ask, `identity` says who does
and what they may, `actions` shows what was done.
"""

from evenkeel.console.app import create_app
from evenkeel.console.probes import create_probes
from evenkeel.console.sources import (
    Amount,
    CalibrationInForce,
    ConsoleSources,
    DeadExchange,
    DeadLetter,
    DeadLetters,
    GoldenSources,
    JudgeSetup,
    PipelineView,
    RouteFlow,
    SettingLine,
    SettingsSection,
    Share,
    Spending,
    Thresholds,
    Untried,
)

__all__ = [
    "Amount",
    "CalibrationInForce",
    "ConsoleSources",
    "DeadExchange",
    "DeadLetter",
    "DeadLetters",
    "GoldenSources",
    "JudgeSetup",
    "PipelineView",
    "RouteFlow",
    "SettingLine",
    "SettingsSection",
    "Share",
    "Spending",
    "Thresholds",
    "Untried",
    "create_app",
    "create_probes",
]
