"""How a rating came about, as numbers among its details: names, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Stage = Literal["equality", "bands", "judge"]
STAGES: Final[tuple[Stage, ...]] = ("equality", "bands", "judge")
"""Of the cascade, in the order in which they are tried; a stage's place is its number in the details."""

DECIDED_BY: Final = "decided_by"
"""Detail of every rating of the cascade: 0 equality, 1 bands, 2 judge."""
BANDS_RATING: Final = "bands_rating"
"""Detail of an audited rating: what the bands would have said where the judge was asked all the same."""
JUDGED_AGAIN: Final = "judged_again"
"""Detail of a rating that was made again: what the judge said to the same pair."""
JUDGED_SWAPPED: Final = "judged_swapped"
"""The same for the pair with its sides swapped."""

PROVENANCE: Final = frozenset((DECIDED_BY, BANDS_RATING, JUDGED_AGAIN, JUDGED_SWAPPED))
"""Details that are no scores."""

_EQUAL: Final = "normalised"
"""Score of `NormalisedEquality`. Not imported: the monitor needs this module and none of the metrics."""


def stage_of(details: Mapping[str, float]) -> Stage:
    """The stage that decided a rating of a scorer with a judge, by the rating's details.

    A rating without a word about it is the judge's, unless the answers were equal: equality is
    free of charge with or without a cascade.
    """
    number = details.get(DECIDED_BY)
    if number is None:
        return "equality" if details.get(_EQUAL) == 1.0 else "judge"
    return STAGES[int(number)] if 0 <= number < len(STAGES) else "judge"
