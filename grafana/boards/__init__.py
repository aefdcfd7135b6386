"""The dashboards, one module each."""

from typing import Final

from grafana.board import Board
from grafana.boards.judge import JUDGE
from grafana.boards.overview import OVERVIEW
from grafana.boards.pipeline import PIPELINE
from grafana.boards.proxy import PROXY
from grafana.boards.route import ROUTE

BUILTIN: Final[tuple[Board, ...]] = (OVERVIEW, ROUTE, JUDGE, PIPELINE, PROXY)
"""In the order in which they are read."""
