"""The outcome for people, as a document, and for machines: JSON and JUnit XML."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from evenkeel.core.figures import count, duration, number, percent, usd
from evenkeel.core.text import one_line
from evenkeel.core.version import VERSION
from evenkeel.monitor.detect.gate import GateVerdict
from evenkeel.release.gate.scoring import DIFFERS
from evenkeel.release.kit.cost import JUDGE
from evenkeel.release.kit.document import (
    Bullets,
    Column,
    Document,
    FigureForm,
    FoldedSection,
    Paragraph,
    ReportSection,
    Table,
)
from evenkeel.release.kit.renderings import MOST_CHARS, ResultLine, diff, json_text, junit, plain
from evenkeel.stores.changes import ReleaseRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.cells import Standing
    from evenkeel.monitor.detect.gate import GateFinding, GateReport
    from evenkeel.release.gate.run import FallenGolden, GateOutcome
    from evenkeel.release.kit.document import Block, Rendering, Tone

SCHEMA: Final = 1
MOST_FALLEN: Final = 5
"""Goldens that are named, or shown with a diff."""
# Smaller values say nothing more, and depend on rounding.
_SMALLEST_P: Final = 0.0001
_MARKS: Final = {GateVerdict.PASS: "✅", GateVerdict.REGRESSION: "❌"}
_UNDECIDED: Final = "⚠️"
_TONES: Final[Mapping[GateVerdict, Tone]] = {GateVerdict.PASS: "better", GateVerdict.REGRESSION: "worse"}
_STANDINGS: Final[Mapping[GateVerdict, Standing]] = {
    GateVerdict.PASS: "within",
    GateVerdict.REGRESSION: "over",
}
_TERMINAL: Final[frozenset[Rendering]] = frozenset(("terminal",))
_MARKDOWN: Final[frozenset[Rendering]] = frozenset(("markdown",))
# Words for what similarity alone settles: it tells neither better from worse, nor sees contradictions.
_WITHOUT_JUDGE: Final = {
    GateVerdict.PASS: "NOT SHOWN TO DIFFER",
    GateVerdict.REGRESSION: "DIFFERS",
    GateVerdict.UNDECIDED: "NOT SHOWN TO DIFFER",
}


def verdict_words(report: GateReport) -> str:
    """Return the verdict in capitals; in the words for similarity alone where that is what decided."""
    deciding = report.deciding
    if report.verdict is GateVerdict.REGRESSION:
        deciding = [finding for finding in deciding if finding.state == "regression"]
        by_similarity = all(finding.measure.name == DIFFERS for finding in deciding)
    else:
        by_similarity = any(finding.measure.name == DIFFERS for finding in deciding)
    word = report.verdict.value.replace("_", " ").upper()
    return _WITHOUT_JUDGE.get(report.verdict, word) if by_similarity else word


def headline(report: GateReport) -> str:
    """The verdict and its reason in one sentence."""
    word, deciding = verdict_words(report), report.deciding
    if report.verdict is GateVerdict.COULD_NOT_MEASURE:
        return f"{word}: {report.reason}."
    if not report.settled:
        which = []
        for finding in deciding:
            if finding.state == "not_settled":
                which.append(finding)
        listed = "; ".join(f"{each.measure.name} {excess(each)}, {settled(each)}" for each in which)
        if report.verdict is GateVerdict.PASS:
            return f"{word} only because what is undecided passes (--undecided). Not settled: {listed}."
        goldens = count(report.measured, "golden")
        clusters = max((finding.clusters for finding in deciding), default=0)
        if clusters < max((finding.n for finding in deciding), default=0):
            goldens += f" in {count(clusters, 'cluster')}"
        return f"{word} after {goldens}. Not settled: {listed}."
    if report.verdict is GateVerdict.REGRESSION:
        which = [finding for finding in deciding if finding.state == "regression"]
        listed = "; ".join(f"{finding.measure.name} {excess(finding)}" for finding in which)
        return f"{word}: {listed} over {_beside(report)}{_look(which)}."
    return (
        f"{word}: an excess of {percent(report.rules.limit)} or more over {_beside(report)} is ruled out for "
        f"{', '.join(finding.measure.name for finding in deciding)}{_look(deciding)}."
    )


def _look(findings: Sequence[GateFinding]) -> str:
    """Name the look that decided: "" for evidence on the way, else the exact test and its p-value."""
    tested = []
    for finding in findings:
        if finding.p_value is not None:
            tested.append(finding.p_value)
    if not tested:
        return ""
    return f"; decided by the last look, an exact test of all goldens ({_p(max(tested))})"


def _p(value: float) -> str:
    return f"p = {value:.2g}" if value >= _SMALLEST_P else f"p < {_SMALLEST_P:g}"


def _beside(report: GateReport) -> str:
    if report.with_reference:
        return "the reference"
    return "nothing: no reference was asked, so the noise floor is part of it"


def excess(finding: GateFinding) -> str:
    """Write the excess as in "+14 % [3 %, 27 %]"."""
    sign = "+" if finding.excess > 0 else ""
    return f"{sign}{percent(finding.excess)} [{percent(finding.lower)}, {percent(finding.upper)}]"


def settled(finding: GateFinding) -> str:
    """Say when it was settled, or how many goldens are lacking."""
    if finding.n == 0:
        return "not measured"
    if finding.p_value is not None:
        return f"last look, {_p(finding.p_value)}"
    if finding.settled_after is not None:
        return f"after {number(finding.settled_after)}"
    if finding.needed is None:
        return "never, if it goes on like this"
    if finding.needed <= finding.clusters:
        return "at the next golden or so"
    clusters = " clusters" if finding.clusters < finding.n else ""
    return f"about {number(finding.needed)}{clusters} needed"


def role(finding: GateFinding) -> str:
    """The measure's state, and if it does not decide, why."""
    state = finding.state.replace("_", " ")
    return state if finding.measure.decides else f"{state} ({finding.measure.why_not}: does not decide)"


