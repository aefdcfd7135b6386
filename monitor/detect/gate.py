"""The gate: compares a candidate with a reference, golden by golden, and stops once the evidence settles it.

The evidence is about a mean difference, as a function of how often each difference was seen. The bets are
those of the detector (`evenkeel.monitor.detect.e_detector`), but each gambler plays from the first golden
on and never starts again: a change is not looked for, the candidate stays the same. Their mean wealth is a
test supermartingale while the mean difference is at most the threshold, so it reaches 1/alpha at any time
with probability alpha at most (Ville), however often one looks. A wealth does not depend on the order of
the differences, so a count of each is all that has to be kept.

Source: Waudby-Smith, Ramdas 2024, "Estimating means of bounded random variables by betting".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil, exp, log, log1p
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core.verdict import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


Undecided = Literal["pass", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """The statement that a verdict makes, and how sure it is."""

    alpha: float = 0.05
    """Probability, at most, of a regression being reported where no excess is above `tolerance`; over all
    measures together and at any time of looking. In (0, 1)."""
    beta: float = 0.05
    """Probability, at most, of settling on a pass where an excess is at or above `limit`. In (0, 1)."""
    tolerance: float = 0.0
    """Excess share of goldens that is no regression, in [0, 1)."""
    margin: float = 0.1
    """How much above the tolerance an excess must not be overlooked; `tolerance + margin` is below 1."""
    undecided: Undecided = "pass"
    """What it comes to if all goldens were asked and neither is settled."""
    most_unmeasured: float = 0.1
    """Share of goldens beyond which too many could not be measured for any verdict, in [0, 1]."""

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < 1:
                raise ValueError(f"{name} is a probability between 0 and 1, not {value:g}")
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"the tolerance is a share from 0 to below 1, not {self.tolerance:g}")
        if not 0 < self.margin < 1 - self.tolerance:
            raise ValueError(
                f"the margin is a share above 0 that leaves tolerance + margin below 1, not {self.margin:g}"
            )
        if not 0 <= self.most_unmeasured <= 1:
            raise ValueError(f"the share that may fail is between 0 and 1, not {self.most_unmeasured:g}")

    @property
    def limit(self) -> float:
        """The excess from which on a pass would be an error."""
        return self.tolerance + self.margin


class Verdict(StrEnum):
    """The outcome for a candidate."""

    PASS = "pass"  # noqa: S105 - a word of the domain
    REGRESSION = "regression"
    COULD_NOT_MEASURE = "could_not_measure"


State = Literal["regression", "pass", "not_settled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Something that an answer either breaches or not."""

    name: str
    decides: bool = True
    """Whether it can fail the gate; the others are only reported."""
    why_not: str = ""
    """Why it does not decide, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found about one measure."""

    measure: Measure
    state: State
    """What is settled about it."""
    n: int
    """Goldens behind it."""
    candidate: float
    """Share of the candidate's answers that breach it, in [0, 1]."""
    reference: float | None
    """The same for the reference: the noise floor. None where no reference was asked."""
    excess: float
    """Candidate minus reference, in [−1, 1]."""
    lower: float
    upper: float
    """Ends of the excess's interval. They hold at any time of looking together: the lower one at the level
    of the gate's alpha, shared among the measures that decide, the upper one at that of beta."""
    settled_after: int | None = None
    """Goldens after which it was settled; None if it is not."""
    needed: int | None = None
    """Goldens that would settle it if they go on as so far; None if it is settled or never will be."""
    unmeasured: Mapping[str, int]
    """Goldens about which it says nothing, by reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """The verdict and what it rests on."""

    verdict: Verdict
    settled: bool
    """Whether the evidence decided; else the goldens were all asked and the rules for that case did."""
    reason: str
    """Why nothing could be measured, in a sentence; "" for the other verdicts."""
    rules: GateRules
    findings: tuple[Finding, ...]
    goldens: int
    """Goldens there are."""
    asked: int
    """Goldens that were put to both sides until the end."""
    measured: int
    """Of those, the ones of which every deciding measure is known."""
    unmeasured: Mapping[str, int]
    """The others of those, by reason."""
    left_out: Mapping[str, int]
    """Goldens that cannot be asked at all, by reason."""
    with_reference: bool
    """Whether the noise floor was taken off."""


SHARES: Final = (0.25, 0.55, 0.9)
"""Bets as shares of the largest that cannot go broke, 1/(1 + threshold).

