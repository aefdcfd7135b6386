"""What people would say of all verdicts, from what a judge says of all and people of a few drawn by chance.

Two forms. `prediction_powered_mean` corrects a mean: the judge's mean, plus how far people are from it on
the drawn verdicts, each weighted by one over the probability with which it was drawn. It is unbiased however
bad the judge is. Its interval bets on the corrected increments λ·f + (y − λ·f)/π (not drawn: λ·f), whose
range follows from the smallest π, so it holds at all times of looking. λ, how far the judge is trusted, is
½ or 1 in the interval, each with half of the error; the value has the λ with the least variance.

`Truth` is the form for cells and alerts: verdicts with the same rating by the same decider are a stratum, and
in an estimate each counts as the share of its stratum that truly shifted, as far as that is known. In an
alert each counts as its rating less the mean error of its decider, so that increments stay in [−1, 1] and a
change shows. It assumes that among verdicts of a stratum, or a decider, labelled ones are like the others.

Source: Angelopoulos, Duchi, Zrnic 2023, "PPI++: Efficient prediction-powered inference"; Csillag,
Struchiner, Goedert 2025, "Prediction-powered e-values".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from evenkeel.core.cells import Estimate
from evenkeel.core.verdict import SAME_CONTENT
from evenkeel.monitor.estimate.bounded_mean import bounded_mean, weighted_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.verdict import Verdict


class Sample(NamedTuple):
    """One verdict: what was predicted, and what people say if it was drawn and labelled."""

    predicted: float
    """In [0, 1]."""
    said: float | None
    """In [0, 1]; None for a verdict without a label."""
    share: float
    """Probability with which it was to get a label, in (0, 1]."""


_TRUSTS: Final = (0.5, 1.0)


def prediction_powered_mean(samples: Mapping[Sample, int], *, alpha: float = 0.05) -> Estimate | None:
    """The mean of what people would say of every verdict, with its confidence sequence.

    Args:
        samples: how often each occurred.
        alpha: probability with which the interval may ever miss the truth.

    Returns: an estimate in [0, 1] whose `n` counts labels; None without any.
    """
    n = sum(count for sample, count in samples.items() if sample.said is not None)
    if n == 0:
        return None
    lower, upper = 0.0, 1.0
    for trust in _TRUSTS:
        found = _increments(samples, trust, alpha=alpha / len(_TRUSTS))
        lower, upper = max(lower, found.lower), min(upper, found.upper)
    value = prediction_powered_value(samples, best_trust(samples))
    lower, upper = min(lower, upper), max(lower, upper)
    return Estimate(min(max(value, lower), upper), lower, upper, n)


def _increments(samples: Mapping[Sample, int], trust: float, *, alpha: float) -> Estimate:
    histogram: dict[float, int] = {}
    most = max(1 / sample.share for sample in samples)
    for sample, count in samples.items():
        increment = trust * sample.predicted
        if sample.said is not None:
            increment += (sample.said - trust * sample.predicted) / sample.share
        histogram[increment] = histogram.get(increment, 0) + count
    found = bounded_mean(histogram, low=-trust * (most - 1), high=most, alpha=alpha)
    assert found is not None
    return found


def prediction_powered_value(samples: Mapping[Sample, int], trust: float) -> float:
    """The mean of `trust` · predictions, plus the weighted mean of what people say beyond that."""
    n = sum(samples.values())
    predicted = sum(sample.predicted * count for sample, count in samples.items()) / n
    beyond = weights = 0.0
    for sample, count in samples.items():
        if sample.said is not None:
            weight = count / sample.share
            beyond += (sample.said - trust * sample.predicted) * weight
            weights += weight
    return trust * predicted + beyond / weights


def best_trust(samples: Mapping[Sample, int]) -> float:
    """The trust of least variance, in [0, 1]: cov(said, predicted) / ((1 + n/N) · var(predicted))."""
    labelled = [(sample, count) for sample, count in samples.items() if sample.said is not None]
    every, n = sum(samples.values()), sum(count for _, count in labelled)
    predicted = sum(sample.predicted * count for sample, count in samples.items()) / every
    variance = sum((sample.predicted - predicted) ** 2 * count for sample, count in samples.items()) / every
    if n < 2 or variance == 0:  # noqa: PLR2004 - a covariance needs two
        return 0.0
    mean_said = sum((sample.said or 0.0) * count for sample, count in labelled) / n
    mean_predicted = sum(sample.predicted * count for sample, count in labelled) / n
    together = sum(
        ((sample.said or 0.0) - mean_said) * (sample.predicted - mean_predicted) * count
        for sample, count in labelled
    )
    return min(1.0, max(0.0, together / (n - 1) / ((1 + n / every) * variance)))


DecidedBy = Literal["judge", "heuristic", "metrics", "form"]
"""The judge; what heuristics proved beside a judge, audited or not; heuristics without a judge; the format or
language that was asked for and not given."""


class Stratum(NamedTuple):
    """Verdicts with the same rating by the same decider."""

    decided_by: DecidedBy
    rating: int
    """0 = unsure."""
    shifted: bool

    @property
    def name(self) -> str:
        """In a word."""
        return f"{self.decided_by}:{self.rating}:{int(self.shifted)}"

    @classmethod
    def named(cls, name: str) -> Stratum:
        """Read what `name` wrote."""
        decided_by, rating, shifted = name.split(":")
        return cls(decided_by, int(rating), shifted == "1")  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def stratum(*, judged: bool, proven: int | None, rating: int | None, shifted: bool) -> Stratum:
    """The stratum of a pair of answers.

    Args:
        judged: whether a judge decides what heuristics leave open.
        proven: the rating that heuristics decided, None if they did not.
        rating: the one that counts.
        shifted: whether the content moved.
    """
    if not judged:
        return Stratum("metrics", rating or 0, shifted)
    if proven is not None:
        return Stratum("heuristic", proven, proven < SAME_CONTENT)
    return Stratum("judge", rating or 0, shifted)


def strata_of(verdict: Verdict) -> tuple[Stratum | None, Stratum | None]:
    """The strata of a trial and of its resend; None where it is not known whether the content moved."""
    judged = verdict.scoring.scorer == "judge"
    trial = resend = None
    shifted, control_shifted = verdict.shifted, verdict.control.shifted
    if verdict.invalid:
        trial = Stratum("form", 0, shifted=True)
    elif shifted is not None:
        trial = stratum(judged=judged, proven=verdict.proven, rating=verdict.rating, shifted=shifted)
    if control_shifted is not None:
        resend = stratum(
            judged=judged,
            proven=verdict.control.proven,
            rating=verdict.control.rating,
            shifted=control_shifted,
        )
    return trial, resend


class Share(NamedTuple):
    """A share that is known from a sample: its value, and an interval that holds it."""

    value: float
    lower: float
    upper: float


@dataclass(slots=True)
class Tally:
    """How often something shifted, each observation weighted by one over its probability."""

    shifted: float = 0.0
    same: float = 0.0
    squares: float = 0.0
    """Sum of the squared weights."""
    n: int = 0

    def add(self, weight: float, *, shifted: bool, times: int = 1) -> None:
        """Count an observation, or with `times` −1 take it back."""
        if shifted:
            self.shifted += times * weight
        else:
            self.same += times * weight
        self.squares += times * weight**2
        self.n += times

    @property
    def mean(self) -> float:
        """The weighted share that shifted; of at least one observation."""
        return self.shifted / (self.shifted + self.same)

    @property
    def effective(self) -> float:
        """How many observations of equal weight say as much (Kish)."""
        return (self.shifted + self.same) ** 2 / self.squares if self.n else 0.0

    def towards(self, prior: float) -> float:
        """The share, shrunk to a prior that weighs as much as four observations."""
        known = self.effective
        return (_PRIOR * prior + known * self.mean) / (_PRIOR + known) if self.n else prior

    def interval(self, prior: float, alpha: float) -> Share:
        """The shrunk share, and an interval for the true one; the prior alone without observations."""
        value = self.towards(prior)
        if not self.n:
            return Share(value, value, value)
        known = max(1, round(self.effective))
        hits = round(self.mean * known)
        found = bounded_mean({0.0: known - hits, 1.0: hits}, alpha=alpha)
        assert found is not None
        return Share(value, min(value, found.lower), max(value, found.upper))


_PRIOR: Final = 4.0
"""Observations that what the rating says is worth."""


@dataclass(slots=True)
class Truth:
    """What is known about the share of each stratum that truly shifted.

    *Labels* say it of any stratum. *Audits* say what the judge makes of pairs that heuristics decided: as
    long as nobody has labelled what the judge decides, these count as the judge would have them, so that
    both answers of a comparison are measured with the same errors. The more labels, the less that counts: it
    loses weight just as the judge's rating does in the strata that it shifts.
    """

    labels: dict[str, Tally] = field(default_factory=dict)
    """By the name of the stratum."""
    audits: dict[str, Tally] = field(default_factory=dict)

    @property
    def labelled(self) -> int:
        """Labels behind it."""
        return sum(tally.n for tally in self.labels.values())

    @property
    def audited(self) -> int:
        """Audited pairs behind it."""
        return sum(tally.n for tally in self.audits.values())

    def expected(self, of: Stratum) -> float:
        """The share of a stratum that truly shifted, in [0, 1], as far as it is known."""
        own = float(of.shifted)
        if not self.labels and not self.audits:
            return own
        said, audited = self.labels.get(of.name, _NOTHING), self.audits.get(of.name, _NOTHING)
        if not audited.n:
            return said.towards(own)
        told = self._told()
        return told * said.towards(own) + (1 - told) * audited.towards(own)

    def increment(self, of: Stratum) -> float:
        """What a trial of a stratum counts as in an alert: its rating less the mean error of its decider.

        Not the share that shifted so far: that was learned while answers hardly ever moved, and would hide it
        when they begin to.
        """
        own, audited = float(of.shifted), self.audits.get(of.name, _NOTHING)
        error, told = self._error(of.decided_by)
        if not audited.n:
            return own - error
        if of.decided_by != "judge":
            told = self._error("judge")[1]
        return told * (own - error) + (1 - told) * audited.towards(own)

    def _error(self, decided_by: DecidedBy) -> tuple[float, float]:
        """How much more often a decider says "shifted" than people do, shrunk to 0, with its error."""
        wrong = weight = squares = 0.0
        for name, tally in self.labels.items():
            if tally.n and name.startswith(decided_by):
                wrong += tally.same if Stratum.named(name).shifted else -tally.shifted
                weight += tally.shifted + tally.same
                squares += tally.squares
        if not weight:
            return 0.0, 0.0
        known = weight**2 / squares
        told = known / (known + _PRIOR)
        return told * wrong / weight, told

    def interval(self, of: Stratum, alpha: float) -> Share:
        """The expected share with a confidence sequence, as far as there are labels or audits of it."""
        own = float(of.shifted)
        said, audited = self.labels.get(of.name, _NOTHING), self.audits.get(of.name, _NOTHING)
        if not audited.n:
            return said.interval(own, alpha)
        told = self._told()
        ends = zip(said.interval(own, alpha / 2), audited.interval(own, alpha / 2), strict=True)
        return Share(*(told * by_people + (1 - told) * by_judge for by_people, by_judge in ends))

    def label(self, name: str) -> Tally:
        """The labels of a stratum, to count one more."""
        return self.labels.setdefault(name, Tally())

    def audit(self, name: str) -> Tally:
        """The audits of a stratum, to count one more."""
        return self.audits.setdefault(name, Tally())

    def _told(self) -> float:
        """How far people have replaced the judge where it says that content moved, in [0, 1)."""
        known = sum(
            tally.effective
            for name, tally in self.labels.items()
            if name.startswith("judge") and Stratum.named(name).shifted
        )
        return known / (known + _PRIOR)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            what: {name: [one.shifted, one.same, one.squares, one.n] for name, one in tallies.items()}
            for what, tallies in (("labels", self.labels), ("audits", self.audits))
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Truth:
        """Read what `to_json` wrote."""
        read = {
            what: {name: Tally(*numbers) for name, numbers in raw[what].items()}
            for what in ("labels", "audits")
        }
        return cls(**read)


_NOTHING: Final = Tally()


class Rated(NamedTuple):
    """Trials of one kind."""

    trial: Stratum
    resend: Stratum | None
    """None for a plain rate."""
    weight: float = 1.0
    """What each counts for, in (0, 1]."""


def corrected_mean(pairs: Mapping[Rated, int], truth: Truth, *, alpha: float) -> Estimate | None:
    """The mean of how much more often a trial truly shifted than its resend, or how often, with interval.

    Half of the error is for the sample of trials, half for what is known of the strata.

    Args:
        pairs: how often each occurred; all have a resend, or none has.
        truth: of the strata.
        alpha: probability with which the interval may ever miss the truth.
    """
    n = sum(pairs.values())
    if n == 0:
        return None
    total = sum(rated.weight * count for rated, count in pairs.items())
    histogram: dict[tuple[float, float], int] = {}
    net: dict[Stratum, float] = {}
    paired = False
    for (trial, resend, weight), count in pairs.items():
        increment = truth.expected(trial)
        net[trial] = net.get(trial, 0.0) + weight * count / total
        if resend is not None:
            paired = True
            increment -= truth.expected(resend)
            net[resend] = net.get(resend, 0.0) - weight * count / total
        histogram[increment, weight] = histogram.get((increment, weight), 0) + count
    low = -1.0 if paired else 0.0
    found = weighted_mean(histogram, low=low, alpha=alpha / 2)
    assert found is not None
    lower, upper = found.lower, found.upper
    for of, weight in net.items():
        share = truth.interval(of, alpha / 2 / len(net))
        down, up = share.value - share.lower, share.upper - share.value
        lower -= weight * down if weight > 0 else -weight * up
        upper += weight * up if weight > 0 else -weight * down
    return Estimate(found.value, max(low, lower), min(1.0, upper), n)
