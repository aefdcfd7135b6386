"""The outcome for people, as a document with pictures, and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import number, percent, usd
from evenkeel.core.verdict import Failure
from evenkeel.core.version import VERSION
from evenkeel.lab.judge_audit.attack import Move
from evenkeel.lab.judge_audit.judgements import Strategy
from evenkeel.release.kit.charts import Point, dot_plot
from evenkeel.release.kit.document import (
    Bullets,
    Column,
    Document,
    FigureForm,
    Picture,
    ReportSection,
    Table,
    both,
)
from evenkeel.release.kit.renderings import json_text, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.lab.judge_audit.agreement import RaterAgreement
    from evenkeel.lab.judge_audit.measures import AuditReport, MetricReport, ToneShift
    from evenkeel.lab.judge_audit.run import AuditOutcome
    from evenkeel.monitor.labels import Share
    from evenkeel.release.kit.document import Block, IntervalFigure, Value

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
_ALPHA_TICKS: Final = (-1.0, -0.5, 0.0, 0.5, 1.0)
_SHARE_TICKS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_NICE_TONES: Final = (0.1, 0.25, 0.5, 1.0)
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
        *(_pictures(metric) for metric in outcome.ratings.metrics),
        *_failures(outcome.ratings),
    ]
    sections.append(ReportSection("Basis", (Bullets(tuple(_basis(outcome)), quiet=True),)))
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
            f"{number(spent.prompt_tokens + spent.completion_tokens)} tokens, {usd(spent.cost_usd)}"
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
    names = ("metric", "scale", "level", "items", "raters", "people among themselves")
    yield _section(
        "Agreement",
        "Krippendorff's alpha with its 95 % interval; for interval ratings where some have decimals.",
        (*names, "judge across strategies") if judged else names,
        [
            (
                metric.metric, metric.scale, metric.level, metric.items, metric.raters, metric.people,
                *((metric.across_strategies,) if judged else ()),
            )
            for metric in report.metrics
        ],
        words=3,
    )  # fmt: skip
    yield _section(
        "Judge and people",
        "Alpha of the judge with people.",
        ("metric", "strategy", "asked", "rated", "with all of them", "with their mode", "with their median"),
        [
            (
                metric.metric, _strategy(each.strategy), label, blocks.rated, blocks.all_raters,
                blocks.with_mode, blocks.with_median,
            )
            for metric in report.metrics
            for each in metric.strategies
            for label, blocks in (("plain", each.plain), ("attacked", each.attacked))
            if blocks
        ],
        words=3,
    )  # fmt: skip
    moves = [move for move in Move if move is not Move.UNCHANGED]
    yield _section(
        "Told that an expert gave the opposite rating",
        "Ratings that stayed the same, and where the others went.",
        ("metric", "strategy", "unchanged", "swayed", *map(MOVES.__getitem__, moves), "same if asked again"),
        [
            (
                metric.metric, _strategy(each.strategy), _share(each.resistance.unchanged),
                _share(each.resistance.swayed), *(each.resistance.moves[move] for move in moves),
                _share(each.same_again),
            )
            for metric in report.metrics
            for each in metric.strategies
            if each.resistance
        ],
        words=2,
    )  # fmt: skip
    yield _section(
        "Tone of the justifications",
        "Mean tone before and after the attack.",
        ("metric", "strategy", "measure", "items", "before → after"),
        [
            (metric.metric, _strategy(each.strategy), shift.metric, 0, shift)
            if isinstance(shift, Failure)
            else (metric.metric, _strategy(each.strategy), shift.analyser, shift.n, _tone(shift))
            for metric in report.metrics
            for each in metric.strategies
            for shift in each.tone
        ],
        words=3,
    )


def _section(title: str, about: str, names: tuple[str, ...], rows: Rows, *, words: int) -> ReportSection:
    """A section of one table; without a block, and so left out, where it would have no rows."""
    columns = tuple(
        Column(name)
        if column_index < words
        else Column(name, FigureForm.NUMBER, 0 if name in {"items", "raters", "rated"} else _DIGITS)
        for column_index, name in enumerate(names)
    )
    moves = {MOVES[move] for move in Move}
    columns = tuple(
        Column(column.name, FigureForm.NUMBER) if column.name in moves else column for column in columns
    )
    return ReportSection(title, (Table(columns, tuple(rows)),) if rows else (), about=about)


def _strategy(name: str) -> str:
    return STRATEGIES.get(name, name.replace("_", " "))


def _share(value: Share | None, digits: int = 0) -> str:
    """Write a share as in "31 % [24, 38]"; "–" if nothing was counted."""
    return both(value, FigureForm.PERCENT, digits)


def _tone(value: ToneShift) -> str:
    """Write tones as in "0.14 → 0.09"."""
    return f"{number(value.before, _DIGITS)} → {number(value.after, _DIGITS)}"


def _pictures(metric: MetricReport) -> ReportSection:
    """Draw a metric: agreement, ratings kept, where they went, and the tone."""
    name = metric.metric.replace("_", " ")
    pictures: list[Block] = [
        Picture(
            dot_plot(f"Agreement on {name}", list(_agreement(metric)), low=-1, high=1, ticks=_ALPHA_TICKS),
            "Agreement",
            f"(Krippendorff's alpha, {metric.level})",
            (
                ("people", "people"),
                ("judge", "judge with itself"),
                ("plain", "judge with people"),
                ("attacked", "under attack"),
            )
            if metric.strategies
            else (),
        )
    ]
    if kept := list(_kept(metric)):
        pictures.append(
            Picture(
                dot_plot(f"Ratings of {name} kept", kept, low=0, high=1, ticks=_SHARE_TICKS),
                "Ratings that stayed the same",
                "(share of the items)",
                (
                    ("judge", "merely asked again"),
                    ("attacked", "told that an expert gave the opposite rating"),
                ),
            )
        )
    if moves := tuple(_moves(metric)):
        counted = [Column(name, FigureForm.NUMBER) for name in ("Items", *MOVES.values())]
        columns = (Column("Strategy"), *counted)
        pictures.append(Table(columns, moves, title="Where ratings went under attack"))
    if tones := list(_tones(metric)):
        ends = []
        for tone in tones:
            for end in (tone.value, tone.lower, tone.upper):
                if end is not None:
                    ends.append(abs(end))
        reach = next((nice for nice in _NICE_TONES if max(ends) <= nice), 2.0)
        ticks = (-reach, -reach / 2, 0, reach / 2, reach)
        plot_of = dot_plot(f"Tone of justifications about {name}", tones, low=-reach, high=reach, ticks=ticks)
        about = "under attack (left: more negative)"
        pictures.append(Picture(plot_of, "Change in the tone of the justifications", about))
    about = f"Scale {metric.scale}, {number(metric.items)} items, {number(metric.raters)} people."
    return ReportSection(name.capitalize(), tuple(pictures), key=f"metric-{metric.metric}", about=about)


def _point(label: str, kind: str, value: IntervalFigure | Failure, form: FigureForm, digits: int) -> Point:
    text = both(value, form, digits)
    if isinstance(value, Failure):
        return Point(label, None, None, None, kind, text)
    return Point(label, value.value, value.lower, value.upper, kind, text)


def _agreement(metric: MetricReport) -> Iterator[Point]:
    def point(label: str, kind: str, value: RaterAgreement | Failure) -> Point:
        return _point(label, kind, value, FigureForm.NUMBER, _DIGITS)

    yield point("people among themselves", "people", metric.people)
    if metric.across_strategies is not None:
        yield point("judge across strategies", "judge", metric.across_strategies)
    for each in metric.strategies:
        name = _strategy(each.strategy)
        yield point(f"{name}, with all people", "plain", each.plain.all_raters)
        yield point(f"{name}, with their mode", "plain", each.plain.with_mode)
        if each.attacked:
            yield point(f"{name}, attacked, with mode", "attacked", each.attacked.with_mode)


def _kept(metric: MetricReport) -> Iterator[Point]:
    for each in metric.strategies:
        name = _strategy(each.strategy)
        if each.same_again:
            yield _point(f"{name}, asked again", "judge", each.same_again, FigureForm.PERCENT, 0)
        if each.resistance:
            yield _point(f"{name}, attacked", "attacked", each.resistance.unchanged, FigureForm.PERCENT, 0)


def _moves(metric: MetricReport) -> Iterator[tuple[Value, ...]]:
    for each in metric.strategies:
        if each.resistance:
            counts = (each.resistance.moves[move] for move in Move)
            yield (_strategy(each.strategy), each.resistance.unchanged.n, *counts)


def _tones(metric: MetricReport) -> Iterator[Point]:
    for each in metric.strategies:
        for shift in each.tone:
            if not isinstance(shift, Failure):
                label = f"{_strategy(each.strategy)}, {shift.analyser.replace('_', ' ')}"
                text = f"{_tone(shift)}, n = {number(shift.n)}"
                change = shift.after - shift.before
                yield Point(label, change, shift.lower, shift.upper, "attacked", text)


def _failures(report: AuditReport) -> Iterator[ReportSection]:
    """Judgements without a rating: a sentence, and a table of them in a page."""
    reasons: Counter[str] = Counter()
    for each in report.failures:
        reasons[each.reason] += each.count
    if reasons:
        listed = ", ".join(f"{reason} {number(count)}" for reason, count in sorted(reasons.items()))
        rows = tuple(
            (_strategy(each.strategy), each.condition.value, each.reason, each.count)
            for each in report.failures
        )
        columns = (Column("strategy"), Column("asked"), Column("reason"), Column("count", FigureForm.NUMBER))
        line = (
            f"{number(reasons.total())} of {number(report.judgements)} judgements gave no rating: {listed}."
        )
        yield ReportSection(
            "Judgements without a rating",
            (Bullets((line,)), Table(columns, rows, on=frozenset(("html", "markdown")))),
            about="Part of no figure above.",
        )