Fewer than the detector's, because the sizes that matter are known beforehand: an excess of a tenth or so,
beside noise of 0 to 20 %. In simulations of such cases eight bets from 0.06 to 0.9 took 3 to 18 % more
goldens, and two bets 30 % more at a noise of 20 %.
"""
_END = 1 - 1e-6
"""Bounds are looked for in ±this: a threshold of −1 or 1 cannot be bet against."""
_STEPS = 40
_MOST_NEEDED = 1_000_000


class Bounds(NamedTuple):
    """What is not ruled out of a mean difference, in [−1, 1]."""

    lower: float
    upper: float


def log_evidence(counts: Mapping[float, float], threshold: float) -> float:
    """Natural log of the e-value against "the mean difference is at most `threshold`".

    Args:
        counts: How often each difference in [−1, 1] was seen; need not be whole.
        threshold: In (−1, 1).
    """
    stakes = [share / (1 + threshold) for share in SHARES]
    wealths = [
        sum(count * log1p(stake * (difference - threshold)) for difference, count in counts.items())
        for stake in stakes
    ]
    most = max(wealths)
    return most + log(sum(exp(wealth - most) for wealth in wealths) / len(stakes))


def log_evidence_below(counts: Mapping[float, float], threshold: float) -> float:
    """Natural log of the e-value against "the mean difference is at least `threshold`"."""
    return log_evidence(mirrored(counts), -threshold)


def mirrored(counts: Mapping[float, float]) -> dict[float, float]:
    """The counts with the signs of all differences turned."""
    return {-difference: count for difference, count in counts.items()}


def bounds(counts: Mapping[float, float], alpha: float, beta: float) -> Bounds:
    """The mean differences that the evidence does not rule out.

    Each side is a confidence sequence: the lower bound is ever above the truth with probability at most
    `alpha`, the upper ever below it with at most `beta`. A bound is on the far side of a threshold exactly
    if the evidence against that threshold has reached 1/alpha or 1/beta.

    Returns: (−1, 1) without differences.
    """
    return Bounds(_lower(counts, alpha), -_lower(mirrored(counts), beta))


def needed(counts: Mapping[float, float], threshold: float, alpha: float) -> int | None:
    """How many differences rule out "at most `threshold`" if they go on in the proportions seen so far.

    Returns: the number from the first one on, or None if such evidence never grows (or not within a
        million differences).
    """
    n = sum(counts.values())
    if not n:
        return None
    goal = log(1 / alpha)

    def reached(number: float) -> bool:
        scaled = {difference: count * number / n for difference, count in counts.items()}
        return log_evidence(scaled, threshold) >= goal

    if not reached(_MOST_NEEDED):
        return None
    return ceil(_boundary(lambda number: not reached(number), 0.0, float(_MOST_NEEDED)) - _STEP_LOSS)


_STEP_LOSS = 1e-5
"""More than what bisection leaves open of a number up to a million."""


def _lower(counts: Mapping[float, float], alpha: float) -> float:
    if not counts:
        return -1.0
    goal = log(1 / alpha)
    # A wealth falls with the threshold, so what is ruled out is everything up to one place.
    if log_evidence(counts, -_END) < goal:
        return -1.0
    return _boundary(lambda threshold: log_evidence(counts, threshold) >= goal, -_END, _END)


def _boundary(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where a property that holds at `inside` ends on the way to `outside`; errs inwards."""
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