def lost(report: GateReport, details: Mapping[str, str]) -> list[str]:
    """Say in a sentence each why some goldens tell nothing.

    Args:
        report: Of the gate.
        details: What was said about each reason.
    """
    lines = []
    for reasons, of, what in (
        (report.left_out, report.goldens, "cannot be asked"),
        (report.unmeasured, report.asked, "could not be measured"),
    ):
        if reasons:
            most = next(iter(reasons))
            listed = ", ".join(f"{reason} {number(count)}" for reason, count in reasons.items())
            detail = f"; {most}: {details[most].rstrip('.')}" if details.get(most) else ""
            lines.append(
                f"{number(sum(reasons.values()))} of {number(of)} goldens {what} ({listed}){detail}."
            )
    return lines


def effort(outcome: GateOutcome) -> str:
    """Goldens asked, calls, what stopping early saved, tokens, dollars, time."""
    report, costs = outcome.report, outcome.costs.total
    share = outcome.saved_calls / outcome.planned_calls if outcome.planned_calls else 0.0
    saved = f", {number(outcome.saved_calls)} ({percent(share)}) saved by stopping early"
    return (
        f"{number(report.asked)} of {number(report.goldens)} goldens, {number(report.measured)} measured; "
        f"{number(costs.calls)} calls of {number(outcome.planned_calls)}, {number(costs.remembered)} "
        f"remembered{saved if report.settled else ''}; "
        f"{number(costs.tokens)} tokens, {usd(costs.usd)}, {duration(outcome.duration_s)}"
    )


def rule(report: GateReport) -> str:
    """Explain the verdict in two sentences."""
    rules = report.rules
    return (
        f"If no measure is really more than {percent(rules.tolerance)} above the reference, the evidence "
        f"settles on a regression with probability {percent(rules.alpha)} at most. If one is "
        f"{percent(rules.limit)} above it, it settles on a pass with probability {percent(rules.beta)} at "
        f"most. {percent(rules.last_look)} of both is kept for an exact test after the last golden."
    )


def document(outcome: GateOutcome) -> Document:
    """The outcome for people. A terminal shows the verdict last, a pull request first."""
    report = outcome.report
    mark, more = _MARKS.get(report.verdict, _UNDECIDED), ""
    # A pass that nothing proves must not look like one that something does.
    if report.verdict is GateVerdict.PASS and not report.settled:
        mark, more = _UNDECIDED, ", undecided"
    verdict = headline(report)
    blocks: list[Block] = [
        Paragraph(verdict, on=_MARKDOWN),
        Bullets(
            (
                f"Candidate: {outcome.candidate}",
                f"Reference: {outcome.reference or 'none; the noise floor is not taken off'}",
            )
        ),
    ]
    if report.measured:
        blocks.append(_measures(report))
    named = []
    for fallen in outcome.fallen[:MOST_FALLEN]:
        named.append(f"worse: {fallen.golden.id} ({', '.join(fallen.differences)})")
    left = len(outcome.fallen) - MOST_FALLEN
    if left > 0:
        named.append(f"worse: {number(left)} more")
    lines = (
        *lost(report, outcome.failures),
        *outcome.notes,
        f"{effort(outcome)}",
        outcome.scored_by,
    )
    blocks += [
        Bullets(tuple(named), quiet=True, on=_TERMINAL),
        Bullets(lines, quiet=True),
        Bullets((rule(report),), on=_MARKDOWN),
        *(_details(fallen) for fallen in outcome.fallen[:MOST_FALLEN]),
    ]
    if left > 0:
        text = f"{number(left)} more goldens were answered worse than by the reference."
        blocks.append(Paragraph(text, on=_MARKDOWN))
    blocks.append(Paragraph(verdict, tone=_TONES.get(report.verdict, ""), on=_TERMINAL))
    title = f"{mark} evenkeel gate: {verdict_words(report).lower()}{more}"
    return Document(title=title, kind="gate", sections=(ReportSection("", tuple(blocks), key="verdict"),))


