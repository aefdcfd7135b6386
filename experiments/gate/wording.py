"""The outcome in words that all reports share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import duration, number, percent, usd
from evenkeel.experiments.gate.report import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.experiments.gate.outcome import Outcome
    from evenkeel.experiments.gate.report import Finding, GateReport

VERDICTS: Final = {
    Verdict.PASS: "PASS",
    Verdict.REGRESSION: "REGRESSION",
    Verdict.COULD_NOT_MEASURE: "COULD NOT MEASURE",
}
STATES: Final = {"regression": "regression", "pass": "pass", "not_settled": "not settled"}


def headline(report: GateReport) -> str:
    """The verdict and its reason in one sentence."""
    word = VERDICTS[report.verdict]
    deciding = [finding for finding in report.findings if finding.measure.decides]
    if report.verdict is Verdict.COULD_NOT_MEASURE:
        return f"{word}: {report.reason}."
    if not report.settled:
        which = [finding for finding in deciding if finding.state == "not_settled"]
        said = "; ".join(f"{finding.measure.name} {excess(finding)}" for finding in which)
        deed = "passes" if report.verdict is Verdict.PASS else "fails"
        return f"{word} only because what is undecided {deed} (--undecided). Not settled: {said}."
    if report.verdict is Verdict.REGRESSION:
        which = [finding for finding in deciding if finding.state == "regression"]
        said = "; ".join(f"{finding.measure.name} {excess(finding)}" for finding in which)
        return f"{word}: {said} over {_beside(report)}."
    return (
        f"{word}: an excess of {percent(report.rules.limit)} or more over {_beside(report)} is ruled out for "
        f"{', '.join(finding.measure.name for finding in deciding)}."
    )


def _beside(report: GateReport) -> str:
    if report.with_reference:
        return "the reference"
    return "nothing: no reference was asked, so the noise floor is part of it"


def excess(finding: Finding) -> str:
    """As in "+14 % [3 %, 27 %]"."""
    sign = "+" if finding.excess > 0 else ""
    return f"{sign}{percent(finding.excess)} [{percent(finding.lower)}, {percent(finding.upper)}]"


def settled(finding: Finding) -> str:
    """When it was settled, or how many goldens are lacking."""
    if finding.n == 0:
        return "not measured"
    if finding.settled_after is not None:
        return f"after {number(finding.settled_after)}"
    if finding.needed is None:
        return "never, if it goes on like this"
    if finding.needed <= finding.n:
        return "at the next golden or so"
    return f"about {number(finding.needed)} needed"


def noise(finding: Finding) -> str:
    """The reference's share, "–" without one."""
    return "–" if finding.reference is None else percent(finding.reference)


def role(finding: Finding) -> str:
    """The measure's state, and if it does not decide, why."""
    if finding.measure.decides:
        return STATES[finding.state]
    return f"{STATES[finding.state]} ({finding.measure.why_not}: does not decide)"


def lost(report: GateReport, details: Mapping[str, str]) -> list[str]:
    """Which goldens say nothing, in a sentence each.

    Args:
        report: Of the gate.
        details: What was said about each reason.
    """
    found = []
    for reasons, of, what in (
        (report.left_out, report.goldens, "cannot be asked"),
        (report.unmeasured, report.asked, "could not be measured"),
    ):
        if reasons:
            most = next(iter(reasons))
            said = ", ".join(f"{reason} {number(count)}" for reason, count in reasons.items())
            detail = f"; {most}: {details[most]}" if details.get(most) else ""
            found.append(f"{number(sum(reasons.values()))} of {number(of)} goldens {what} ({said}){detail}.")
    return found


def effort(outcome: Outcome) -> str:
    """Calls, what stopping early saved, tokens, dollars, time."""
    ledger = outcome.ledger
    share = outcome.saved_calls / outcome.planned_calls if outcome.planned_calls else 0.0
    tokens = ledger.prompt_tokens + ledger.completion_tokens + ledger.judge_tokens
    saved = f", {number(outcome.saved_calls)} ({percent(share)}) saved by stopping early"
    return (
        f"{number(ledger.calls)} calls of {number(outcome.planned_calls)}, {number(ledger.remembered)} "
        f"remembered{saved if outcome.report.settled else ''}; "
        f"{number(tokens)} tokens, {usd(ledger.cost_usd)}, {duration(outcome.duration_s)}"
    )


def rule(report: GateReport) -> str:
    """What the verdict means, in two sentences."""
    rules = report.rules
    return (
        f"If no measure is really more than {percent(rules.tolerance)} above the reference, the evidence "
        f"settles on a regression with probability {percent(rules.alpha)} at most. If one is "
        f"{percent(rules.limit)} above it, it settles on a pass with probability {percent(rules.beta)} at "
        "most."
    )


def goldens(report: GateReport) -> str:
    """How far it got."""
    return f"{number(report.asked)} of {number(report.goldens)} goldens, {number(report.measured)} measured"