@dataclass(frozen=True, slots=True)
class Shares:
    """How many of the answers to one golden breach a measure: 0 or 1, or between them with repeats."""

    candidate: float
    reference: float | None
    """None where no reference is asked."""

    @property
    def difference(self) -> float:
        """In [−1, 1]; without a reference the candidate's own share."""
        return self.candidate - (self.reference or 0.0)


_SLACK: Final = 1e-9
_UNKNOWN: Final = Bounds(-1.0, 1.0)

Measured = dict[str, Shares | Failure]
"""One golden, by measure. A measure that does not concern it is left out."""


@dataclass(slots=True)
class _Run:
    """One measure so far."""

    counts: Counter[float] = field(default_factory=Counter)
    candidate: float = 0.0
    reference: float = 0.0
    n: int = 0
    unmeasured: Counter[str] = field(default_factory=Counter)
    state: State = "not_settled"
    settled_after: int | None = None
    at_settling: Bounds = _UNKNOWN


class Gate:
    """Compares a candidate with a reference, golden by golden, in an order drawn beforehand.

    For each golden the difference is how much more often the candidate's answers breach a measure than
    the reference's do. A measure is settled as a regression once the evidence against "the mean difference
    is at most the tolerance" reaches m/alpha, m being the number of measures that decide (Bonferroni), and
    as a pass once that against "it is at least the limit" reaches 1/beta. One regression settles the gate;
    a pass needs them all. The goldens stand for the requests they were taken from: each is one draw, and
    repeats of it only make its difference sharper.
    """

    def __init__(
        self, rules: GateRules, measures: Sequence[Measure], *, goldens: int, with_reference: bool = True
    ) -> None:
        """Begin.

        Args:
            rules: How to decide.
            measures: What is looked at.
            goldens: How many there are.
            with_reference: Whether each golden comes with the reference's answers.

        Raises: ValueError if no measure decides.
        """
        deciding = [measure for measure in measures if measure.decides]
        if not deciding:
            raise ValueError("no measure can fail the gate")
        self.rules = rules
        self.measures = tuple(measures)
        self._goldens = goldens
        self._with_reference = with_reference
        self._deciding = [measure.name for measure in deciding]
        self._alpha = rules.alpha / len(deciding)
        self._runs = {measure.name: _Run() for measure in measures}
        self._unmeasured: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._asked = 0

    @property
    def asked(self) -> int:
        """Goldens taken so far."""
        return self._asked

    @property
    def regression(self) -> bool:
        """Whether a measure that decides is settled as a regression."""
        return any(self._runs[name].state == "regression" for name in self._deciding)

    @property
    def settled(self) -> bool:
        """Whether no further golden is needed: a regression, or nothing but passes, or too many failures."""
        if self.regression or self._too_many(self._goldens):
            return True
        passed = all(self._runs[name].state == "pass" for name in self._deciding)
        return passed and not self._too_many(self._asked)

    def leave_out(self, failure: Failure) -> None:
        """Count a golden that cannot be asked, before any is taken."""
        self._left_out[failure.reason] += 1

    def take(self, golden: Measured | Failure) -> None:
        """Take the next golden: its shares, or why it has none."""
        self._asked += 1
        if isinstance(golden, Failure):
            self._unmeasured[golden.reason] += 1
            return
        why = None
        for name, run in self._runs.items():
            shares = golden.get(name)
            if isinstance(shares, Shares):
                self._add(run, shares)
            elif shares is not None:
                run.unmeasured[shares.reason] += 1
                if name in self._deciding and why is None:
                    why = shares.reason
        if why is not None:
            self._unmeasured[why] += 1

    def report(self, cut_short: str = "") -> GateReport:
        """The verdict, on what was taken until now.

        Args:
            cut_short: Why the gate had to stop before it was settled, if it had to.
        """
        measured = self._asked - self._unmeasured.total()
        verdict, settled, reason = self._verdict(measured, cut_short)
        return GateReport(
            verdict=verdict,
            settled=settled,
            reason=reason,
            rules=self.rules,
            findings=tuple(self._finding(measure) for measure in self.measures),
            goldens=self._goldens,
            asked=self._asked,
            measured=measured,
            unmeasured=dict(self._unmeasured.most_common()),
            left_out=dict(self._left_out.most_common()),
            with_reference=self._with_reference,
        )

    def _too_many(self, asked: int) -> bool:
        """Whether too large a share is lost: of all goldens what was left out, of those asked what failed."""
        left_out = self._left_out.total() / max(self._goldens, 1)
        failed = self._unmeasured.total() / max(asked, 1)
        # Shares such as 0.1 are not exact: a tenth of the goldens is not more than a tenth.
        return left_out + failed > self.rules.most_unmeasured + _SLACK

    def _add(self, run: _Run, shares: Shares) -> None:
        run.n += 1
        run.candidate += shares.candidate
        run.reference += shares.reference or 0.0
        run.counts[shares.difference] += 1
        if run.state != "not_settled":
            return
        if log_evidence(run.counts, self.rules.tolerance) >= log(1 / self._alpha):
            run.state = "regression"
        elif log_evidence_below(run.counts, self.rules.limit) >= log(1 / self.rules.beta):
            run.state = "pass"
        else:
            return
        run.settled_after = run.n
        run.at_settling = bounds(run.counts, self._alpha, self.rules.beta)

    def _verdict(self, measured: int, cut_short: str) -> tuple[Verdict, bool, str]:
        """The verdict, whether evidence settled it, and why nothing was measured."""
        if self.regression:
            return Verdict.REGRESSION, True, ""
        trouble = cut_short or self._trouble(measured)
        if trouble:
            return Verdict.COULD_NOT_MEASURE, False, trouble
        if all(self._runs[name].state == "pass" for name in self._deciding):
            return Verdict.PASS, True, ""
        return (Verdict.PASS if self.rules.undecided == "pass" else Verdict.REGRESSION), False, ""

    def _trouble(self, measured: int) -> str:
        """Why the goldens allow no verdict; "" if they do."""
        if self._goldens == 0:
            return "there is no golden to ask"
        if self._too_many(self._asked) or measured == 0:
            lost = []
            if self._left_out:
                lost.append(_listed(self._left_out, f"of {self._goldens} goldens cannot be asked"))
            if self._unmeasured:
                lost.append(_listed(self._unmeasured, f"of {self._asked} asked could not be measured"))
            return "; ".join(lost)
        silent = [name for name in self._deciding if self._runs[name].n == 0]
        return f"nothing is known about {', '.join(silent)}" if silent else ""

    def _finding(self, measure: Measure) -> Finding:
        run = self._runs[measure.name]
        now = bounds(run.counts, self._alpha, self.rules.beta)
        at = run.at_settling
        n = max(run.n, 1)
        return Finding(
            measure=measure,
            state=run.state,
            n=run.n,
            candidate=run.candidate / n,
            reference=run.reference / n if self._with_reference else None,
            excess=(run.candidate - run.reference) / n,
            lower=max(now.lower, at.lower),
            upper=min(now.upper, at.upper),
            settled_after=run.settled_after,
            needed=self._needed(run.counts) if run.state == "not_settled" else None,
            unmeasured=dict(run.unmeasured.most_common()),
        )

    def _needed(self, counts: Mapping[float, float]) -> int | None:
        """Goldens until one side or the other would be settled."""
        ways = (
            needed(counts, self.rules.tolerance, self._alpha),
            needed(mirrored(counts), -self.rules.limit, self.rules.beta),
        )
        return min((way for way in ways if way is not None), default=None)


def _listed(reasons: Counter[str], what: str) -> str:
    said = ", ".join(f"{reason}: {count}" for reason, count in reasons.most_common())
    return f"{reasons.total()} {what} ({said})"


def least_goldens(rules: GateRules) -> int:
    """The fewest goldens that can settle a pass: as many as are needed if no answer ever differs."""
    found = needed({0.0: 1.0}, -rules.limit, rules.beta)
    assert found is not None, "evidence of no difference at all grows with every golden"
    return found
