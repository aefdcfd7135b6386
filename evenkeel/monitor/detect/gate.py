"""Gate that compares a candidate with a reference, golden by golden, and stops once evidence settles it.

The decision is that of `evenkeel.monitor.detect.decision`, which challengers and `evenkeel check` use as
well. Most of alpha and beta is kept for its last look, at all clusters.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from math import ceil
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core.cells import Estimate
from evenkeel.core.figures import percent
from evenkeel.core.verdict import Failure
from evenkeel.monitor.detect.decision import (
    SwitchDecision,
    SwitchMeasure,
    anytime_mean,
    decide,
    more_needed,
    paired_mean,
)
from evenkeel.monitor.detect.last_look import Pairs, mirrored, p_value, score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.monitor.detect.decision import Answer


Undecided = Literal["pass", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """Rules of a gate: the regressions it looks for, and its error probabilities."""

    alpha: float = 0.05
    """Probability, at most, of a regression being reported where no excess is above `tolerance`; over all
    measures together and at any time of looking. In (0, 1)."""
    beta: float = 0.05
    """Probability, at most, of settling on a pass where an excess is at or above `limit`. In (0, 1)."""
    tolerance: float = 0.0
    """Excess share of goldens that counts as no regression, in [0, 1)."""
    margin: float = 0.1
    """Smallest excess above the tolerance that the gate must detect; `tolerance + margin` is below 1."""
    undecided: Undecided = "fail"
    """Verdict if all goldens were asked and neither a regression nor a pass is settled."""
    last_look: float = 0.8
    """Share of alpha and of beta kept for the exact test after the last golden, in [0, 1)."""
    most_unmeasured: float = 0.1
    """Share of unmeasured goldens above which there is no verdict, in [0, 1]."""

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
        if not 0 <= self.last_look < 1:
            raise ValueError(f"the last look's share is from 0 to below 1, not {self.last_look:g}")

    @property
    def limit(self) -> float:
        """Excess at which a pass would be an error."""
        return self.tolerance + self.margin


class GateVerdict(StrEnum):
    """Outcome of the gate for a candidate."""

    PASS = "pass"  # noqa: S105 - a word of the domain
    REGRESSION = "regression"
    UNDECIDED = "undecided"
    """Verdict if all goldens were asked and settle nothing."""
    COULD_NOT_MEASURE = "could_not_measure"


State = Literal["regression", "pass", "not_settled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateMeasure:
    """Property that an answer either breaches or not."""

    name: str
    decides: bool = True
    """True if it can fail the gate; other measures are only reported."""
    why_not: str = ""
    """Reason why it does not decide, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFinding:
    """Result for one measure."""

    measure: GateMeasure
    state: State
    """State of the evidence about it."""
    n: int
    """Number of goldens behind the result."""
    clusters: int
    """Number of clusters that these goldens form; each counts once in all figures."""
    candidate: float
    """Share of the candidate's answers that breach the measure, in [0, 1]."""
    reference: float | None
    """Share of the reference's answers that breach the measure: the noise floor. None without a reference."""
    excess: float
    """Candidate minus reference, in [−1, 1]."""
    lower: float
    upper: float
    """Ends of the excess's interval. They hold at all looks together: the lower one at the level
    of the gate's alpha, shared among the measures that decide, the upper one at that of beta."""
    settled_after: int | None = None
    """Number of goldens after which it was settled; None if it is not."""
    p_value: float | None = None
    """P-value of the exact test after the last golden if that test settled it; else None."""
    needed: int | None = None
    """Number of clusters that would settle it at the rates so far; None if it is settled or never will be."""
    unmeasured: Mapping[str, int]
    """Goldens without a result for the measure, by reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """Verdict of the gate, with the results behind it."""

    verdict: GateVerdict
    settled: bool
    """True if the evidence decided. If not, all goldens were asked and the rules for that case decided."""
    reason: str
    """Reason why nothing could be measured, in a sentence; "" for the other verdicts."""
    rules: GateRules
    findings: tuple[GateFinding, ...]
    goldens: int
    """Number of goldens."""
    asked: int
    """Number of goldens for which both sides were asked."""
    measured: int
    """Goldens among these for which every deciding measure is known."""
    unmeasured: Mapping[str, int]
    """Goldens among these that lack a deciding measure, by reason."""
    left_out: Mapping[str, int]
    """Goldens that cannot be asked at all, by reason."""
    with_reference: bool
    """True if the noise floor was subtracted."""

    @property
    def deciding(self) -> list[GateFinding]:
        """Return the findings that can fail the gate."""
        return [finding for finding in self.findings if finding.measure.decides]


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of the answers to one golden that breach a measure: 0 or 1, or in between with repeats."""

    candidate: float
    reference: float | None
    """None where no reference is asked."""

    @property
    def difference(self) -> float:
        """Candidate's share minus the reference's, in [−1, 1]; the former alone without a reference."""
        return self.candidate - (self.reference or 0.0)


