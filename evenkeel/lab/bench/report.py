"""The outcome for people, as a document, and for machines: JSON, CSV and each trial as JSONL."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.figures import duration, listing, number, percent, usd
from evenkeel.core.geometry import band
from evenkeel.core.version import VERSION
from evenkeel.lab.bench.prompts import VERSION as PROMPTS_VERSION
from evenkeel.metrics.registry import metric
from evenkeel.release.kit.asking import FAULTS
from evenkeel.release.kit.charts import DotPlot, Point, dot_plot
from evenkeel.release.kit.document import (
    MISSING,
    Bullets,
    Column,
    Document,
    FigureForm,
    Picture,
    ReportSection,
    Table,
    TableCell,
    both,
    interval_text,
    written,
)
from evenkeel.release.kit.renderings import json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from evenkeel.lab.bench.run import BenchOutcome
    from evenkeel.lab.bench.scores import BenchTables, Figure, GroupScores, ModelRow
    from evenkeel.release.kit.document import Rendering, Value

    Group = Callable[[ModelRow], Mapping[str, GroupScores]]

SCHEMA: Final = 1
_DIGITS: Final = 1
_PAIR: Final = "crosslingual."
_TO: Final = "_to_"
_TICKS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_ZOOMED: Final = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_CATEGORIES_ABOUT: Final = (
    "Trials out of 100 in which the rewording did not change the quality of the answer: mean ± standard "
    "deviation over runs, 95 % interval. The baseline is the same prompt sent again: what is missing there "
    "is the model's own noise."
)
_HTML: Final[frozenset[Rendering]] = frozenset(("html",))
_ACCOUNT: Final = ("calls", "remembered", "failed", "tokens", "usd", "remembered_tokens", "remembered_usd")


def document(outcome: BenchOutcome) -> Document:
    """The outcome for people."""
    tables = outcome.tables
    return Document(
        title=f"Robustness of {listing([row.model for row in tables.models])}",
        kind="bench",
        headline=measured(outcome),
        sections=(
            _overall(tables),
            *_heats(tables),
            matrices(tables),
            _deltas(tables),
            _likeness(tables),
            _quality_by_language(tables),
            _difficulty(tables),
            ReportSection("Basis", (Bullets(tuple(_basis(outcome)), quiet=True),), key="notes"),
        ),
    )


def measured(outcome: BenchOutcome) -> str:
    """Say what was measured, in a line."""
    protocol = outcome.options.protocol
    runs = "1 run" if protocol.runs == 1 else f"{number(protocol.runs)} runs"
    tasks = ", ".join(protocol.tasks).replace("_", " ")
    return (
        f"{number(len(outcome.options.items))} issues of {outcome.options.source}, {tasks}; {runs}; "
        f"{number(len(outcome.trials))} pairs of answers rated by {outcome.scored_by}"
    )


def _overall(tables: BenchTables) -> ReportSection:
    points = []
    for row in tables.models:
        figure = row.overall.robustness
        if figure is None:
            points.append(Point(row.model, None, None, None, "not measured"))
        else:
            text = both(figure, FigureForm.POINTS, _DIGITS)
            points.append(Point(row.model, figure.value, figure.lower, figure.upper, text))
    return ReportSection(
        "Robustness of the models",
        (Picture(_plot(points)),),
        key="overall",
        about="Points of 100: the mean of the baseline and the five categories of the paper, with the 95 % "
        "interval for another sample of issues.",
    )


def _plot(points: list[Point]) -> DotPlot:
    lower_ends = []
    for point in points:
        if point.lower is not None:
            lower_ends.append(point.lower)
    low, ticks = (0.5, _ZOOMED) if lower_ends and min(lower_ends) >= _ZOOMED[0] else (0.0, _TICKS)
    return dot_plot("Overall robustness", points, low=low, high=1, ticks=ticks)


def _heats(tables: BenchTables) -> Iterator[ReportSection]:
    """Coloured tables with models as rows, those left out that would be empty."""
    groupings: tuple[tuple[str, str, str, Group], ...] = (
        (
            "categories",
            "Robustness by category",
            _CATEGORIES_ABOUT,
            lambda row: {"overall": row.overall, **row.categories},
        ),
        ("formats", "Robustness by format",
         "Each against the free answer. N/A: the share of answers in another format; they count as worse.",
         lambda row: row.formats),
        ("languages", "Robustness by language",
         "Prompt and answer in another language. N/A: the share of answers in another language than that.",
         lambda row: row.languages),
        ("tasks", "Robustness by task", "All categories of one task, each weighing the same.",
         lambda row: row.tasks),
        ("kinds", "Single perturbations",
         "General, positional and compound ones; formats and languages have their own tables.", _single),
    )  # fmt: skip
    for key, title, about, of in groupings:
        if tables.columns(of):
            table = _heat(tables, of, legend=key == "categories")
            yield ReportSection(title, (table,), key=key, about=about)


def _single(row: ModelRow) -> Mapping[str, GroupScores]:
    return _beginning(row, ("general.", "positional.", "compound."))


def _beginning(row: ModelRow, prefixes: str | tuple[str, ...]) -> Mapping[str, GroupScores]:
    """Return the scores of the kinds whose names begin so."""
    scored = {}
    for name, scores in row.kinds.items():
        if name.startswith(prefixes):
            scored[name] = scores
    return scored


def _heat(tables: BenchTables, of: Group, *, legend: bool) -> Table:
    names = tables.columns(of)
    rows: list[tuple[Value, ...]] = []
    for row in tables.models:
        cells = []
        for name in names:
            cells.append(_cell(row.model, name, of(row).get(name)))
        rows.append((row.model, *cells))
    columns = _columns("Model", map(_plain, names))
    return Table(columns, tuple(rows), heat=True, legend=legend)


def _columns(first: str, names: Iterable[str]) -> tuple[Column, ...]:
    return (Column(first), *(Column(name, FigureForm.POINTS, _DIGITS) for name in names))


def _plain(name: str) -> str:
    return name.rpartition(".")[2].replace("_", " ")


def _cell(model: str, name: str, group_scores: GroupScores | None) -> TableCell | None:
    if group_scores is None or group_scores.robustness is None:
        return None
    figure = group_scores.robustness
    robustness = both(figure, FigureForm.POINTS, _DIGITS)
    content = both(group_scores.content_delta, FigureForm.POINTS, _DIGITS)
    quality = both(group_scores.quality_delta, FigureForm.POINTS, _DIGITS)
    title = (
        f"{model}, {_plain(name)}: robustness {robustness}, content delta {content}, "
        f"quality delta {quality}, invalid {percent(group_scores.invalid)}, {number(figure.n)} trials"
    )
    text, below = _mean(figure), _interval(figure)
    if group_scores.invalid == 1:
        text, below = "N/A", "100% ignore what was asked"
    elif group_scores.invalid:
        below = f"{below}, N/A {percent(group_scores.invalid)}"
    return TableCell(text, below, band=band(figure.value), title=title)


def _mean(figure: Figure | None) -> str:
    """Mean and standard deviation over the runs, in points of 100: "91.0 ± 0.4"."""
    if figure is None:
        return MISSING
    spread = "" if figure.std is None else f" ± {written(figure.std, FigureForm.POINTS, _DIGITS)}"
    return f"{written(figure.value, FigureForm.POINTS, _DIGITS)}{spread}"


def _interval(figure: Figure) -> str:
    return interval_text(figure.lower, figure.upper, FigureForm.POINTS, _DIGITS)


def _figure(figure: Figure | None) -> TableCell:
    return TableCell(MISSING) if figure is None else TableCell(_mean(figure), _interval(figure))


def matrices(tables: BenchTables) -> ReportSection:
    """Robustness by language of the input and of the answer, for each model that has such pairs."""
    names = []
    for name in tables.columns(_pairs):
        names.append(name.removeprefix(_PAIR))
    ordered: dict[str, None] = {}
    inputs: set[str] = set()
    answers: set[str] = set()
    for name in names:
        source, _, target = name.partition(_TO)
        ordered |= {source: None, target: None}
        inputs.add(source)
        answers.add(target)
    targets = []
    for language in ordered:
        if language in answers:
            targets.append(language)
    tables_of_models = []
    for row in tables.models:
        pairs = _pairs(row)
        if not pairs:
            continue
        rows: list[tuple[Value, ...]] = []
        for source in ordered:
            if source in inputs:
                kinds = [f"{_PAIR}{source}{_TO}{target}" for target in targets]
                rows.append((source, *(_cell(row.model, kind, pairs.get(kind)) for kind in kinds)))
        heads = _columns("Input", targets)
        tables_of_models.append(Table(heads, tuple(rows), title=row.model, heat=True, on=_HTML))
    return ReportSection(
        "Crosslingual robustness by pair of languages",
        tuple(tables_of_models),
        key="pairs",
        about="Down: language of the input. Across: language of the answer.",
    )


def _pairs(row: ModelRow) -> Mapping[str, GroupScores]:
    return _beginning(row, _PAIR)


def _deltas(tables: BenchTables) -> ReportSection:
    names = (
        "Content delta",
        "Quality delta",
        "Robustness without the baseline",
        "Sensitivity",
        "Expected entities (F1)",
    )
    rows = []
    for row in tables.models:
        rows.append(
            (
                row.model,
                _figure(row.overall.content_delta),
                _figure(row.overall.quality_delta),
                _figure(row.perturbed.robustness),
                _figure(row.sensitivity),
                row.entities,
            )
        )
    return ReportSection(
        "Deltas",
        (Table(_columns("Model", names), tuple(rows)),),
        key="deltas",
        about="How often the content changed, and how often a quality changed with it; lower is better. "
        "Sensitivity: how often the answer to another question was another one; higher is better. "
        "Points of 100: mean ± standard deviation over runs, 95 % interval.",
    )


def _likeness(tables: BenchTables) -> ReportSection:
    names = tables.columns(lambda row: row.likeness)
    rows: list[tuple[Value, ...]] = []
    for row in tables.models:
        rows.append((row.model, *map(row.likeness.get, names)))
    columns = _columns("Model", [metric(name).about.label for name in names])
    return ReportSection(
        "Reference metrics",
        (Table(columns, tuple(rows)),) if names else (),
        key="likeness",
        about="Likeness of the perturbed answers to the original ones, points of 100, mean over the five "
        "categories. It measures wording, not content, and decides nothing.",
    )


def _quality_by_language(tables: BenchTables) -> ReportSection:
    tags = tables.columns(lambda row: row.languages)
    rows: list[tuple[Value, ...]] = []
    for row in tables.models:
        cells: list[Value] = []
        for tag in tags:
            scores = row.languages.get(tag)
            cells.append(_figure(scores.quality_delta if scores else None))
        rows.append((row.model, *cells))
    return ReportSection(
        "Quality delta by language",
        (Table(_columns("Model", tags), tuple(rows)),) if tags else (),
        key="quality-languages",
        about="Of the answers whose content changed, those whose quality changed with it; lower is better.",
    )


def _difficulty(tables: BenchTables) -> ReportSection:
    names = ("Mean", "Drop from baseline", "Mean std")
    columns = _columns("Category", names)
    rows = tuple((row.category, row.mean, row.drop, row.mean_std) for row in tables.difficulty)
    return ReportSection(
        "Difficulty of the categories, over all models", (Table(columns, rows),), key="difficulty"
    )


def _basis(outcome: BenchOutcome) -> Iterator[str]:
    yield from _failures(outcome)
    yield from outcome.notes
    costs = outcome.costs.total
    yield (
        f"{number(costs.calls)} calls beside the judge's, {number(costs.remembered)} answers remembered, "
        f"{number(costs.failed)} failed, {number(costs.tokens)} tokens, {usd(costs.usd)}, "
        f"{duration(outcome.duration_s)}"
    )
    if outcome.estimate_usd:
        yield f"estimated by rule of thumb: {usd(outcome.estimate_usd)}"
    if outcome.rewritten_by:
        yield f"Texts were rewritten and translated by {outcome.rewritten_by}."
    protocol = outcome.options.protocol
    yield f"Severity {protocol.severity}, seed {protocol.seed}."


def _failures(outcome: BenchOutcome) -> Iterator[str]:
    reasons: set[str] = set()
    for row in outcome.tables.models:
        reasons.update(reason.removeprefix("quality_") for reason in row.failures)
        if row.failures:
            listed = ", ".join(f"{reason} {number(count)}" for reason, count in row.failures.items())
            yield f"{row.model}: without a rating or a quality: {listed}"
    if reasons & FAULTS:
        yield "The same command asks again for what an endpoint did not answer, and for nothing else."
    for model, listed in outcome.unusable.items():
        yield f"{model}: not asked any more: {listed}"


def as_json(outcome: BenchOutcome) -> str:
    """Everything as JSON, shares in [0, 1]."""
    protocol = outcome.options.protocol
    spent = {}
    for payee, account in outcome.costs.accounts.items():
        spent[payee] = {name: getattr(account, name) for name in _ACCOUNT}
    return json_text(
        {
            "schema": SCHEMA,
            "evenkeel": VERSION,
            "prompts": PROMPTS_VERSION,
            "source": outcome.options.source,
            "items": len(outcome.options.items),
            "tasks": protocol.tasks,
            "runs": protocol.runs,
            "severity": protocol.severity,
            "seed": protocol.seed,
            "scored_by": outcome.scored_by,
            "rewritten_by": outcome.rewritten_by,
            "duration_s": outcome.duration_s,
            "spent": spent,
            "estimate_usd": outcome.estimate_usd,
            "notes": outcome.notes,
            "unusable": dict(outcome.unusable),
            "models": [_model(row) for row in outcome.tables.models],
            "difficulty": outcome.tables.difficulty,
        }
    )


def _model(row: ModelRow) -> dict[str, Any]:
    fields = asdict(row)
    fields["entities_f1"] = fields.pop("entities")
    return fields


def as_lines(outcome: BenchOutcome) -> str:
    """A line of JSON for each trial."""
    return "".join(json.dumps(asdict(trial), allow_nan=False) + "\n" for trial in outcome.trials)
