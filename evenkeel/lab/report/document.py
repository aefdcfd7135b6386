"""The report for people, as a document, and for machines, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.core import figures, rewordings
from evenkeel.core.geometry import band
from evenkeel.core.version import VERSION
from evenkeel.lab.report import sentences
from evenkeel.lab.report.tables import BASELINE_CATEGORY, MEASURES, ranked
from evenkeel.release.kit.document import (
    EVERYWHERE,
    Block,
    Bullets,
    Column,
    Document,
    FigureForm,
    Paragraph,
    ReportSection,
    Table,
    TableCell,
)
from evenkeel.release.kit.renderings import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from evenkeel.core.cells import Estimate
    from evenkeel.lab.report import tables
    from evenkeel.lab.report.findings import Report
    from evenkeel.lab.report.tables import ReportLine
    from evenkeel.release.kit.document import Rendering, Value

SCHEMA: Final = 1
MOST_LINES: Final = 150
"""Lines of a table that is written for people; the rest is in the files for machines."""
MOST_ALERTS: Final = 60
_MOST_UNTRIED: Final = 40
# Rows of the picture, so that it and the words stand on one page.
_MOST_ROWS: Final = 16
_HTML: Final[frozenset[Rendering]] = frozenset(("html",))
# Tables whose lines need no heading that says where they are from.
_WITHOUT_PLACE: Final = ("models", "difficulty")
_LEFT_OUT: Final = "Shown are the {} least robust of {}; all are in the JSON."


def document(report: Report) -> Document:
    """The report for people."""
    return Document(
        title=sentences.title(report),
        kind="report",
        subtitle=report.period.words,
        headline=sentences.headline(report),
        summary=tuple(sentences.summary(report)),
        sections=(
            _picture(report),
            _listed("meaning", sentences.GLOSSARY, on=_HTML),
            *(_table(table) for table in report.tables.all),
            _alerts(report),
            _changes(report),
            _judges(report),
            *_gaps(report),
            *_spend(report),
        ),
        footer=f"Made {figures.date_and_time(report.made_at)} from {report.store}.",
    )


def _section(
    key: str, *blocks: Block, more: str = "", on: frozenset[Rendering] = EVERYWHERE
) -> ReportSection:
    """A section that `words.toml` names; `more` follows the sentence on it."""
    words = sentences.SECTIONS[key]
    about = f"{words.get('about', '')}{more}"
    return ReportSection(words["title"], blocks, key=key, about=about, level=words.get("level", 2), on=on)


def _listed(key: str, rows: Iterable[tuple[Value, ...]], **more: Any) -> ReportSection:
    """A section with one table; without rows, what the section says then, or nothing."""
    words, lines = sentences.SECTIONS[key], tuple(rows)
    none = (Paragraph(words["none"]),) if "none" in words else ()
    table = Table(tuple(map(_column, words["columns"])), lines)
    return _section(key, *((table,) if lines else none), **more)


def _column(words: str | Mapping[str, Any]) -> Column:
    if isinstance(words, str):
        return Column(words)
    return Column(**{**words, "form": FigureForm(words.get("form", "text"))})


def _points(name: str) -> Column:
    return Column(name, FigureForm.POINTS, 1)


def _picture(report: Report) -> ReportSection:
    """Robustness by route, model and category; where there are too many, the least robust of them."""
    report_tables = report.tables
    named = {line.name for lines in report_tables.categories.values() for line in lines}
    categories = sorted(named, key=rewordings.position)
    weakest = sorted(report_tables.models, key=lambda line: line.robustness.value if line.robustness else 1.0)
    kept = {(line.route, line.model) for line in weakest[:_MOST_ROWS]}
    rows: list[tuple[Value, ...]] = []
    for whole in report_tables.models:
        if (whole.route, whole.model) in kept:
            lines = {line.name: line for line in report_tables.categories[whole.route, whole.model]}
            cells = (
                _heat(lines[category], category) if category in lines else None for category in categories
            )
            rows.append((TableCell(whole.route, whole.model), _heat(whole, "all"), *cells))
    names = ("all", *("control" if category == BASELINE_CATEGORY else category for category in categories))
    columns = (Column("Route, model"), *map(_points, names))
    left_out = len(report_tables.models) - len(rows)
    more = f" The {len(rows)} least robust models of {len(report_tables.models)}." if left_out else ""
    table = Table(columns, tuple(rows), heat=True, legend=True)
    return _section("picture", *((table,) if rows else ()), more=more, on=_HTML)


def _heat(line: ReportLine, name: str) -> TableCell:
    estimate, where = line.robustness, f"{line.route}, {line.model}, {name}"
    trials = f"{figures.count(line.trials, 'trial')}, {figures.count(line.observations, 'observation')}"
    if estimate is None:
        return TableCell(
            figures.number(line.observations),
            "observations",
            title=f"{where}: {trials}: too few for a figure",
        )
    label = f"{where}: robustness {figures.points_text(estimate)}, {trials}"
    return _coloured(estimate, label)


def _coloured(estimate: Estimate, title: str = "") -> TableCell:
    text, interval = figures.points(estimate), figures.points_interval(estimate)
    return TableCell(text, interval, band=band(estimate.value), title=title)


def _table(table: tables.ReportTable) -> ReportSection:
    lines = shown(table.lines)
    about = table.about
    if len(lines) < len(table.lines):
        about += " " + _LEFT_OUT.format(figures.number(len(lines)), figures.number(len(table.lines)))
    placed = table.key != "difficulty"
    columns = (
        *((Column("Route, model"),) if placed else ()),
        *((Column(table.what.capitalize()),) if table.what else ()),
        Column("Trials", FigureForm.NUMBER),
        Column("Observations", FigureForm.NUMBER),
        *(_points(sentences.HEADINGS[name]) for name in MEASURES),
        *((_points(sentences.HEADINGS["mean_of_categories"]),) if table.key == "models" else ()),
    )
    rows = tuple(
        (
            *((sentences.place(line.route, line.model),) if placed else ()),
            *((sentences.short_name(line.name, table.key),) if table.what else ()),
            line.trials,
            line.observations,
            *(_measure(line, name) for name in MEASURES),
            *((line.mean_of_categories,) if table.key == "models" else ()),
        )
        for line in lines
    )
    blocks: list[Block] = [Table(columns, rows, grouped=table.key not in _WITHOUT_PLACE)]
    if table.key == "models":
        blocks.append(Paragraph(sentences.ABOUT_MEAN, "note"))
    return ReportSection(table.title, tuple(blocks), key=table.key, about=about)


def _measure(line: ReportLine, name: str) -> Value:
    estimate: Estimate | None = getattr(line, name)
    return _coloured(estimate) if name == "robustness" and estimate is not None else estimate


def shown(lines: tuple[ReportLine, ...]) -> tuple[ReportLine, ...]:
    """Return as many lines as people read; of too many the least robust, in their order."""
    if len(lines) <= MOST_LINES:
        return lines
    kept = {id(line) for line in ranked(lines)[:MOST_LINES]}
    return tuple(line for line in lines if id(line) in kept)


def _alerts(report: Report) -> ReportSection:
    rows = tuple(
        (
            figures.date_and_time(alert.raised_at),
            figures.date_and_time(alert.resolved_at) if alert.resolved_at is not None else "still up",
            alert.summary,
        )
        for alert in report.alerts[:MOST_ALERTS]
    )
    more = len(report.alerts) - len(rows)
    about = f"{figures.number(more)} more are in the JSON." if more > 0 else ""
    return _listed("alerts", rows, more=about)


def _changes(report: Report) -> ReportSection:
    lines = tuple(f"{sentences.change_line(change)} ({change.id})" for change in report.changes)
    none = Paragraph(sentences.SECTIONS["changes"]["none"])
    return _section("changes", Bullets(lines) if lines else none)


def _judges(report: Report) -> ReportSection:
    rows = (
        (
            sentences.place(line.route, line.model), line.found.noise, line.found.swap_consistency,
            figures.reasons(line.found.decided),
        )
        for line in report.judges
    )  # fmt: skip
    return _listed("judge", rows)


def _gaps(report: Report) -> Iterator[ReportSection]:
    yield _section("gaps", Bullets(tuple(_gap_lines(report))))
    flows = (
        (
            flow.route, flow.eligible, flow.sampled, flow.queued, flow.scored,
            figures.reasons(flow.skipped) or "none",
        )
        for flow in report.gaps.flows
    )  # fmt: skip
    yield _listed("flows", flows)
    untried = (
        (
            untried.route,
            sentences.line_name(untried.perturbation),
            untried.reason.replace("_", " "),
            untried.count or 0,
        )
        for untried in report.gaps.untried[:_MOST_UNTRIED]
    )
    yield _listed("untried", untried)


def _gap_lines(report: Report) -> Iterator[str]:
    gaps = report.gaps
    for route, counts in gaps.failures.items():
        if counts:
            yield f"{route}: trials without a rating: {figures.reasons(counts)}."
    for route, counts in gaps.unscored.items():
        if counts:
            listed = figures.reasons(counts)
            yield f"{route}: changed answers of which a quality could not be measured: {listed}."
    for route, n in gaps.unsure.items():
        yield (
            f"{route}: {figures.number(n)} trials are unsure: the answers are not identical and no "
            "judge was asked, so their similarity counts."
        )
    for route, n in gaps.invalid.items():
        yield (
            f"{route}: {figures.number(n)} answers ignore the format or language asked for; "
            "they count as worse."
        )
    if not gaps.failures and not gaps.unscored:
        yield "Every trial of the period was rated, and every changed answer’s qualities were measured."
    if gaps.thin:
        named = []
        for line in gaps.thin[:_MOST_UNTRIED]:
            named.append(
                f"{sentences.line_name(line.name)} on {line.route} ({line.model}) "
                f"{figures.number(line.observations)}"
            )
        more = len(gaps.thin) - len(named)
        listed = "; ".join([*named, *([f"{figures.number(more)} more"] if more else [])])
        yield f"Fewer than {figures.number(report.rules.min_trials)} observations, so no figure: {listed}."
    yield from gaps.notes


def _spend(report: Report) -> Iterator[ReportSection]:
    costs = (
        (route, cost.trials, cost.tokens, cost.usd, 1000 * cost.usd / cost.trials)
        for route, cost in report.costs.items()
    )
    yield _listed("spend", costs)
    days = (
        (figures.date(day * sentences.DAY_S), cost.trials, cost.tokens, cost.usd)
        for day, cost in report.days.items()
    )
    if len(report.days) > 1:
        yield _listed("days", days)


def as_json(report: Report) -> str:
    """Everything as JSON: ratios in [0, 1], times in Unix seconds."""
    gaps = report.gaps
    thin = (
        {name: getattr(line, name) for name in ("route", "model", "name", "trials", "effective")}
        for line in gaps.thin
    )
    return json_text(
        {
            "schema": SCHEMA,
            "evenkeel": VERSION,
            "store": report.store,
            "made_at": report.made_at,
            "since": report.period.since,
            "until": report.period.until,
            "route": report.route,
            "confidence": round(1 - report.rules.alpha, 12),
            "min_trials": report.rules.min_trials,
            "exchanges": report.exchanges,
            "trials": report.trials,
            "scorers": report.scorers,
            "first_at": report.first_at,
            "last_at": report.last_at,
            "title": sentences.title(report),
            "headline": sentences.headline(report),
            "summary": sentences.summary(report),
            "overall": report.tables.whole,
            "tables": {table.key: table.lines for table in report.tables.all},
            "alerts": report.alerts,
            "changes": report.changes,
            "judges": report.judges,
            "not_measured": {
                "failures": gaps.failures,
                "quality_failures": gaps.unscored,
                "unsure": gaps.unsure,
                "invalid": gaps.invalid,
                "too_few_trials": list(thin),
                "since_the_service_started": {"routes": gaps.flows, "not_applicable": gaps.untried},
                "notes": gaps.notes,
            },
            "spend": {
                "routes": report.costs,
                "days": [
                    {"day": figures.iso(day * sentences.DAY_S)[:10], "trials": cost.trials,
                     "tokens": cost.tokens, "usd": cost.usd}
                    for day, cost in report.days.items()
                ],
            },
        }
    )  # fmt: skip