def _measures(report: GateReport) -> Table:
    columns = (
        Column("Measure"), Column("State", wide=True), Column("Candidate", FigureForm.PERCENT),
        Column("Reference", FigureForm.PERCENT), Column("Excess"), Column("Goldens", FigureForm.NUMBER),
        Column("Clusters", FigureForm.NUMBER), Column("Settled", wide=True),
    )  # fmt: skip
    rows = []
    for finding in report.findings:
        rows.append(
            (
                finding.measure.name,
                role(finding),
                finding.candidate,
                finding.reference,
                excess(finding),
                finding.n,
                finding.clusters,
                settled(finding),
            )
        )
    return Table(columns, tuple(rows))


def _details(fallen: FallenGolden) -> FoldedSection:
    rating = f", rated {fallen.rating} of 3" if fallen.rating is not None else ""
    steps = f", steps {fallen.steps}" if fallen.steps else ""
    return FoldedSection(
        f"{fallen.golden.id}: {', '.join(fallen.differences)}{rating}{steps}",
        text=one_line(fallen.explanation, MOST_CHARS),
        code=diff(fallen.golden.answer.shown, fallen.answer.shown),
        language="diff",
        on=_MARKDOWN,
    )


def as_json(outcome: GateOutcome) -> str:
    """The whole outcome; field names are those of the classes behind it.

    Shares are in [0, 1]. Goldens are named by id and version; those that were answered worse come with the
    approved answer and the candidate's.
    """
    costs, result = outcome.costs.total, plain(outcome)
    del result["costs"]
    result |= {
        "schema_version": SCHEMA,
        "evenkeel": VERSION,
        "verdict": outcome.report.verdict.value,
        "headline": headline(outcome.report),
        "saved_calls": outcome.saved_calls,
        "ledger": {
            "calls": costs.calls,
            "remembered": costs.remembered,
            "failed": costs.failed,
            "prompt_tokens": costs.prompt_tokens,
            "completion_tokens": costs.completion_tokens,
            "cost_usd": costs.usd,
            "judge_tokens": outcome.costs.of(JUDGE).tokens,
        },
        "fallen": [_fallen(fallen) for fallen in outcome.fallen],
    }
    return json_text(result)


def _fallen(fallen: FallenGolden) -> dict[str, Any]:
    return {
        "golden": fallen.golden.id,
        "version": fallen.golden.version,
        "differences": dict(fallen.differences),
        "rating": fallen.rating,
        "explanation": fallen.explanation,
        "steps": fallen.steps or None,
        "approved": fallen.golden.answer,
        "answer": fallen.answer,
    }


def result_lines(outcome: GateOutcome) -> list[ResultLine]:
    """Return a line for each measure.

    A regression is a failure. If nothing could be measured, one line has an error. A measure that is not
    settled fails if the rules say so. One that does not decide is skipped.
    """
    report = outcome.report
    if report.verdict is GateVerdict.COULD_NOT_MEASURE:
        return [ResultLine("measurement", report.reason, error="could_not_measure")]
    lines = []
    for finding in report.findings:
        name, failure, skipped = finding.measure.name, "", ""
        # Where evidence settled the gate, what is still open has not failed.
        still_open = finding.state == "not_settled" and not report.settled
        if not finding.measure.decides:
            skipped = f"{finding.measure.why_not}: does not decide"
        elif report.verdict is not GateVerdict.PASS and (finding.state == "regression" or still_open):
            failure = finding.state
        worse = []
        for fallen in outcome.fallen:
            if name in fallen.differences:
                worse.append(fallen.golden.id)
        more = f"worse than by the reference: {', '.join(worse)}" if worse else ""
        said = f"excess {excess(finding)}, {finding.state.replace('_', ' ')}, {settled(finding)}"
        lines.append(ResultLine(name, said, failure, more, skipped=skipped))
    return lines


def as_run(outcome: GateOutcome, route: str | None) -> ReleaseRun:
    """Return the outcome as the console lists it; `route` names the one route that was asked."""
    report = outcome.report
    beside = f"against {outcome.reference}" if outcome.reference else "without a reference"
    return ReleaseRun(
        id=uuid4().hex,
        at=time.time(),
        kind="gate",
        subject=outcome.candidate,
        beside=f"{beside}, {route}" if route else beside,
        standing=_STANDINGS.get(report.verdict, "unknown"),
        verdict=report.verdict.value.replace("_", " "),
        headline=headline(report),
        details=tuple(map(str, result_lines(outcome))),
        asked=count(report.measured, "golden"),
        calls=outcome.costs.total.calls,
        usd=outcome.costs.usd,
    )


def as_junit(outcome: GateOutcome) -> str:
    """JUnit XML, one test case a measure."""
    return junit(
        "evenkeel gate",
        result_lines(outcome),
        properties={"candidate": outcome.candidate, "reference": outcome.reference},
        output=f"{headline(outcome.report)}\n{effort(outcome)}",
        duration_s=outcome.duration_s,
    )
