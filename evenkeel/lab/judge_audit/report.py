"""The outcome for people, as a document of tables, and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import number, percent, usd
from evenkeel.core.verdict import Failure
from evenkeel.core.version import VERSION
from evenkeel.lab.judge_audit.attack import Move
from evenkeel.lab.judge_audit.judgements import Strategy
from evenkeel.release.kit.document import (
    Bullets,
    Column,
    Document,
    FigureForm,
    ReportSection,
    Table,
    both,
)
from evenkeel.release.kit.renderings import json_text, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.lab.judge_audit.measures import AuditReport, ToneShift
    from evenkeel.lab.judge_audit.run import AuditOutcome
    from evenkeel.monitor.labels import Share
    from evenkeel.release.kit.document import Value

    Rows = list[tuple[Value, ...]]

STRATEGIES: Final[dict[str, str]] = {
    Strategy.ZERO_SHOT: "zero-shot",
    Strategy.KNOWLEDGE: "knowledge",
    Strategy.FEW_SHOT: "few-shot",
    Strategy.STEP_BY_STEP: "step by step",
}
"""Names of evenkeel's own strategies; others go by the name in their file."""
MOVES: Final = {
    Move.UNCHANGED: "unchanged",
    Move.TO_CLAIM: "to the claim",
    Move.TOWARDS: "towards it",
    Move.AWAY: "away from it",
}
_DIGITS: Final = 2


def as_json(outcome: AuditOutcome) -> str:
    """The whole outcome as indented JSON.

    Field names are those of the report's classes; an alpha or a tone that could not be measured is an
    object with "failure" and "detail" in its place.
    """
    return json_text({"evenkeel": VERSION, **plain(outcome)})


def document(outcome: AuditOutcome) -> Document:
    """The outcome for people."""
    sections = [
        *_tables(outcome.ratings),
        *_failures(outcome.ratings),
    ]
    basis = tuple(_basis(outcome))
    if basis:
        sections.append(ReportSection("Basis", (Bullets(basis, quiet=True),)))
    return Document(
        title=outcome.judge,
        kind="judge audit",
        subtitle=f"From {', '.join(outcome.sources)}. Intervals cover 95 %.",
        headline=_headline(outcome.ratings),
        sections=tuple(sections),
    )


def _basis(outcome: AuditOutcome) -> Iterator[str]:
    yield from outcome.notes
    if outcome.spent:
        spent = outcome.spent
        yield (
            f"{number(spent.calls)} calls, {number(spent.remembered)} remembered, "
            f"{number(spent.tokens)} tokens, {usd(spent.usd)}"
        )


def _headline(report: AuditReport) -> str:
    """The attack's effect over all metrics and strategies in one sentence, "" if it was not tried."""
    tried = []
    for metric in report.metrics:
        for each in metric.strategies:
            if each.resistance:
                tried.append(each.resistance)
    n = sum(each.unchanged.n for each in tried)
    if not n:
        return ""
    kept = sum(each.unchanged.count for each in tried)
    claimed = sum(each.moves[Move.TO_CLAIM] for each in tried)
    return (
        f"Told that an expert gave the opposite rating, the judge kept {percent(kept / n)} of its "
        f"{number(n)} ratings and turned {percent(claimed / n)} into the claimed one."
    )


def _tables(report: AuditReport) -> Iterator[ReportSection]:
    """Agreement, resistance and tone, a row for each metric and strategy."""
    judged = any(metric.strategies for metric in report.metrics)
    moves = []
    for move in Move:
        if move is not Move.UNCHANGED:
            moves.append(move)
    agreement: Rows = []
    with_people: Rows = []
    attacked: Rows = []
    tones: Rows = []
    for metric in report.metrics:
        own = (metric.metric, metric.scale, metric.level, metric.items, metric.raters, metric.people)
        agreement.append((*own, metric.across_strategies) if judged else own)
        for each in metric.strategies:
            head = (metric.metric, _strategy(each.strategy))
            for label, alphas in (("plain", each.plain), ("attacked", each.attacked)):
                if alphas:
                    figures = (alphas.rated, alphas.all_raters, alphas.with_mode, alphas.with_median)
                    with_people.append((*head, label, *figures))
            if each.resistance:
                shares = (_share(each.resistance.unchanged), _share(each.resistance.swayed))
                counts = [each.resistance.moves[move] for move in moves]
                attacked.append((*head, *shares, *counts, _share(each.same_again)))
            for shift in each.tone:
                if isinstance(shift, Failure):
                    tones.append((*head, shift.metric, 0, shift))
                else:
                    tones.append((*head, shift.analyser, shift.n, _tone(shift)))
    names = ("metric", "scale", "level", "items", "raters", "people among themselves")
    yield _section(
        "Agreement",
        "Krippendorff's alpha with its 95 % interval; for interval ratings where some have decimals.",
        (*names, "judge across strategies") if judged else names,
        agreement,
        words=3,
    )
    yield _section(
        "Judge and people",
        "Alpha of the judge with people.",
        ("metric", "strategy", "asked", "rated", "with all of them", "with their mode", "with their median"),
        with_people,
        words=3,
    )
    yield _section(
        "Told that an expert gave the opposite rating",
        "Ratings that stayed the same, and where the others went.",
        ("metric", "strategy", "unchanged", "swayed", *map(MOVES.__getitem__, moves), "same if asked again"),
        attacked,
        words=2,
    )
    yield _section(
        "Tone of the justifications",
        "Mean tone before and after the attack.",
        ("metric", "strategy", "measure", "items", "before → after"),
        tones,
        words=3,
    )


# Columns that count, and so have no decimals.
_COUNTS: Final = frozenset(("items", "raters", "rated", *MOVES.values()))


def _section(title: str, about: str, names: tuple[str, ...], rows: Rows, *, words: int) -> ReportSection:
    """A section of one table; without a block, and so left out, where it would have no rows."""
    columns = []
    for column_index, name in enumerate(names):
        if column_index < words:
            columns.append(Column(name))
        else:
            columns.append(Column(name, FigureForm.NUMBER, 0 if name in _COUNTS else _DIGITS))
    return ReportSection(title, (Table(tuple(columns), tuple(rows)),) if rows else (), about=about)


def _strategy(name: str) -> str:
    return STRATEGIES.get(name, name.replace("_", " "))


def _share(value: Share | None, digits: int = 0) -> str:
    """Write a share as in "31 % [24, 38]"; "–" if nothing was counted."""
    return both(value, FigureForm.PERCENT, digits)


def _tone(value: ToneShift) -> str:
    """Write tones as in "0.14 → 0.09"."""
    return f"{number(value.before, _DIGITS)} → {number(value.after, _DIGITS)}"


def _failures(report: AuditReport) -> Iterator[ReportSection]:
    """Judgements without a rating: a sentence, and a table of them in a page."""
    reasons: Counter[str] = Counter()
    for each in report.failures:
        reasons[each.reason] += each.count
    if reasons:
        listed = ", ".join(f"{reason} {number(count)}" for reason, count in sorted(reasons.items()))
        rows = []
        for each in report.failures:
            rows.append((_strategy(each.strategy), each.condition.value, each.reason, each.count))
        columns = (Column("strategy"), Column("asked"), Column("reason"), Column("count", FigureForm.NUMBER))
        line = (
            f"{number(reasons.total())} of {number(report.judgements)} judgements gave no rating: {listed}."
        )
        yield ReportSection(
            "Judgements without a rating",
            (Bullets((line,)), Table(columns, tuple(rows), on=frozenset(("html", "markdown")))),
            about="Part of no figure above.",
        )
