"""Grafana dashboards as code: `python -m grafana` writes `grafana/dashboards/*.json`.

`promql` (selectors) → `scales` (colours that mean something) → `panels` (one kind of picture each) →
`boards` (one module a dashboard) → `board` (places, ids, variables, annotations) → JSON.
`preview` draws the JSON from a real Prometheus, for want of a Grafana.

A new dashboard is one module in `boards` and one line in its `BUILTIN`; a new panel is one call there.
"""

from grafana.board import Addresses, to_json
from grafana.boards import BUILTIN

__all__ = ["BUILTIN", "Addresses", "to_json"]
