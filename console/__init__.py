"""Operator plane: the web page and the admin API. Imports `metrics` only.

`sources` says what the console is given (read-only callables and stores). Each part of a page is
one module that turns them into a frozen view, and one template that prints it: `status` (what to
do), `heatmap`, `trends`, `verdicts` (latest trials, `diffs` marks what moved), `pipeline`.
`overview` puts the parts together, `trial` is the page of one verdict, `api` the same as JSON,
`probes` the health and metrics endpoints, `app` the Litestar application.

Goldens are the one thing that can be changed here: `goldens` (list and page of one), `goldens_api`,
`golden_changes` (what may be asked for), `writing` (that only the console's own pages and programs ask).
"""

from console.app import create_app
from console.probes import create_probes
from console.sources import ConsoleSources, GoldenSources, PipelineView, RouteFlow, Untried

__all__ = [
    "ConsoleSources",
    "GoldenSources",
    "PipelineView",
    "RouteFlow",
    "Untried",
    "create_app",
    "create_probes",
]
