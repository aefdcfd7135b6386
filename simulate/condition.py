"""The three states that an answer of the simulated model can be in."""

from enum import StrEnum


class Condition(StrEnum):
    """What state an answer is in."""

    GOOD = "good"
    WORSE = "worse"
    DIFFERENT = "different"