# Sums of floats may miss a limit that they reach exactly.
_SLACK: Final = 1e-9
_STATES: Final[Mapping[Answer, State]] = {
    "must_not": "regression",
    "may_switch": "pass",
    "not_yet": "not_settled",
}

Measured = dict[str, Shares | Failure]
"""Results for one golden by measure. Measures that do not concern the golden are left out."""


@dataclass(slots=True)
class _GateRun:
    """Evidence about one measure so far."""

    counts: Counter[float] = field(default_factory=Counter)
    """Clusters by their mean difference."""
    candidate: float = 0.0
    reference: float = 0.0
    """Sums of the shares, cluster by cluster."""
    of_goldens: float = 0.0
    """Sum of the differences, golden by golden."""
    n: int = 0
    """Number of goldens."""
    open: list[Shares] = field(default_factory=list)
    """Goldens of the cluster that is not complete yet."""
    unmeasured: Counter[str] = field(default_factory=Counter)
    lower: float = -1.0
    upper: float = 1.0
    """Ends of the excess's interval, the tightest of all looks."""
    settled_after: int | None = None
    p_value: float | None = None

    @property
    def mean(self) -> Estimate | None:
        """Return the excess with its interval; None before the first cluster is complete."""
        clusters = self.counts.total()
        if not clusters:
            return None
        return Estimate((self.candidate - self.reference) / clusters, self.lower, self.upper, clusters)


