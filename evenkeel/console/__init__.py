"""Operator plane: the web pages and the admin API.

`sources` says what the console is given (read-only callables and stores). A page reads them into a `Page`
and one template prints it: the nouns of the stores and the monitor themselves, written by the filters of
`rendering`. `downloads` gives tables as files, `api` gives the same as JSON, `probes` has the health and
metrics endpoints, `app` is the Litestar application.

Pages stand in five places. Now: `now` (made of `status` and `heatmap`) and `incidents`. Routes: `routes` with
its `cells` and `trends`. Trials: `trials` (found by `trial_search`), `trial`, `labels`. Releases: `changes`,
`references`, `goldens`, `baselines`. System: `judge`, `calibration`, `pipeline`, `spend`, `documents`,
`actions`, and `setup` with `first_hour` for the time before there are numbers. `situation` is what they agree
on: the incidents, and which cells belong to one. `chart` lays out their pictures, `links` has addresses,
`alerts` is for programs.

Goldens, labels and baselines can be changed here, and reference prompts deleted; `access` decides who may,
and `actions` shows the audit log.
"""

from evenkeel.console.app import create_app
from evenkeel.console.probes import create_probes
from evenkeel.console.sources import (
    Check,
    ConsoleSources,
    GoldenSources,
    JudgeSetup,
    PipelineView,
    ReferenceSetup,
    ReferenceSources,
    RouteSetup,
    SettingLine,
    SettingsSection,
    SetupSources,
)

__all__ = [
    "Check",
    "ConsoleSources",
    "GoldenSources",
    "JudgeSetup",
    "PipelineView",
    "ReferenceSetup",
    "ReferenceSources",
    "RouteSetup",
    "SettingLine",
    "SettingsSection",
    "SetupSources",
    "create_app",
    "create_probes",
]
