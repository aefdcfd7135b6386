"""The kinds of panels: one function each, with what all of them need to be read at a glance.

Every panel has a description, a unit, and a text for "no data" (`words`). None has a place yet:
`grafana.board` gives it one.
"""

from grafana.panels.bars import bars
from grafana.panels.lines import Band, bands, lines
from grafana.panels.number import number
from grafana.panels.query import DATASOURCE, Query
from grafana.panels.spread import spread
from grafana.panels.tables import Column, matrix, rows
from grafana.panels.words import Words

__all__ = [
    "DATASOURCE",
    "Band",
    "Column",
    "Query",
    "Words",
    "bands",
    "bars",
    "lines",
    "matrix",
    "number",
    "rows",
    "spread",
]
