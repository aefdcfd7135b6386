"""The outcome for people and machines: terminal, Markdown, JUnit XML and JSON."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from difflib import unified_diff
from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from rich.table import Table

from evenkeel import __version__
from evenkeel.core.figures import duration, number, percent, usd
from evenkeel.core.text import well_formed
from evenkeel.monitor.detect.gate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.gate.run import Fallen, Outcome
    from evenkeel.monitor.detect.gate import Finding, GateReport


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


def goldens_asked(report: GateReport) -> str:
    """How far it got."""
    return f"{number(report.asked)} of {number(report.goldens)} goldens, {number(report.measured)} measured"


_STYLES = {Verdict.PASS: "green", Verdict.REGRESSION: "bold red", Verdict.COULD_NOT_MEASURE: "yellow"}
_SHOWN_IDS = 5
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def show(outcome: Outcome, console: Console) -> None:
    """Print the table of measures, the worst goldens, what it took and, last, the verdict."""
    report = outcome.report
    console.print(_safe(f"candidate  {outcome.candidate}"), soft_wrap=True)
    console.print(_safe(f"reference  {outcome.reference or 'none'}"), soft_wrap=True)
    table = Table(title=None, header_style="dim")
    for name in ("measure", "", "candidate", "reference", "excess", "goldens", "settled"):
        table.add_column(name, justify="right" if name in {"candidate", "reference", "goldens"} else "left")
    for finding in report.findings:
        table.add_row(
            finding.measure.name, role(finding), percent(finding.candidate), noise(finding),
            excess(finding), number(finding.n), settled(finding),
        )  # fmt: skip
    if report.measured:
        console.print(table)
    for fallen in outcome.fallen[:_SHOWN_IDS]:
        console.print(_safe(f"worse: {fallen.golden.id} ({', '.join(fallen.differences)})"), style="dim")
    if len(outcome.fallen) > _SHOWN_IDS:
        console.print(f"and {number(len(outcome.fallen) - _SHOWN_IDS)} more", style="dim")
    lines = (*lost(report, outcome.failures), *outcome.notes, outcome.scored_by)
    for line in (*lines, f"{goldens_asked(report)}; {effort(outcome)}"):
        console.print(_safe(line), style="dim", soft_wrap=True)
    console.print(_safe(headline(report)), style=_STYLES[report.verdict], soft_wrap=True)


def _safe(text: str) -> str:
    """Without what a terminal would obey or could not write."""
    return _CONTROL.sub("\ufffd", well_formed(text))


_MARKS: Final = {Verdict.PASS: "✅", Verdict.REGRESSION: "❌", Verdict.COULD_NOT_MEASURE: "⚠️"}
_UNDECIDED: Final = "⚠️"
"""A pass that nothing proves must not look like one that something does."""
MOST_FALLEN: Final = 5
"""Goldens that are shown with a diff."""
MOST_LINES: Final = 12
MOST_CHARS: Final = 200
"""Of a diff's line."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")  # noqa: RUF001 - marks of other scripts
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")


def markdown(outcome: Outcome) -> str:
    """The whole page; safe for any text that goldens and answers may hold."""
    return "\n".join(_lines(outcome)) + "\n"


def _lines(outcome: Outcome) -> Iterator[str]:
    report = outcome.report
    undecided = report.verdict is Verdict.PASS and not report.settled
    mark, more = (_UNDECIDED, ", undecided") if undecided else (_MARKS[report.verdict], "")
    yield f"## {mark} evenkeel gate: {VERDICTS[report.verdict].lower()}{more}"
    yield ""
    yield _plain(headline(report))
    yield ""
    if report.measured:
        yield "| measure | | candidate | reference | excess | goldens | settled |"
        yield "|---|---|--:|--:|---|--:|---|"
        for finding in report.findings:
            cells = (
                f"`{finding.measure.name}`", role(finding), percent(finding.candidate),
                noise(finding), excess(finding), number(finding.n), settled(finding),
            )  # fmt: skip
            yield f"| {' | '.join(cells)} |"
        yield ""
    yield f"Candidate: {_plain(outcome.candidate)}  "
    yield f"Reference: {_plain(outcome.reference) or 'none; the noise floor is not taken off'}"
    yield ""
    for line in (*lost(report, outcome.failures), *outcome.notes):
        yield f"- {_plain(line)}"
    yield f"- {_plain(goldens_asked(report))}; {_plain(effort(outcome))}"
    yield f"- {_plain(outcome.scored_by)}"
    yield f"- {rule(report)}"
    for fallen in outcome.fallen[:MOST_FALLEN]:
        yield ""
        yield from _details(fallen)
    left = len(outcome.fallen) - MOST_FALLEN
    if left > 0:
        yield ""
        yield f"{number(left)} more goldens were answered worse than by the reference."


