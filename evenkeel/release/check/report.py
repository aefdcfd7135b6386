"""The outcome of a check for people, as a document, and for machines, as JSON and JUnit."""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from evenkeel.core.figures import NO_JUDGE, count, duration, listing, number, percent, reasons, rounded, usd
from evenkeel.core.rewordings import why_untried
from evenkeel.core.verdict import CONTRAST
from evenkeel.core.version import VERSION
from evenkeel.release.check.figures import ERROR_RATE, FIRST, fragile_words
from evenkeel.release.check.run import SIMULATED
from evenkeel.release.kit.charts import Point, dot_plot
from evenkeel.release.kit.document import (
    Bullets,
    Column,
    Document,
    FigureForm,
    FoldedSection,
    Paragraph,
    Picture,
    ReportSection,
    Table,
    TableCell,
    both,
)
from evenkeel.release.kit.renderings import ResultLine, diff, json_text, junit, plain
from evenkeel.stores.changes import ReleaseRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.cells import Standing
    from evenkeel.release.check.figures import CategoryFigures, CheckTrial, PromptWord
    from evenkeel.release.check.run import CheckOutcome
    from evenkeel.release.kit.document import Block, Tone, Value

SCHEMA: Final = 1
_WORST: Final = 3
# If fewer answers than this share change with the question, the model may be ignoring the question.
_LOW_SENSITIVITY: Final = 0.5
_TICKS: Final = (-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
_WORDS_FOR: Final = {
    "within": "within the limit",
    "over": "over the limit",
    "unknown": "not known yet",
    "unmeasured": "not measured",
}
_TONES: Final[dict[str, Tone]] = {"within": "better", "over": "worse", "unknown": "", "unmeasured": "quiet"}


def document(outcome: CheckOutcome) -> Document:
    """Return the outcome as a document."""
    request = outcome.request
    sections: list[ReportSection] = []
    for arm, name in request.names.items():
        figures, picture = outcome.arms[arm], _picture(outcome, arm)
        blocks: list[Block] = [_similarity_table(figures), picture]
        if request.judge:
            blocks = [_content_table(figures), picture, _kinds(outcome, arm)]
        title = f"Rewordings: {name}" if len(request.names) > 1 else "Rewordings"
        sections.append(ReportSection(title, tuple(blocks), key=f"rewordings-{arm}", about=_about(outcome)))
    if outcome.comparisons:
        sections.append(_compared(outcome))
    sections.append(ReportSection("Sensitivity", (Bullets(tuple(_sensitivity(outcome))),)))
    worst = worst_trials(outcome.trials)
    if worst:
        sections.append(ReportSection("Answers that moved most", tuple(_worst(worst))))
    words = _fragile_words(outcome)
    if words:
        sections.append(_words(words))
    sections.append(ReportSection("Basis", (Bullets(tuple(_basis(outcome)), quiet=True),), key="notes"))
    return Document(
        title=f"How fragile is {request.source or 'this prompt'}?",
        kind="check",
        headline=headline(outcome),
        sections=tuple(sections),
    )


def headline(outcome: CheckOutcome) -> str:
    """Return the most important finding in one or two sentences."""
    if outcome.nothing_measured:
        return f"Nothing was measured: {nothing_because(outcome)}."
    if not outcome.request.judge:
        return f"{NO_JUDGE[0].upper()}{NO_JUDGE[1:]}."
    parts = []
    for arm, name in outcome.request.names.items():
        parts.append(f"{name}: {_said(outcome.arms[arm])}")
    text = f"{'. '.join(parts)}."
    if outcome.switch is not None:
        text = f"{_switch(outcome, *outcome.request.names.values())} {text}"
    return " ".join((text, *_reservations(outcome)))


def _reservations(outcome: CheckOutcome) -> Iterator[str]:
    """Yield what keeps the finding from being taken as it is, a sentence each."""
    if outcome.broke_off:
        yield f"The check broke off: {outcome.stopped}."
    blind = []
    for arm, name in outcome.request.names.items():
        if ignores_the_question(outcome, arm):
            blind.append(name)
    if blind:
        verb = "reacts" if len(blind) == 1 else "react"
        yield f"{listing(blind)} hardly {verb} to another question: robustness says little here."
    for arm, name in outcome.request.names.items():
        if any(figures.is_blind for figures in outcome.arms[arm]):
            yield (
                f"{name} answers the same prompt differently nearly every time, which hides what a "
                "rewording does: lower its temperature."
            )


def nothing_because(outcome: CheckOutcome) -> str:
    """Return why no rewording has an outcome."""
    if outcome.failures:
        return f"no trial has an outcome ({reasons(outcome.failures)})"
    if not outcome.rounds:
        return outcome.stopped
    return "no rewording of the chosen categories applies to the prompt"


def _said(figures: tuple[CategoryFigures, ...]) -> str:
    """Return where the categories of an arm stand."""
    sentences: list[str] = []
    for standing in ("over", "unknown", "within"):
        named = []
        for each in figures:
            if each.standing == standing:
                named.append(_label(each.category))
        if named:
            sentences.append(f"{listing(named)} {_WORDS_FOR[standing]}")
    return "; ".join(sentences) or "nothing was measured"


def _label(name: str) -> str:
    return name.replace("_", " ")


def _limit(outcome: CheckOutcome) -> str:
    """The limit in points, as it was typed."""
    return number(100 * outcome.request.limit, 1).removesuffix(".0")


def _about(outcome: CheckOutcome) -> str:
    return (
        "Points above noise: how many answers of 100 change content under a rewording, less those that "
        f"change when the same prompt is sent again. The limit is {_limit(outcome)}. Whenever you look, "
        f"all lower ends together hold with {percent(1 - ERROR_RATE)} confidence, each upper end by itself."
    )


def _content_table(figures: tuple[CategoryFigures, ...]) -> Table:
    columns = (
        Column("rewording"),
        Column("standing", wide=True),
        Column("points above noise", FigureForm.SIGNED_POINTS, 1),
        Column("moved", FigureForm.PERCENT),
        Column("resend moved", FigureForm.PERCENT),
        Column("robustness", FigureForm.POINTS),
        Column("robustness of resends", FigureForm.POINTS),
        Column("rounds", FigureForm.NUMBER),
    )
    rows: list[tuple[Value, ...]] = []
    for each in figures:
        standing = TableCell(standing_text(each), tone=_TONES[each.standing])
        moved = each.content_delta.value if each.content_delta else None
        resend_moved = each.noise_floor.value if each.noise_floor else None
        rounds = each.points.n if each.points else 0
        rows.append(
            (
                _label(each.category), standing, each.points, moved, resend_moved, each.robustness,
                each.control_robustness, rounds,
            )
        )  # fmt: skip
    return Table(columns, tuple(rows))


def _similarity_table(figures: tuple[CategoryFigures, ...]) -> Table:
    columns = (
        Column("rewording"),
        Column("similarity lost", FigureForm.SIGNED_POINTS, 1),
        Column("invalid", FigureForm.NUMBER),
        Column("content", wide=True),
    )
    rows: list[tuple[Value, ...]] = []
    for each in figures:
        content = _untried(each) or "not measured"
        rows.append((_label(each.category), each.similarity_loss, each.invalid, content))
    return Table(columns, tuple(rows))


def _untried(figures: CategoryFigures) -> str:
    return f"not tried: {why_untried(figures.not_applicable)}" if figures.not_applicable else ""


def _kinds(outcome: CheckOutcome, arm: str) -> Table:
    """Return how often each single rewording moved the answer."""
    moved: Counter[str] = Counter()
    resends: Counter[str] = Counter()
    rated: Counter[str] = Counter()
    for trial in outcome.trials:
        if trial.arm == arm and trial.moved is not None and trial.category != CONTRAST:
            rated[trial.kind] += 1
            moved[trial.kind] += trial.moved
            resends[trial.kind] += bool(trial.control_moved)
    columns = (
        Column("single rewording"),
        Column("moved", FigureForm.NUMBER),
        Column("resends moved", FigureForm.NUMBER),
        Column("trials", FigureForm.NUMBER),
    )
    return Table(columns, tuple((kind, moved[kind], resends[kind], rated[kind]) for kind in sorted(rated)))


def standing_text(figures: CategoryFigures) -> str:
    """Return where a category stands, in words."""
    if figures.not_applicable:
        return _untried(figures)
    if figures.is_blind:
        return "not known: the same prompt gets another answer nearly every time"
    words = _WORDS_FOR[figures.standing]
    if figures.standing == "unknown" and figures.more_rounds:
        return f"{words} (about {count(rounded(figures.more_rounds), 'more round')})"
    if figures.standing == "unmeasured" and figures.failures:
        return f"{words}: {', '.join(figures.failures).replace('_', ' ')}"
    return words


def _picture(outcome: CheckOutcome, arm: str) -> Picture:
    points = []
    for each in outcome.arms[arm]:
        if each.points is not None:
            value, lower, upper = each.points.value, each.points.lower, each.points.upper
            text = both(each.points, FigureForm.SIGNED_POINTS, 1)
            points.append(Point(_label(each.category), value, lower, upper, text))
    # From −50: lower values would mean that rewording makes answers much steadier than resending.
    chart = dot_plot("Points above noise", points, low=-0.5, high=1, ticks=_TICKS)
    return Picture(chart)


def _compared(outcome: CheckOutcome) -> ReportSection:
    first, second = outcome.request.names.values()
    names = {
        "first": f"{first} is more fragile",
        "second": f"{second} is more fragile",
        "no": "no difference beyond the limit",
        "unknown": "not known yet",
    }
    absent = set()
    for figures in chain(*outcome.arms.values()):
        if figures.not_applicable:
            absent.add(figures.category)
    rows = []
    for each in outcome.comparisons:
        so = "not tried" if each.category in absent else names[each.more_fragile]
        rows.append((_label(each.category), each.difference, so))
    columns = (
        Column("rewording"),
        Column("difference", FigureForm.SIGNED_POINTS, 1),
        Column("so", wide=True),
    )
    return ReportSection(
        f"{second} against {first}",
        (
            Paragraph(_differ(outcome, first, second)),
            Table(columns, tuple(rows)),
        ),
        key="comparison",
        about=(
            f"Answers of 100 that rewordings move, above noise or in all, whichever differs less: {second} "
            f"minus {first}, in the same rounds."
        ),
    )


def _switch(outcome: CheckOutcome, first: str, second: str) -> str:
    """Say whether the second may take the place of the first."""
    assert outcome.switch is not None
    names = []
    for name in outcome.switch.because:
        names.append(name if name == "answers" else f"fragility ({_label(name)})")
    limit = _limit(outcome)
    wrong = f"(wrong in at most {percent(ERROR_RATE)})"
    match outcome.switch.answer:
        case "may_switch":
            return (
                f"{second} may take the place of {first}: beyond noise its answers differ by less than "
                f"{limit} points, and it is less than {limit} points more fragile {wrong}."
            )
        case "must_not":
            return (
                f"{second} must not take the place of {first} unseen: beyond noise it differs in "
                f"{listing(names)} {wrong}."
            )
    return f"Whether {second} may take the place of {first} is not known yet; still open: {listing(names)}."


def _differ(outcome: CheckOutcome, first: str, second: str) -> str:
    if outcome.differ is None:
        return "Whether their answers differ in content was not measured."
    figure = both(outcome.differ, FigureForm.SIGNED_POINTS, 1)
    if outcome.differ.lower > 0:
        return f"Answers of {first} and {second} differ in content beyond the noise of both: {figure} points."
    return (
        f"Answers of {first} and {second} were not shown to differ in content beyond noise: {figure} points."
    )


def ignores_the_question(outcome: CheckOutcome, arm: str) -> bool:
    """Return whether fewer than half of the answers changed with the question, beyond chance."""
    estimate = outcome.sensitivity[arm]
    return estimate is not None and estimate.upper < _LOW_SENSITIVITY


def _sensitivity(outcome: CheckOutcome) -> Iterator[str]:
    for arm, name in outcome.request.names.items():
        estimate = outcome.sensitivity[arm]
        if estimate is None:
            why = "it needs a judge and a question that can be changed"
            if not outcome.rounds:
                why = "no round was completed"
            elif any(trial.arm == arm and trial.category == CONTRAST for trial in outcome.trials):
                why = "no answer to another question could be rated"
            yield f"{name}: sensitivity not measured ({why})."
            continue
        moved = f"{both(estimate, FigureForm.PERCENT)} of {count(estimate.n, 'answer')}"
        if ignores_the_question(outcome, arm):
            yield (
                f"{name}: only {moved} moved when the question was another one. A constant answer, a cache, "
                "a template that hides the question or a lenient judge looks robust in the same way."
            )
        else:
            # Resends move as well, and another question has to move more than they do.
            floors = [each.noise_floor.value for each in outcome.arms[arm] if each.noise_floor]
            so = ", as they should" if estimate.lower >= max([_LOW_SENSITIVITY, *floors]) else ""
            yield f"{name}: {moved} moved when the question was another one{so}."


def worst_trials(trials: Sequence[CheckTrial]) -> list[CheckTrial]:
    """Return the trials by lowest rating, then by least similarity; one of each kind comes first."""
    moved = []
    for trial in trials:
        # Where the resend moved as well, nobody can say that the rewording did it.
        if trial.moved and not trial.control_moved and trial.category != CONTRAST:
            moved.append(trial)
    moved.sort(key=lambda trial: (trial.rating or 0, trial.similarity or 0.0, trial.round, trial.kind))
    chosen: list[CheckTrial] = []
    others: list[CheckTrial] = []
    kinds_shown = set()
    for trial in moved:
        if trial.kind in kinds_shown:
            others.append(trial)
        else:
            kinds_shown.add(trial.kind)
            chosen.append(trial)
    return [*chosen, *others][:_WORST]


def _worst(trials: list[CheckTrial]) -> Iterator[Block]:
    for trial in trials:
        yield Paragraph(f"{trial.kind}: {trial.explanation or 'the content moved.'}")
        # Tools are no words of the prompt.
        if trial.prompt != trial.variant:
            yield FoldedSection("prompt", code=diff(trial.prompt, trial.variant), language="diff")
        yield FoldedSection("answer", code=diff(trial.reference, trial.candidate), language="diff")


def _fragile_words(outcome: CheckOutcome) -> list[PromptWord]:
    """Return the words of the categories that were shown to move answers: elsewhere they moved by chance."""
    moving = set()
    for arm, figureses in outcome.arms.items():
        for figures in figureses:
            if figures.points is not None and figures.points.lower > 0:
                moving.add((arm, figures.category))
    return fragile_words(trial for trial in outcome.trials if (trial.arm, trial.category) in moving)


def _words(words: list[PromptWord]) -> ReportSection:
    rows = tuple((word.word, word.share, word.moved, word.trials) for word in words)
    columns = (
        Column("word"), Column("answers moved", FigureForm.PERCENT), Column("moved", FigureForm.NUMBER),
        Column("trials", FigureForm.NUMBER),
    )  # fmt: skip
    return ReportSection(
        "Words that answers depend on",
        (Table(columns, rows),),
        key="words",
        about="Of the trials that changed this word, the share whose answer moved. Other words changed too.",
    )


def _basis(outcome: CheckOutcome) -> Iterator[str]:
    request, costs = outcome.request, outcome.costs.total
    judged = f"rated by the judge {request.rater}" if request.judge else NO_JUDGE
    yield f"{count(outcome.rounds, 'round')} in {duration(outcome.duration_s)}; {judged}."
    besides = " besides the judge's" if request.judge else ""
    # Where no price is known, nobody knows the cost.
    cost = f", {usd(costs.usd)}" if costs.usd else ""
    yield (
        f"{count(costs.calls, 'call')}{besides}, {count(costs.remembered, 'remembered answer')}, "
        f"{number(costs.tokens)} tokens{cost}."
    )
    # A terminal shows no text above its tables, so the limit is repeated here.
    yield f"The limit is {_limit(outcome)} points above noise."
    failures = outcome.failures
    if failures:
        yield f"{count(failures.total(), 'trial')} without an outcome: {reasons(failures)}."
    cut = sum(trial.cut for trial in outcome.trials)
    if cut:
        yield (
            f"{count(cut, 'trial')} with an answer that was cut off: raise its length limit, for example "
            """--parameters '{"max_tokens": 2000}'."""
        )
    if any(name.startswith(SIMULATED) for name in request.names.values()):
        yield "A simulated model says nothing about a real one: it calls no tool, and keeps to no schema."
    if outcome.stopped:
        yield f"Stopped before all was settled: {outcome.stopped}."
    yield f"evenkeel {VERSION}."


def as_json(outcome: CheckOutcome) -> str:
    """Return the outcome as JSON: every figure with its interval and number of rounds."""
    request, models = outcome.request, []
    for arm, name in request.names.items():
        models.append(
            {
                "arm": arm,
                "model": name,
                "sensitivity": outcome.sensitivity[arm],
                "ignores_the_question": ignores_the_question(outcome, arm),
                "categories": [_category_as_json(category) for category in outcome.arms[arm]],
            }
        )
    figures_json: dict[str, Any] = {
        "schema": SCHEMA,
        "evenkeel": VERSION,
        "prompt": request.source,
        "limit": request.limit,
        "judge": request.rater or None,
        "rounds": outcome.rounds,
        "settled": outcome.settled,
        "over": outcome.is_over,
        "stopped": outcome.stopped,
        "models": models,
        "comparisons": list(outcome.comparisons),
        "differ": outcome.differ,
        "switch": outcome.switch,
        "words": _fragile_words(outcome),
        "worst": worst_trials(outcome.trials),
        "calls": outcome.costs.total.calls,
        "remembered": outcome.costs.total.remembered,
        "tokens": outcome.costs.total.tokens,
        "usd": outcome.costs.usd,
    }
    return json_text(figures_json)


def _category_as_json(category: CategoryFigures) -> dict[str, Any]:
    return {
        **plain(category),
        "points_above_noise": category.points,
        "quality_delta": category.quality_delta,
        "robustness": category.robustness,
        "control_robustness": category.control_robustness,
        "not_applicable": category.not_applicable or None,
    }


def result_lines(outcome: CheckOutcome) -> list[ResultLine]:
    """Return a line for each category of each model."""
    failures = {"over": "over_limit", "unknown": "not_known"}
    lines = []
    for arm, name in outcome.request.names.items():
        for each in outcome.arms[arm]:
            said = standing_text(each)
            # A pipeline must not fail for what does not apply to its prompt.
            skipped = said if each.standing == "unmeasured" or each.not_applicable else ""
            said = f"{both(each.points, FigureForm.SIGNED_POINTS, 1)} points above noise: {said}"
            failure = failures.get(each.standing, "")
            lines.append(ResultLine(f"{name}: {_label(each.category)}", said, failure, said, skipped=skipped))
    return lines


def as_run(outcome: CheckOutcome) -> ReleaseRun:
    """Return the outcome as the console lists it."""
    request = outcome.request
    standing: Standing = "over" if outcome.is_over else "within" if outcome.settled else "unknown"
    return ReleaseRun(
        id=uuid4().hex,
        at=time.time(),
        kind="check",
        subject=request.source,
        beside=listing(tuple(request.names.values())),
        standing=standing,
        verdict=_WORDS_FOR[standing],
        headline=headline(outcome),
        details=(*map(str, result_lines(outcome)), *_sensitivity(outcome)),
        asked=count(outcome.rounds, "round"),
        calls=outcome.costs.total.calls,
        usd=outcome.costs.usd,
    )


def as_junit(outcome: CheckOutcome) -> str:
    """Return the outcome as JUnit XML: a test case for each category of each model."""
    return junit(
        "evenkeel check",
        result_lines(outcome),
        properties={"model": outcome.request.names[FIRST], "limit": f"{outcome.request.limit:g}"},
        output=headline(outcome),
        duration_s=outcome.duration_s,
    )
