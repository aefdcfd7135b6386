"""Rates over several cells in which every exchange is one observation, the mean over its trials.

Several perturbations of one exchange are tried on the same prompt and compared with the same answer,
so their outcomes are not independent, and an interval that takes them to be is too narrow. Their mean
is one number in [0, 1] for each exchange, and exchanges are sampled independently. So a rolled-up
rate weighs every exchange the same, and within it every trial: it is the chance that a trial, as the
planner chose them, shifts on an exchange picked at random. It is not the mean over cells: what the
planner tries more often weighs more, and where it moves its trials to, the rate may move along; a
perturbation by itself is judged by its cell.

An exchange weighs by its chance of being tried (`Verdict.exchange_weight`). Within an exchange, only trials
of a single rewording count, and only those that were drawn independently of other trials' outcomes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from evenkeel.core.cells import Estimate, RollupEstimates
from evenkeel.monitor.estimate.bounded_mean import weighted_mean
from evenkeel.monitor.estimate.counts import weight_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.monitor.estimate.counts import RatedOutcome

UNFINISHED: Final = 256
"""Most exchanges that may still get trials, the newest in the log. A trial that comes later than 256 other
exchanges counts as an exchange of its own."""
_SHIFTED: Final = "c"
_CHANGED: Final = "l"
# Letter of the share that counts all shifts of unknown quality as changed.
_PERHAPS_CHANGED: Final = "h"
_QUALITY: Final = "q"
_WORSE: Final = "w"
_BETTER: Final = "b"
_EXCESS: Final = "x"
_NOISE: Final = "n"
# Letter of an exchange of which nobody could rate a pair; it has no share.
_UNRATED: Final = "u0"
# Separator between a share and the sign of its weight.
_WEIGHS: Final = "/"


class ExchangeTally(Struct):
    """Tally of the trials of one exchange, of one category or of all."""

    trials: int = 0
    """Perturbed trials with a rating."""
    shifted: int = 0
    unscored: int = 0
    """Shifted trials of unknown quality."""
    changed: int = 0
    """Shifted trials of which a quality changed."""
    worse: int = 0
    better: int = 0
    pairs: int = 0
    difference: int = 0
    """Pairs that shifted only in the variant, minus those that shifted only in the resend."""
    resends: int = 0
    resends_shifted: int = 0
    unrated: bool = False
    """True if a judge failed for one of its pairs."""

    def add_trial(self, outcome: RatedOutcome) -> None:
        """Count a perturbed trial of known content."""
        if outcome.unsure:
            return
        self.trials += 1
        self.shifted += outcome.shifted
        self.unscored += outcome.quality == "unscored"
        self.changed += outcome.changed
        self.worse += outcome.quality == "worse"
        self.better += outcome.quality == "better"
        if outcome.difference is not None:
            self.pairs += 1
            self.difference += outcome.difference

    def add_resend(self, outcome: RatedOutcome) -> None:
        """Count the identical resend if its content is known."""
        if outcome.unsure:
            return
        self.resends += 1
        self.resends_shifted += outcome.shifted

    def observation(self, sign: str = "") -> str:
        """Return the exchange's shares as words, a letter and a share each; "" if there are none.

        Args:
            sign: Of the exchange's weight (`weight_sign`), which then comes after each share.
        """
        words: list[str] = []
        # Where a judge fails answers differ, so those that it rated are no sample of the exchange.
        if self.unrated:
            words = [_UNRATED]
        elif self.trials:
            scored = self.shifted - self.unscored
            words = [
                _SHIFTED + _share(self.shifted, self.trials),
                _CHANGED + _share(self.changed, self.trials),
                _PERHAPS_CHANGED + _share(self.changed + self.unscored, self.trials),
            ]
            if scored:
                words += [
                    _QUALITY + _share(self.changed, scored),
                    _WORSE + _share(self.worse, scored),
                    _BETTER + _share(self.better, scored),
                ]
        if self.pairs and not self.unrated:
            words.append(_EXCESS + _share(self.difference + self.pairs, 2 * self.pairs))
        if self.resends and not self.unrated:
            words.append(_NOISE + _share(self.resends_shifted, self.resends))
        return " ".join(f"{word}{_WEIGHS}{sign}" for word in words) if sign else " ".join(words)


@lru_cache(maxsize=1024)
def _share(part: int, whole: int) -> str:
    # Equal fractions give the same float and so the same word.
    return repr(part / whole)


def rollup_estimates(
    words: Mapping[str, int], *, alpha: float, min_exchanges: int, effect: float = 1.0
) -> RollupEstimates:
    """Return the estimates that the words of many exchanges give.

    Args:
        words: how often each occurred in the exchanges' observations.
        alpha: probability with which an interval may ever miss the truth.
        min_exchanges: an estimate from fewer exchanges is None.
        effect: design effect of the exchanges (`blocks`), at least 1.

    Returns: estimates whose `n` counts exchanges. Where the quality of some shifts is unknown, the
    value of robustness takes them to be like the others; its interval allows for all of them having
    changed, and for none. So does every interval where nobody could rate an exchange.
    """
    histograms: dict[str, dict[tuple[float, float], int]] = {}
    for word, count in words.items():
        share, _, sign = word[1:].partition(_WEIGHS)
        histograms.setdefault(word[0], {})[float(share), weight_of(sign)] = count

    rules: Any = {"alpha": alpha, "min_observations": min_exchanges, "effect": effect}
    unrated = histograms.get(_UNRATED[0], {})

    def rate(kind: str) -> Estimate | None:
        return weighted_mean(histograms.get(kind, {}), **rules)

    def rate_of_all(kind: str) -> Estimate | None:
        rated = histograms.get(kind, {})
        mean = weighted_mean(rated, **rules)
        if mean is None or not unrated:
            return mean
        least = weighted_mean(_joined(rated, unrated, 0.0), **rules)
        most = weighted_mean(_joined(rated, unrated, 1.0), **rules)
        assert least is not None
        assert most is not None
        return replace(mean, lower=least.lower, upper=most.upper)

    excess = rate_of_all(_EXCESS)
    return RollupEstimates(
        exchanges=sum(histograms.get(_SHIFTED, {}).values()),
        content_delta=rate_of_all(_SHIFTED),
        quality_delta=rate(_QUALITY),
        quality_worse=rate(_WORSE),
        quality_better=rate(_BETTER),
        robustness=_robustness(histograms, **rules),
        noise_floor=rate_of_all(_NOISE),
        excess=_spread(excess) if excess else None,
    )


def _spread(share: Estimate) -> Estimate:
    return Estimate(2 * share.value - 1, 2 * share.lower - 1, 2 * share.upper - 1, share.n)


def _robustness(histograms: Mapping[str, Mapping[tuple[float, float], int]], **rules: Any) -> Estimate | None:
    changed, perhaps = histograms.get(_CHANGED, {}), histograms.get(_PERHAPS_CHANGED, {})
    unrated = histograms.get(_UNRATED[0], {})
    fewest = weighted_mean(changed, **rules)
    if fewest is None:
        return None
    most = fewest if perhaps == changed else weighted_mean(perhaps, **rules)
    assert most is not None
    shifted = _mean(histograms[_SHIFTED])
    if shifted > 0 and not histograms.get(_QUALITY):
        return None
    scored = shifted - (most.value - fewest.value)
    rate = fewest.value if most is fewest or scored <= 0 else fewest.value * shifted / scored
    value, n = 1 - min(rate, most.value), fewest.n
    if unrated:
        fewest = weighted_mean(_joined(changed, unrated, 0.0), **rules)
        most = weighted_mean(_joined(perhaps, unrated, 1.0), **rules)
        assert fewest is not None
        assert most is not None
    return Estimate(value, 1 - most.upper, 1 - fewest.lower, n)


def _joined(
    rated: Mapping[tuple[float, float], int], unrated: Mapping[tuple[float, float], int], share: float
) -> dict[tuple[float, float], int]:
    """Return shares by weight, with one and the same share for every unrated exchange."""
    joined = dict(rated)
    for (_, weight), count in unrated.items():
        joined[share, weight] = joined.get((share, weight), 0) + count
    return joined


def _mean(histogram: Mapping[tuple[float, float], int]) -> float:
    total = sum(weight * count for (_, weight), count in histogram.items())
    return sum(value * weight * count for (value, weight), count in histogram.items()) / total
