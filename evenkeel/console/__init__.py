"""Operator plane: the web pages and the admin API.

`sources` says what the console is given (read-only callables and stores). A page reads them into a `Page`
and one template prints it: the nouns of the stores and the monitor themselves, written by the filters of
`rendering`. `api` gives the same as JSON, and has the health and metrics endpoints. `app` is the
Litestar application.

Pages are grouped as in the navigation. Now: `now` with the table of `overview`, `routes`, and `incidents`.
Trials: `trials`, `trial`, `labels`. Releases: `changes`, `goldens`, `runs`, `challengers`. System: `judge`,
`calibration`, `pipeline`, `spend`, `documents`, `setup`. `situation` holds what pages agree on: the
incidents, and which cells belong to one. `chart` lays out pictures, `links` has addresses.

Goldens and labels can be changed here, and incidents decided; `access` decides who may, and `setup` shows
the audit log.
"""

from evenkeel.console.api import create_probes
from evenkeel.console.app import create_app
from evenkeel.console.sources import (
    ConsoleSources,
    JudgeSetup,
    PipelineView,
    ReferenceSetup,
    RouteSetup,
)

__all__ = [
    "ConsoleSources",
    "JudgeSetup",
    "PipelineView",
    "ReferenceSetup",
    "RouteSetup",
    "create_app",
    "create_probes",
]
