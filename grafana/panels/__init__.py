"""The kinds of panels: one function each, with what all of them need to be read at a glance.

Every panel has a description, a unit, and a text for "no data" (`words`). None has a place yet:
`grafana.board` gives it one.
"""

from grafana.panels.base import DATASOURCE, Query, Words, words_of
from grafana.panels.lines import Band, areas, bands, lines
from grafana.panels.stats import bars, number, spread
from grafana.panels.tables import Column, matrix, rows

__all__ = [
    "DATASOURCE",
    "Band",
    "Column",
    "Query",
    "Words",
    "areas",
    "bands",
    "bars",
    "lines",
    "matrix",
    "number",
    "rows",
    "spread",
    "words_of",
]
