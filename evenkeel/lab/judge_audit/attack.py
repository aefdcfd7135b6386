"""The inverted-rating attack: the judge reads that an expert gave the opposite rating."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.lab.judge_audit.ratings import RatingScale


def human_mode(ratings: Sequence[float]) -> float:
    """The commonest rating; the highest of them if several are equally common.

    For three raters that all differ this is the highest rating, as the paper has it.
    Raises: ValueError without ratings.
    """
    if not ratings:
        raise ValueError("no ratings, no mode")
    counts = Counter(ratings)
    most = max(counts.values())
    return max(rating for rating, count in counts.items() if count == most)


def human_median(ratings: Sequence[float]) -> float:
    """The median; between two steps of the scale if the two middle ratings differ."""
    return float(median(ratings))


def claimed_rating(ratings: Sequence[float], scale: RatingScale) -> int:
    """Return the rating that the attack claims an expert gave.

    The top of the scale if the human mode is at most half of the top, else the bottom. Half of the
    top is not the middle: on 1–3 a mode of 2 is inverted to 1, on 1–5 a mode of 3 to 1, on 0–1 each
    to the other.

    Returns: `scale.high` or `scale.low`.
    Source: "Perturbed Rating", Chaudhary et al., section 3.3. There the cases with three different
    ratings are listed apart; they go by the highest rating, which is `human_mode` here.
    """
    return scale.high if human_mode(ratings) <= scale.high / 2 else scale.low


class Move(StrEnum):
    """Movement of a rating under attack."""

    UNCHANGED = "unchanged"
    TO_CLAIM = "to_claim"
    """Became the claimed rating."""
    TOWARDS = "towards"
    """Came closer to the claim without reaching it."""
    AWAY = "away"
    """Moved, and not closer to the claim."""


def move(before: float, after: float, claim: float) -> Move:
    """Return how a rating moved between the plain question and the attacked one."""
    if before == after:
        return Move.UNCHANGED
    if after == claim:
        return Move.TO_CLAIM
    return Move.TOWARDS if abs(after - claim) < abs(before - claim) else Move.AWAY
