"""A change report as Markdown, for a ticket or a message."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from evenkeel.core.rewordings import label
from evenkeel.monitor.changes.kinds import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.cells import Estimate
    from evenkeel.monitor.changes.comparison import Comparison, Sides
    from evenkeel.monitor.changes.report import ChangeReport, GoldenSide
    from evenkeel.monitor.changes.silent_report import SilentSide

_LONGEST: Final = 300
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")
FOUND: Final = {
    "worse": "Worse",
    "fragile": "More fragile",
    "better": "Better",
    "different": "Different",
}
"""For people, before a finding."""


def markdown(report: ChangeReport) -> str:
    """The report as a page of Markdown that ends with a line break."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: ChangeReport) -> Iterator[str]:
    yield f"# Change on {_text(report.title)}"
    yield ""
    yield f"- Change: `{report.id}`"
    yield f"- Route: {_text(report.route)}"
    yield f"- Noticed: {datetime.fromtimestamp(report.at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    yield f"- Coincided with: **{report.coincided}**"
    yield f"- Effect: **{report.said}**"
    if report.ended:
        yield f"- {_text(report.ended)}"
    if report.silent is not None:
        yield from _silent(report.silent)
    yield from _section("What was measured", [_text(line) for line in finding_lines(report)])
    yield from _section("What coincided with it", [_text(line) for line in candidate_lines(report)])
    yield from _section("What it was not", [_text(line) for line in report.ruled_out])
    yield from _section("Evidence", [_text(line) for line in report.evidence])
    yield ""
    yield "| noticed | before | after |"
    yield "|---|---|---|"
    for mark in report.marks:
        yield f"| {NAMES.get(mark.kind, _text(mark.kind))} | {_text(mark.before)} | {_text(mark.after)} |"
    yield from _section("Settings that differ", [_text(line) for line in report.settings])
    if report.goldens is not None:
        yield from _goldens(report.goldens)
    if report.comparison is not None:
        yield from _comparison(report.comparison, "until then" if report.end else "since")


def _silent(silent: SilentSide) -> Iterator[str]:
    facts = [f"{name}: {_text(said)}" for name, said in silent.facts]
    yield from _section("A change that nobody announced", facts)
    if silent.moved:
        yield ""
        yield "| trait of ordinary answers | standard deviations |"
        yield "|---|---:|"
        for one in silent.moved:
            yield f"| {_text(one.said)} | {one.distance:+.1f} |"
    if silent.found:
        yield ""
        yield "| route | prompt version | calls | new to earlier answers | earlier ones to each other |"
        yield "|---|---|---:|---:|---:|"
        for place in silent.routes:
            for asked in place.references.versions if place.references is not None else ():
                figures = f"{asked.asked} | {asked.likeness:.0%} | {asked.own:.0%}"
                yield f"| {_text(place.route)} | {_text(asked.prompt_version) or '–'} | {figures} |"


def finding_lines(report: ChangeReport) -> list[str]:
    """The findings, as "More fragile: general.casing: robustness is 54%, 90% before."."""
    return [
        f"{'Rated differently' if report.rated_differently and one.rated else FOUND[one.effect]}: {one.text}"
        for one in report.findings
    ]


def candidate_lines(report: ChangeReport) -> list[str]:
    """What coincided with the change, the best candidate first."""
    return [
        f"{report.words(one.cause).capitalize()}{' (weaker)' if one.weaker else ''}: {one.why}"
        for one in report.candidates
    ]


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield f"## {title}"
        yield ""
        yield from (f"- {line}" for line in lines)


def _goldens(goldens: GoldenSide) -> Iterator[str]:
    yield ""
    yield "## Goldens"
    yield ""
    if goldens.verdict is not None:
        reason = f": {_text(goldens.reason)}" if goldens.reason else ""
        said = goldens.verdict.value.replace("_", " ")
        yield f"Replayed after the change: **{said}** ({goldens.asked} asked){reason}."
        yield ""
    if goldens.alarm is not None:
        yield "The canaries noticed it."
        yield ""
    yield "| measure | breached before | breached now |"
    yield "|---|---:|---:|"
    for name, now, before in goldens.breaches:
        yield f"| {_text(name)} | {'–' if before is None else f'{before:.0%}'} | {now:.0%} |"


def _comparison(comparison: Comparison, since: str) -> Iterator[str]:
    yield ""
    yield "## Traffic before and after"
    yield ""
    yield f"{comparison.exchanges_before} exchanges before, {comparison.exchanges_after} {since}."
    yield ""
    yield "| rewording | content delta before | after | robustness before | after |"
    yield "|---|---:|---:|---:|---:|"
    yield f"| all but the resend | {_pair(comparison.pooled)} | | |"
    for cell in comparison.cells:
        name = _text(label(cell.perturbation))
        yield f"| {name} | {_pair(cell.content_delta)} | {_pair(cell.robustness)} |"
    yield ""
    yield "| traffic | share that would have to be other exchanges |"
    yield "|---|---:|"
    for trait in comparison.traits:
        yield f"| {_text(trait.trait)} | {trait.distance:.0%} |"
    judge = comparison.judge
    if any(side.before or side.after for side in (judge.noise, judge.swap_consistency, judge.agreement)):
        yield ""
        yield "| judge | before | after |"
        yield "|---|---:|---:|"
        yield f"| another rating when asked again | {_pair(judge.noise)} |"
        yield f"| same rating with sides swapped | {_pair(judge.swap_consistency)} |"
        yield f"| agrees with the heuristics | {_pair(judge.agreement)} |"


def _pair(sides: Sides) -> str:
    moved = " ⚠" if sides.moved else ""
    return f"{_estimate(sides.before)} | {_estimate(sides.after)}{moved}"


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    return f"{estimate.value:.0%} [{estimate.lower:.0%}, {estimate.upper:.0%}]"


def _text(text: str) -> str:
    """Text from clients and models on one line, without meaning as Markdown."""
    line = " ".join(text.split())
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
    return _SPECIAL.sub(r"\\\1", line)
