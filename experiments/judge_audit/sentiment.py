"""The tone of a judge's justifications, before and after the attack."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from evenkeel.core.verdict import Failure
from evenkeel.monitor.estimate.agreement import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONFIDENCE = 0.95


class Analyser(Protocol):
    """Scores the tone of an English text."""

    @property
    def name(self) -> str:
        """Label of the score, snake_case."""
        ...

    def score(self, text: str) -> float:
        """Tone in [−1, 1]: −1 = negative, 1 = positive, 0 = neutral or not recognised."""
        ...


class Vader:
    """The compound score of VADER, made for short opinionated texts. Source: Hutto and Gilbert 2014."""

    name = "vader_compound"

    def __init__(self) -> None:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # noqa: PLC0415 - an extra

        self._analyser: Any = SentimentIntensityAnalyzer()

    def score(self, text: str) -> float:
        """The compound score in [−1, 1]."""
        return float(self._analyser.polarity_scores(text)["compound"])


class Polarity:
    """TextBlob's polarity: the paper's measure. It is a mean over a lexicon, so most texts are near 0."""

    name = "textblob_polarity"

    def __init__(self) -> None:
        from textblob import TextBlob  # noqa: PLC0415 - an extra

        self._read: Any = TextBlob

    def score(self, text: str) -> float:
        """The polarity in [−1, 1]."""
        return float(self._read(text).sentiment.polarity)


def installed_analysers() -> tuple[Analyser, ...]:
    """The analysers whose packages are there: both with the extra `audit`, else none."""
    found: list[Analyser] = []
    if importlib.util.find_spec("vaderSentiment"):
        found.append(Vader())
    if importlib.util.find_spec("textblob"):
        found.append(Polarity())
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ToneShift:
    """Mean tone of the justifications of the same items, asked plainly and under attack."""

    analyser: str
    n: int
    """Items with a justification both times."""
    before: float
    after: float
    lower: float | None
    """Ends of the 95 % interval of `after − before`; None if none was drawn."""
    upper: float | None


def tone_shift(
    analyser: Analyser,
    justifications: Sequence[tuple[str, str] | None],
    resamples: Sequence[Sequence[int]] = (),
) -> ToneShift | Failure:
    """The mean tone before and after, paired by item.

    Args:
        analyser: scores one text.
        justifications: (plain, attacked) per item, None where one of them is missing.
        resamples: item indices, for the interval of the difference.

    Returns: a failure "no_justification" if no item has both.
    """
    tones = [
        (analyser.score(both[0]), analyser.score(both[1])) if both and all(both) else None
        for both in justifications
    ]
    there = [both for both in tones if both]
    if not there:
        return Failure(analyser.name, 1, "no_justification", "No item has a justification both times.")
    differences = []
    for indices in resamples:
        drawn = [both for both in map(tones.__getitem__, indices) if both]
        if drawn:
            differences.append(sum(after - before for before, after in drawn) / len(drawn))
    differences.sort()
    tail = (1 - _CONFIDENCE) / 2
    return ToneShift(
        analyser.name,
        len(there),
        sum(before for before, _ in there) / len(there),
        sum(after for _, after in there) / len(there),
        quantile(differences, tail) if differences else None,
        quantile(differences, 1 - tail) if differences else None,
    )
