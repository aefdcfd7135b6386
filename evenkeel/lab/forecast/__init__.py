"""How soon a fall would be found, and at what cost, before it happens.

`play` takes a route through sampled exchanges by the rules of the planner, the detectors and the budget; only
answers are drawn. `prospect` plays falls many times and says when half of them, and most of them, are found.
"""

from evenkeel.lab.forecast.play import USUAL, Answers, Fall, Play, Prompts, Route
from evenkeel.lab.forecast.prospect import FALLS, Finding, Prospect, measured, prospects

__all__ = [
    "FALLS",
    "USUAL",
    "Answers",
    "Fall",
    "Finding",
    "Play",
    "Prompts",
    "Prospect",
    "Route",
    "measured",
    "prospects",
]
