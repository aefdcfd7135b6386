"""The report as one HTML file that needs nothing else: no script, no font, no request. Made to print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.console.heatmap import BANDS, band
from evenkeel.core import figures
from evenkeel.experiments.kit.single_page import console_style, single_page
from evenkeel.experiments.report import sentences
from evenkeel.experiments.report import sentences as wording
from evenkeel.experiments.report.heat import heat_of
from evenkeel.experiments.report.sides import COMPARED
from evenkeel.experiments.report.tables import ranked
from evenkeel.monitor.changes.cause import SAID
from evenkeel.monitor.changes.kinds import NAMES
from evenkeel.monitor.changes.markdown import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markupsafe import Markup

    from evenkeel.experiments.report.findings import Report
    from evenkeel.experiments.report.tables import Line

MOST_LINES: Final = 150
"""Of a table that is written for people; the rest is in the files for machines."""
MOST_ALERTS: Final = 60
_COLUMNS: Final = ("content_delta", "quality_delta", "robustness", "noise_floor", "excess")


def page(report: Report) -> bytes:
    """The page as UTF-8. Names and texts from outside are escaped."""
    return single_page(
        "evenkeel.experiments.report",
        "report.html",
        report=report,
        title=sentences.title(report),
        headline=sentences.headline(report),
        summary=sentences.summary(report),
        heat=heat_of(report),
        bands=BANDS,
        band=band,
        columns=_COLUMNS,
        compared=(COMPARED[:2], COMPARED[2:]),
        grouped=grouped,
        shown=shown,
        most_alerts=MOST_ALERTS,
        wording=wording,
        change_line=sentences.change_line,
        number=figures.number,
        usd=figures.usd,
        causes=SAID,
        effects=EFFECTS,
        kinds=NAMES,
        colours=_colours(),
    )


def shown(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """As many lines as people read; of too many the least robust, in their order."""
    if len(lines) <= MOST_LINES:
        return lines
    kept = {id(line) for line in ranked(lines)[:MOST_LINES]}
    return tuple(line for line in lines if id(line) in kept)


def grouped(lines: Iterable[Line]) -> list[tuple[str, list[Line]]]:
    """Neighbouring lines of one place under its name."""
    groups: list[tuple[str, list[Line]]] = []
    for line in lines:
        where = wording.place(line.route, line.model)
        if not groups or groups[-1][0] != where:
            groups.append((where, []))
        groups[-1][1].append(line)
    return groups


def _colours() -> Markup:
    """The bands' colours: the console's, those of its light scheme."""
    return console_style().partition("@media")[0]