class Gate:
    """Comparison of a candidate with a reference, cluster by cluster, in an order drawn in advance.

    Goldens with nearly equal prompts are answered alike, so they form a cluster and count once. Its
    difference is how much more often the candidate's answers breach a measure than the reference's do, on
    average over its goldens. The lower end of its interval misses with alpha shared among the measures that
    decide (Bonferroni), the upper one with beta, each at all looks together. One regression settles the gate;
    a pass needs all measures, and an excess over goldens instead of clusters that is below the limit, too:
    a large cluster may not be outvoted. The clusters stand for the requests they were taken from: each is
    one draw, and more goldens in it or repeats only make its difference sharper.
    """

    def __init__(
        self, rules: GateRules, measures: Sequence[GateMeasure], *, goldens: int, with_reference: bool = True
    ) -> None:
        """Start a gate.

        Args:
            rules: Rules of the decision.
            measures: Measures that are compared.
            goldens: Number of goldens.
            with_reference: Whether each golden comes with the reference's answers.

        Raises: ValueError if no measure decides.
        """
        deciding = []
        for measure in measures:
            if measure.decides:
                deciding.append(measure)
        if not deciding:
            raise ValueError("no measure can fail the gate")
        self.rules = rules
        self.measures = tuple(measures)
        self._goldens = goldens
        self._with_reference = with_reference
        self._deciding = [measure.name for measure in deciding]
        self._alpha = rules.alpha / len(deciding)
        self._runs = {measure.name: _GateRun() for measure in measures}
        self._unmeasured: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._asked = 0
        self._cluster: str | None = None

    @property
    def asked(self) -> int:
        """Number of goldens taken so far."""
        return self._asked

    @property
    def settled(self) -> bool:
        """True if no further golden is needed: a regression, only passes, or too many failures."""
        answer = self._decision(self._deciding).answer
        if answer == "must_not" or self._too_many(self._goldens):
            return True
        return answer == "may_switch" and not self._too_many(self._asked)

    def _decision(self, names: Sequence[str]) -> SwitchDecision:
        rules = self.rules
        return decide(
            [SwitchMeasure(name, self._runs[name].mean, rules.limit, rules.tolerance) for name in names]
        )

    def _state(self, name: str) -> State:
        return _STATES[self._decision([name]).answer]

    def leave_out(self, failure: Failure) -> None:
        """Count a golden that cannot be asked, before any is taken."""
        self._left_out[failure.reason] += 1

    def take(self, golden: Measured | Failure, cluster: str | None = None) -> None:
        """Take the next golden.

        Args:
            golden: Its shares, or the failure that left it without any.
            cluster: Its cluster, whose goldens come one after the other; None = it is one of its own.
        """
        # Goldens of a cluster come one after the other, so another name closes it.
        if cluster is None or cluster != self._cluster:
            self._close()
        self._cluster = cluster
        self._asked += 1
        if isinstance(golden, Failure):
            self._unmeasured[golden.reason] += 1
            return
        why = None
        for name, run in self._runs.items():
            shares = golden.get(name)
            if isinstance(shares, Shares):
                run.n += 1
                run.of_goldens += shares.difference
                run.open.append(shares)
            elif shares is not None:
                run.unmeasured[shares.reason] += 1
                if name in self._deciding and why is None:
                    why = shares.reason
        if why is not None:
            self._unmeasured[why] += 1
        if cluster is None:
            self._close()

    def report(self, cut_short: str = "") -> GateReport:
        """Return the verdict on the goldens taken so far.

        Args:
            cut_short: Why the gate had to stop before it was settled, if it had to.
        """
        self._close()
        everything = self._asked + self._left_out.total() >= self._goldens
        if everything and not cut_short and not self.settled:
            for name, run in self._runs.items():
                if run.counts and self._state(name) == "not_settled":
                    self._look(name, run, complete=True)
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
        """Return whether too many goldens are lost: left out of all, plus failed of those asked."""
        left_out = self._left_out.total() / max(self._goldens, 1)
        failed = self._unmeasured.total() / max(asked, 1)
        # Shares such as 0.1 are not exact: a tenth of the goldens is not more than a tenth.
        return left_out + failed > self.rules.most_unmeasured + _SLACK

    def _close(self) -> None:
        for name, run in self._runs.items():
            if not run.open:
                continue
            size = len(run.open)
            candidate = sum(shares.candidate for shares in run.open) / size
            reference = sum(shares.reference or 0.0 for shares in run.open) / size
            run.candidate += candidate
            run.reference += reference
            run.counts[candidate - reference] += 1
            run.open = []
            self._look(name, run)

    def _look(self, name: str, run: _GateRun, *, complete: bool = False) -> None:
        """Narrow a measure's interval by all that was taken, and note when that settles it."""
        rules = self.rules
        mean = paired_mean(
            run.counts,
            alpha=self._alpha,
            beta=rules.beta,
            last_look=rules.last_look,
            complete=complete,
            unrated=run.unmeasured.total(),
        )
        if mean is None:
            return
        run.lower = max(run.lower, mean.lower)
        # A pass needs the excess over goldens below the limit, too: a large cluster may not be outvoted.
        run.upper = min(run.upper, max(mean.upper, run.of_goldens / run.n))
        state = self._state(name)
        if run.settled_after is not None or state == "not_settled":
            return
        run.settled_after = run.n
        if complete:
            against_pass = mirrored(run.counts), -rules.limit
            seen, line = (run.counts, rules.tolerance) if state == "regression" else against_pass
            if line == 0 or Pairs.of(seen) is not None:
                run.p_value = p_value(seen, line)

    def _verdict(self, measured: int, cut_short: str) -> tuple[GateVerdict, bool, str]:
        """Return the verdict, whether evidence settled it, and why nothing was measured."""
        answer = self._decision(self._deciding).answer
        if answer == "must_not":
            return GateVerdict.REGRESSION, True, ""
        trouble = cut_short or self._trouble(measured)
        if not trouble and answer == "may_switch":
            trouble = self._no_room()
        if trouble:
            return GateVerdict.COULD_NOT_MEASURE, False, trouble
        if answer == "may_switch":
            return GateVerdict.PASS, True, ""
        return (GateVerdict.PASS if self.rules.undecided == "pass" else GateVerdict.UNDECIDED), False, ""

    def _trouble(self, measured: int) -> str:
        if self._goldens == 0:
            return "there is no golden to ask"
        if self._too_many(self._asked) or measured == 0:
            lost = []
            if self._left_out:
                lost.append(_listed(self._left_out, f"of {self._goldens} goldens cannot be asked"))
            if self._unmeasured:
                lost.append(_listed(self._unmeasured, f"of {self._asked} asked could not be measured"))
            return "; ".join(lost)
        silent = []
        for name in self._deciding:
            if self._runs[name].n == 0:
                silent.append(name)
        return f"nothing is known about {', '.join(silent)}" if silent else ""

    def _no_room(self) -> str:
        """Return why a worse candidate would have passed as well; "" if it would not.

        Where the reference breaches nearly all goldens, no candidate can breach the margin more of them.
        """
        for name in self._deciding:
            run = self._runs[name]
            share = run.reference / max(run.counts.total(), 1)
            if share > 1 - self.rules.limit:
                return (
                    f"the reference itself breaches {name} in {percent(share)} of the goldens, so no "
                    "candidate could be shown to be worse; approve answers of the model that runs today"
                )
        return ""

    def _finding(self, measure: GateMeasure) -> GateFinding:
        run, state = self._runs[measure.name], self._state(measure.name)
        n = max(run.counts.total(), 1)
        return GateFinding(
            measure=measure,
            state=state,
            n=run.n,
            clusters=run.counts.total(),
            candidate=run.candidate / n,
            reference=run.reference / n if self._with_reference else None,
            excess=(run.candidate - run.reference) / n,
            lower=run.lower,
            upper=run.upper,
            settled_after=run.settled_after,
            p_value=run.p_value,
            needed=self._needed(run) if state == "not_settled" else None,
            unmeasured=dict(run.unmeasured.most_common()),
        )

    def _needed(self, run: _GateRun) -> int | None:
        """Return the number of clusters that would settle one side, if rates stay as they are."""
        rules, pairs = self.rules, Pairs.of(run.counts)
        ways: list[int | None] = []
        if pairs is not None and rules.last_look:
            other_side = Pairs(pairs.better, pairs.worse, pairs.n)
            ways += [
                _needed_at_last(pairs, rules.tolerance, self._alpha * rules.last_look),
                _needed_at_last(other_side, -rules.limit, rules.beta * rules.last_look),
            ]
        elif run.mean is not None:
            for line in (rules.tolerance, rules.limit):
                more = more_needed(run.mean, line, run.mean.n)
                ways.append(None if more is None else run.mean.n + more)
        return min((way for way in ways if way is not None), default=None)