def _details(fallen: Fallen) -> Iterator[str]:
    rating = f", rated {fallen.rating} of 3" if fallen.rating is not None else ""
    yield f"<details><summary>{_html(fallen.golden.id)}: {', '.join(fallen.differences)}{rating}</summary>"
    yield ""
    if fallen.explanation:
        yield _plain(_cut(fallen.explanation))
        yield ""
    found = list(diff(fallen.golden.answer, fallen.answer))
    # A fence must be longer than any run of backticks inside it.
    longest = max((len(run) for line in found for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}diff"
    yield from found
    yield fence
    yield ""
    yield "</details>"


def diff(approved: Answer, answer: Answer) -> Iterator[str]:
    """What differs, a sentence a line, both cut in length and in number."""
    lines = list(unified_diff(_sentences(approved), _sentences(answer), n=0, lineterm=""))[2:]
    lines = [line for line in lines if not line.startswith("@@")]
    for line in lines[:MOST_LINES]:
        yield _cut(line)
    if len(lines) > MOST_LINES:
        yield f"… {len(lines) - MOST_LINES} more lines"


def _sentences(answer: Answer) -> list[str]:
    said = [part.strip() for part in _SENTENCE_END.split(answer.text) if part.strip()]
    return [*said, *(f"calls {call.name}({call.arguments})" for call in answer.tool_calls)]


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS - 1]}…"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", text.replace("\n", " "))


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")


_SUITE: Final = "evenkeel gate"
_UNWRITABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""


def junit(outcome: Outcome) -> str:
    """XML in the shape that CI servers read.

    A regression is a failure. Where nothing could be measured, one test case has an error. A measure that
    is not settled fails if the rules say so; else it passes with that said in its output. One that does
    not decide is skipped.
    """
    report = outcome.report
    if report.verdict is Verdict.COULD_NOT_MEASURE:
        case = _case("measurement", outcome)
        ET.SubElement(case, "error", {"type": "could_not_measure", "message": _clean(report.reason)})
        cases = [case]
    else:
        cases = [_measured_case(finding, outcome) for finding in report.findings]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
        "time": f"{outcome.duration_s:.3f}",
    }
    suites = ET.Element("testsuites", {"name": _SUITE, **counts})
    suite = ET.SubElement(suites, "testsuite", {"name": _SUITE, **counts})
    properties = ET.SubElement(suite, "properties")
    for name, value in (("candidate", outcome.candidate), ("reference", outcome.reference)):
        ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = _clean(
        "\n".join((headline(report), f"{goldens_asked(report)}; {effort(outcome)}"))
    )
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _measured_case(finding: Finding, outcome: Outcome) -> ET.Element:
    case = _case(finding.measure.name, outcome)
    said = f"excess {excess(finding)}, {STATES[finding.state]}, {settled(finding)}"
    report = outcome.report
    # Where evidence settled the gate, what is still open has not failed.
    open_ = finding.state == "not_settled" and not report.settled
    failed = finding.state == "regression" or open_
    if not finding.measure.decides:
        ET.SubElement(case, "skipped", {"message": _clean(f"{finding.measure.why_not}: does not decide")})
    elif failed and report.verdict is Verdict.REGRESSION:
        failure = ET.SubElement(case, "failure", {"type": finding.state, "message": _clean(said)})
        named = ", ".join(
            fallen.golden.id for fallen in outcome.fallen if finding.measure.name in fallen.differences
        )
        failure.text = _clean(f"worse than by the reference: {named}" if named else "")
    ET.SubElement(case, "system-out").text = _clean(said)
    return case


def _case(name: str, outcome: Outcome) -> ET.Element:
    return ET.Element(
        "testcase",
        {"classname": "evenkeel.experiments.gate", "name": name, "time": f"{outcome.duration_s:.3f}"},
    )


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)


SCHEMA: Final = 1


def document(outcome: Outcome) -> str:
    """The whole outcome as indented JSON; field names are those of the classes behind it.

    Shares are in [0, 1]; of goldens only id and version stand there, with the approved answer and the
    candidate's for those that were answered worse.
    """
    written = {
        "schema_version": SCHEMA,
        "evenkeel": __version__,
        "verdict": outcome.report.verdict.value,
        "headline": headline(outcome.report),
        **_json_value(outcome),
        "saved_calls": outcome.saved_calls,
        "fallen": [
            {
                "golden": fallen.golden.id,
                "version": fallen.golden.version,
                "differences": dict(fallen.differences),
                "rating": fallen.rating,
                "explanation": fallen.explanation,
                "approved": _json_value(fallen.golden.answer),
                "answer": _json_value(fallen.answer),
            }
            for fallen in outcome.fallen
        ],
    }
    return json.dumps(written, indent=2, allow_nan=False) + "\n"


def _json_value(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _json_value(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    return value.value if isinstance(value, Enum) else value
