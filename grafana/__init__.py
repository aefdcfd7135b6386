"""Grafana dashboards as code: `python -m grafana` writes `grafana/dashboards/*.json`.

`promql` (selectors) → `scales` (colours that mean something) → `panels` (one kind of picture each) →
`boards` (one module a dashboard) → `board` (places, ids, variables, annotations) → JSON.

A new dashboard is one module in `boards` and one line in its `BUILTIN`; a new panel is one call there.
"""

import warnings

with warnings.catch_warnings():
    # Loading any part of the kit loads all of it, and it warns of its own old parts.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana.board import Addresses, to_json
    from grafana.boards import BUILTIN

__all__ = ["BUILTIN", "Addresses", "to_json"]
