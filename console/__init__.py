"""Operator plane: the web page and the admin API. Imports `metrics` only.

`sources` says what the console is given (read-only callables and stores). Each part of a page is
one module that turns them into a frozen view, and one template that prints it: `status` (what to
do), `heatmap`, `trends`, `verdicts` (latest trials, `diffs` marks what moved), `pipeline`.
`overview` puts the parts together, `trial` is the page of one verdict, `api` the same as JSON,
`probes` the health and metrics endpoints, `app` the Litestar application.
"""

from console.app import create_app
from console.probes import create_probes
from console.sources import ConsoleSources, PipelineView, RouteFlow, Untried

__all__ = ["ConsoleSources", "PipelineView", "RouteFlow", "Untried", "create_app", "create_probes"]
