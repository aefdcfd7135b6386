"""The gate itself: takes goldens one by one and knows when to stop."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure
from evenkeel.experiments.gate.evidence import (
    Bounds,
    bounds,
    log_evidence,
    log_evidence_below,
    mirrored,
    needed,
)
from evenkeel.experiments.gate.report import Finding, GateReport, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.experiments.gate.report import Measure, State
    from evenkeel.experiments.gate.rules import GateRules


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
