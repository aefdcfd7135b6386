"""Words for the effects of a change, based on the figures that were measured.

*Worse*: the quality of answers fell, or more of them are invalid. *Better*: the opposite, or answers hold
better under rewordings. *More fragile*: rewordings move answers more than before, beyond chance. *Different*:
anything else that moved, such as the length of answers, what goldens say, or how much answers vary when the
same request is sent again.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core import rewordings
from evenkeel.core.figures import count, points
from evenkeel.core.labels import label
from evenkeel.monitor.changes import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.cells import ChangeMark
    from evenkeel.monitor.changes.comparison import CellSides, Comparison, Sides
    from evenkeel.monitor.detect.gate import GateReport
    from evenkeel.monitor.detect.references import ReferenceEvidence
    from evenkeel.stores.changes import AnswerScores

Found = Literal["worse", "fragile", "better", "different"]
Effect = Literal["worse", "fragile", "better", "different", "none_seen", "unknown"]

EFFECTS: Final[dict[Effect, str]] = {
    "worse": "answers got worse",
    "fragile": "answers are more fragile",
    "better": "answers got better",
    "different": "answers are different",
    "none_seen": "no difference was measured",
    "unknown": "too little was measured to tell",
}
"""Phrases for people."""

FOUND: Final[dict[Found, str]] = {
    "worse": "Worse",
    "fragile": "More fragile",
    "better": "Better",
    "different": "Different",
}
"""Labels for people, placed before a finding."""

_ORDER: Final[tuple[Found, ...]] = ("worse", "fragile", "better", "different")
_HALF: Final = 0.5


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding about one figure that moved."""

    effect: Found
    text: str
    """Sentence that describes the finding."""
    rated: bool = False
    """True if it rests on ratings, which depend on the judge and the settings."""


def effect_of(findings: Sequence[Finding], *, is_known: bool) -> Effect:
    """Return the gravest of several findings; `is_known` says whether enough was measured to find any."""
    effects = {finding.effect for finding in findings}
    for effect in _ORDER:
        if effect in effects:
            return effect
    return "none_seen" if is_known else "unknown"


def measured(comparison: Comparison) -> Iterator[Finding]:
    """Yield a finding for each figure whose intervals before and after the change do not overlap."""
    control = comparison.control
    shifts = control.content_delta if control else None
    over_all = "Over all rewordings answers shift in {after} of the trials, {before} before."
    yield from _moved(comparison.pooled, over_all, "fragile", "better", shifts)
    if shifts is not None:
        resent = "The same request sent again: the answer shifts in {after} of the trials, {before} before."
        yield from _moved(shifts, resent, "different", "different")
    for cell in comparison.rewordings:
        yield from _of_cell(cell, control, rewordings.label(cell.perturbation))


def _of_cell(cell: CellSides, control: CellSides | None, name: str) -> Iterator[Finding]:
    if cell.invalid.moved:
        text = f"{name}: {{after}} of the answers ignore the format or language asked for, {{before}} before."
        yield from _moved(cell.invalid, text, "worse", "better")
    elif control is None or _is_beyond(cell.worse, control.worse):
        text = f"{name}: answers are worse than the original's in {{after}} of the trials, {{before}} before."
        yield from _moved(cell.worse, text, "worse", "better")
    if cell.robustness.moved:
        text = f"{name}: robustness is {{after}}, {{before}} before."
        yield from _moved(cell.robustness, text, "better", "fragile", control.robustness if control else None)
    elif cell.content_delta.moved:
        text = f"{name}: answers shift in {{after}} of the trials, {{before}} before."
        shifts = control.content_delta if control else None
        yield from _moved(cell.content_delta, text, "fragile", "better", shifts)
    else:
        text = f"{name}: {{after_points}} points above noise, {{before_points}} before."
        yield from _moved(cell.excess, text, "fragile", "better")


