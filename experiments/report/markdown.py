"""The report as Markdown, for a ticket or a message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.console.rendering import visible
from evenkeel.core.figures import number, usd
from evenkeel.experiments.report import sentences
from evenkeel.experiments.report import sentences as wording
from evenkeel.experiments.report.page import MOST_ALERTS, shown
from evenkeel.experiments.report.sides import COMPARED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.experiments.report.findings import Report
    from evenkeel.experiments.report.sides import Difference, SideTable
    from evenkeel.experiments.report.tables import Table

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|])")
_COLUMNS: Final = ("content_delta", "quality_delta", "robustness", "noise_floor", "excess")


def markdown(report: Report) -> str:
    """The report as a page of Markdown that ends with a line break."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {_text(sentences.title(report))}"
    yield ""
    yield report.period.words
    yield ""
    yield f"**{_text(sentences.headline(report))}**"
    yield ""
    for line in sentences.summary(report):
        yield f"- {_text(line)}"
    if report.change is not None:
        yield from _section("Evidence", [_text(line) for line in report.change.report.evidence])
        for sides in report.change.tables:
            yield from _sides(sides)
    for table in report.tables.all:
        yield from _table(table)
    yield from _section(
        "Alerts",
        [
            f"{wording.moment(alert.raised_at)} to "
            f"{wording.moment(alert.resolved_at) if alert.resolved_at is not None else 'now'}: "
            f"{_text(alert.summary)}"
            for alert in report.alerts[:MOST_ALERTS]
        ],
    )
    yield from _section("Changes", [_text(sentences.change_line(one)) for one in report.changes])
    yield from _section("What was not measured", list(_gaps(report)))
    yield ""
    yield "## Spend"
    yield ""
    yield from _grid(
        ("Route", "Trials", "Tokens", "US dollars"),
        [
            (_text(route), number(cost.trials), number(cost.tokens), usd(cost.usd))
            for route, cost in report.costs.items()
        ],
    )


def _gaps(report: Report) -> Iterator[str]:
    for route, counts in report.gaps.failures.items():
        yield f"{_text(route)}: trials without a rating: {_text(wording.reasons(counts))}"
    for route, counts in report.gaps.unscored.items():
        yield f"{_text(route)}: qualities of moved answers: {_text(wording.reasons(counts))}"
    if report.gaps.thin:
        yield (
            f"Fewer than {report.rules.min_trials} trials, so no figure: "
            f"{wording.count(len(report.gaps.thin), 'perturbation')}"
        )
    for flow in report.gaps.flows:
        if any(flow.skipped.values()):
            yield (
                f"{_text(flow.route)}: left out since the service was started: "
                f"{_text(wording.reasons(flow.skipped))}"
            )
    yield from report.gaps.notes


def _table(table: Table) -> Iterator[str]:
    lines = shown(table.lines)
    yield ""
    yield f"## {table.title}"
    yield ""
    if len(lines) < len(table.lines):
        yield f"The {number(len(lines))} least robust of {number(len(table.lines))}."
        yield ""
    named = bool(table.what)
    yield from _grid(
        (
            "Route, model",
            *((table.what.capitalize(),) if named else ()),
            "Trials",
            *(wording.HEADINGS[name] for name in _COLUMNS),
        ),
        [
            (
                _text(wording.place(line.route, line.model)),
                *((_text(wording.short_name(line.name, table.key)),) if named else ()),
                number(line.trials),
                *(wording.both(getattr(line, name)) for name in _COLUMNS),
            )
            for line in lines
        ],
    )


def _sides(table: SideTable) -> Iterator[str]:
    yield ""
    yield f"## {table.title}"
    yield ""
    yield from _grid(
        ("", *(f"{wording.HEADINGS[name]}: before, after, difference" for name in COMPARED)),
        [
            (
                _text(wording.line_name(line.name)),
                *(
                    f"{wording.both(getattr(line.before, name))}, {wording.both(getattr(line.after, name))}, "
                    f"{_difference(line.differences[name])}"
                    for name in COMPARED
                ),
            )
            for line in table.lines
        ],
    )


def _difference(found: Difference | None) -> str:
    return f"{wording.moved(found)} {wording.moved_span(found)}".strip()


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    if not lines:
        yield "None."
    for line in lines:
        yield f"- {line}"


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join('---' if place == 0 else '---:' for place in range(len(heads)))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _text(text: str) -> str:
    """Without line breaks, and with nothing that Markdown or HTML would take for its own."""
    shown_text: str = visible(" ".join(text.split()))
    return _SPECIAL.sub(r"\\\1", shown_text)
