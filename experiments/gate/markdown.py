"""The outcome as Markdown for a pull request: short, the worst goldens folded away."""

from __future__ import annotations

import re
from difflib import unified_diff
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import number, percent
from evenkeel.experiments.gate import wording
from evenkeel.experiments.gate.report import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.gate.outcome import Fallen, Outcome

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
    yield f"## {mark} evenkeel gate: {wording.VERDICTS[report.verdict].lower()}{more}"
    yield ""
    yield _plain(wording.headline(report))
    yield ""
    if report.measured:
        yield "| measure | | candidate | reference | excess | goldens | settled |"
        yield "|---|---|--:|--:|---|--:|---|"
        for finding in report.findings:
            cells = (
                f"`{finding.measure.name}`", wording.role(finding), percent(finding.candidate),
                wording.noise(finding), wording.excess(finding), number(finding.n), wording.settled(finding),
            )  # fmt: skip
            yield f"| {' | '.join(cells)} |"
        yield ""
    yield f"Candidate: {_plain(outcome.candidate)}  "
    yield f"Reference: {_plain(outcome.reference) or 'none; the noise floor is not taken off'}"
    yield ""
    for line in (*wording.lost(report, outcome.failures), *outcome.notes):
        yield f"- {_plain(line)}"
    yield f"- {_plain(wording.goldens(report))}; {_plain(wording.effort(outcome))}"
    yield f"- {_plain(outcome.scored_by)}"
    yield f"- {wording.rule(report)}"
    for fallen in outcome.fallen[:MOST_FALLEN]:
        yield ""
        yield from _fallen(fallen)
    left = len(outcome.fallen) - MOST_FALLEN
    if left > 0:
        yield ""
        yield f"{number(left)} more goldens were answered worse than by the reference."


def _fallen(fallen: Fallen) -> Iterator[str]:
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
