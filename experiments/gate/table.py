"""The outcome in a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.table import Table

from evenkeel.core.figures import number, percent
from evenkeel.core.surrogates import well_formed
from evenkeel.experiments.gate import wording
from evenkeel.experiments.gate.report import Verdict

if TYPE_CHECKING:
    from rich.console import Console

    from evenkeel.experiments.gate.outcome import Outcome

_STYLES = {Verdict.PASS: "green", Verdict.REGRESSION: "bold red", Verdict.COULD_NOT_MEASURE: "yellow"}
_FALLEN = 5
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
            finding.measure.name, wording.role(finding), percent(finding.candidate), wording.noise(finding),
            wording.excess(finding), number(finding.n), wording.settled(finding),
        )  # fmt: skip
    if report.measured:
        console.print(table)
    for fallen in outcome.fallen[:_FALLEN]:
        console.print(_safe(f"worse: {fallen.golden.id} ({', '.join(fallen.differences)})"), style="dim")
    if len(outcome.fallen) > _FALLEN:
        console.print(f"and {number(len(outcome.fallen) - _FALLEN)} more", style="dim")
    lines = (*wording.lost(report, outcome.failures), *outcome.notes, outcome.scored_by)
    for line in (*lines, f"{wording.goldens(report)}; {wording.effort(outcome)}"):
        console.print(_safe(line), style="dim", soft_wrap=True)
    console.print(_safe(wording.headline(report)), style=_STYLES[report.verdict], soft_wrap=True)


def _safe(text: str) -> str:
    """Without what a terminal would obey or could not write."""
    return _CONTROL.sub("\ufffd", well_formed(text))