def _moved(
    sides: Sides, text: str, rose: Found, fell: Found, control: Sides | None = None
) -> Iterator[Finding]:
    """Yield the finding of a figure that moved: "different" unless it moved twice as far as the control's."""
    if sides.before is None or sides.after is None or not sides.moved:
        return
    effect = rose if sides.rose else fell
    if control is not None and not _is_beyond(sides, control):
        effect = "different"
    said = text.format(
        before=f"{sides.before.value:.0%}",
        after=f"{sides.after.value:.0%}",
        before_points=points(sides.before, 0),
        after_points=points(sides.after, 0),
    )
    yield Finding(effect, said, rated=True)


def _is_beyond(sides: Sides, control: Sides) -> bool:
    """Return whether a figure moved more than twice as far as the control's. Both may move by chance."""
    own, other = sides.difference, control.difference
    if own is None or other is None:
        return True
    return other.value / own.value < _HALF if own.value else False


def noticed(marks: Sequence[ChangeMark]) -> Iterator[Finding]:
    """Yield a finding for each mark about the ratings of answers."""
    for mark in kinds.select(marks, {kinds.RATINGS}):
        name = kinds.NAMES[mark.kind]
        before, after = kinds.values_of(mark)
        text = f"{name[0].upper()}{name[1:]}: “{before}” → “{after}”."
        yield Finding("different", text, rated=True)


# Measures that any change of an answer to a golden breaches, also one for the better.
_OF_ANY_CHANGE: Final = frozenset(("content_shift", "differs"))


def of_goldens(gate: GateReport, *, judged: bool) -> Iterator[Finding]:
    """Yield a finding for each measure that the goldens breach more often; `judged` if a judge took part."""
    for finding in gate.findings:
        if finding.n and finding.measure.decides and finding.state == "regression":
            name, before = finding.measure.name, finding.reference
            was = "" if before is None else f", {before:.0%} before"
            effect: Found = "different" if name in _OF_ANY_CHANGE else "worse"
            yield Finding(
                effect, f"Goldens: {finding.candidate:.0%} breach {label(name)}{was}.", rated=judged
            )


def likeness(evidence: ReferenceEvidence) -> str:
    """Describe how alike new and earlier answers to reference prompts are."""
    return (
        f"new answers are {evidence.likeness:.0%} like the earlier ones, which are {evidence.own:.0%} like "
        f"each other ({count(evidence.calls, 'call')})"
    )


def of_references(evidence: ReferenceEvidence) -> Finding:
    """Return the finding of the reference prompts. They show that answers differ, not which are better."""
    return Finding("different", f"Reference prompts: {likeness(evidence)}.")


# Significance level of the sign test, divided by the number of qualities that moved (Bonferroni).
_CHANCE: Final = 0.05


def of_scores(scores: AnswerScores) -> Iterator[Finding]:
    """Yield a finding for each quality that moved between earlier and new answers to reference prompts.

    A quality is worse or better only where a judge said so, and beyond chance: by a sign test over the
    answers that differ in it, at 5 % over all qualities together. Whatever else moved is a difference.
    """
    by = "the judge" if scores.judged else "the heuristics"
    moved = []
    for tally in scores.tallies:
        if tally.worse + tally.better + tally.changed:
            moved.append(tally)
    for tally in moved:
        effect: Found = "different"
        if scores.judged and _sign_test(tally.worse, tally.better) * len(moved) <= _CHANCE:
            effect = "worse" if tally.worse > tally.better else "better"
        otherwise = f" and otherwise in {tally.changed}" if tally.changed else ""
        counted = f"worse in {tally.worse} and better in {tally.better}{otherwise}"
        text = f"{label(tally.metric)}, by {by}: {counted} of {tally.n} reference prompts."
        yield Finding(effect, text, rated=True)


def _sign_test(some: int, others: int) -> float:
    """Return the two-sided probability of a split at least as uneven if both sides are equally likely."""
    n, few = some + others, min(some, others)
    tail = sum(comb(n, k) for k in range(few + 1))
    return float(min(1.0, 2 * tail / 2**n))
