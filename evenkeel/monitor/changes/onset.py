"""The moment at which a route's answers began to move, from the exchanges around a change.

Each moment splits these exchanges in two. One at which the rewordings of both sides shifted answers in shares
of their own explains them by far better than one share for all, or another moment. What changed at that very
moment explains the change; what changed some time before or after it does not.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# Fewest exchanges of a side: so few have any share by chance.
_FEWEST: Final = 10
# Log likelihood ratio from which on a moment explains the exchanges much better. With it and the longest
# interval, a swap that moves 12 % to 45 % is told in 91 % of generated logs, one that came 20 exchanges after
# answers had moved in 1 %, and 20 before they did in 2 %.
_MUCH: Final = 2.0
# Most exchanges between the first and the last moment that are likely; beyond, it is not known.
_LONGEST: Final = 20


class ExchangeShifts(NamedTuple):
    """Answers of an exchange that rewordings shifted."""

    at: float
    """Unix time in seconds."""
    shifted: int = 0
    trials: int = 0


class Onset(NamedTuple):
    """Moment at which answers began to move, in Unix seconds."""

    likeliest: float
    latest: float
    """Last moment that is likely, too."""


def onset_of(exchanges: Sequence[ExchangeShifts]) -> Onset | None:
    """Return when answers began to move; None if they did not, or not within 20 exchanges."""
    shifted = sum(exchange.shifted for exchange in exchanges)
    trials = sum(exchange.trials for exchange in exchanges)
    hits = tried = 0
    likelihoods: dict[int, float] = {}
    for number, exchange in enumerate(exchanges):
        if _FEWEST <= number <= len(exchanges) - _FEWEST:
            sides = _log_likelihood(hits, tried) + _log_likelihood(shifted - hits, trials - tried)
            likelihoods[number] = sides
        hits, tried = hits + exchange.shifted, tried + exchange.trials
    if not likelihoods:
        return None
    best = max(likelihoods, key=lambda number: likelihoods[number])
    if likelihoods[best] - _log_likelihood(shifted, trials) < _MUCH:
        return None
    likely = [number for number, sides in likelihoods.items() if sides > likelihoods[best] - _MUCH]
    if likely[-1] - likely[0] > _LONGEST:
        return None
    return Onset(exchanges[best].at, exchanges[likely[-1]].at)


def _log_likelihood(shifted: int, trials: int) -> float:
    """Return the logarithm of the largest likelihood that one share gives to so many shifted answers."""
    total = 0.0
    for count in (shifted, trials - shifted):
        if count:
            total += count * log(count / trials)
    return total