def _needed_at_last(pairs: Pairs, threshold: float, level: float) -> int | None:
    """Return the rough number of clusters with which the last look would rule out "at most `threshold`"."""
    standing = score(pairs, threshold) if pairs.n else 0.0
    if standing <= 0:
        return None
    # The score grows with the root of the number.
    return max(pairs.n + 1, ceil(pairs.n * (NormalDist().inv_cdf(1 - level) / standing) ** 2))


def _listed(reasons: Counter[str], what: str) -> str:
    listed = ", ".join(f"{reason}: {count}" for reason, count in reasons.most_common())
    return f"{reasons.total()} {what} ({listed})"


def least_clusters(rules: GateRules) -> int:
    """Return the fewest clusters that settle a pass if no answer differs; if the reference errs, fewer do."""
    return _fewest(0.0, -rules.limit, rules.beta, rules)


def least_for_regression(rules: GateRules, measures: int) -> int:
    """Return the fewest clusters that can settle a regression, which is when every answer got worse.

    Args:
        rules: Rules of the decision.
        measures: Number of measures that decide.
    """
    return _fewest(1.0, rules.tolerance, rules.alpha / measures, rules)


def _fewest(difference: float, threshold: float, level: float, rules: GateRules) -> int:
    """Return the fewest clusters, all of one difference, that rule out "at most `threshold`"."""
    for n in count(1):
        mean = anytime_mean({difference: n}, alpha=level * (1 - rules.last_look), beta=level)
        assert mean is not None
        if mean.lower > threshold or p_value({difference: n}, threshold) <= level * rules.last_look:
            return n
    raise AssertionError("a difference above the threshold is shown some time")
