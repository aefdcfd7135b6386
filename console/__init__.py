"""Operator plane: the web pages and the admin API.

`sources` says what the console is given (read-only callables and stores). Each part of a page is one module
that turns them into a frozen view, and one template that prints it: `status` (what to do), `heatmap`,
`trends`, `pipeline`; `overview` puts the parts together, `api` gives the same as JSON, `probes` has the
health and metrics endpoints, `app` is the Litestar application, `rendering` fills templates.

One module a page: `routes` (its `cells`), `alerts`, `changes`, `trials` (found by `trial_search`), `trial`,
`goldens`, `labels`, `baselines`, `judge`, `calibration`, `pipeline` with `spend`, `settings_view`,
`actions`. `navigation` lists them, `downloads` gives their tables as files, `links` their addresses.

Goldens, labels and baselines can be changed here; `access` decides who may, and `actions` shows the audit
log.
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
    SettingLine,
    SettingsSection,
    Share,
    Spending,
    Thresholds,
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
    "SettingLine",
    "SettingsSection",
    "Share",
    "Spending",
    "Thresholds",
    "create_app",
    "create_probes",
]
