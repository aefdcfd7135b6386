"""Words for the effects of a change, based on the figures that were measured.

*Worse*: the quality of answers fell, or more of them are invalid. *Better*: the opposite, or answers hold
better under rewordings. *More fragile*: rewordings move answers more than before, beyond chance. *Different*:
anything else that moved, such as the length of answers, what goldens say, or how much answers vary when the
same request is sent again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core import rewordings
from evenkeel.core.figures import count, listing, points
from evenkeel.core.labels import label
from evenkeel.monitor.changes import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.cells import ChangeMark
    from evenkeel.monitor.changes.comparison import CellSides, Comparison, Sides
    from evenkeel.monitor.detect.gate import GateReport
    from evenkeel.monitor.detect.references import ReferenceEvidence
    from evenkeel.stores.changes import AnswerScores, QualityTally

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

UNTIL: Final[dict[Effect, str]] = {
    "fragile": "answers were more fragile",
    "different": "answers were different",
}
"""Phrases for a change that is over, where they differ from `EFFECTS`."""

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


def as_different(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Turn findings that rest on ratings into "different": ratings of the two sides are not comparable."""
    return tuple(replace(finding, effect="different") if finding.rated else finding for finding in findings)


def measured(comparison: Comparison) -> Iterator[Finding]:
    """Yield a finding for each figure whose intervals before and after the change do not overlap."""
    control = comparison.control
    if comparison.pooled.moved:
        yield _moved(
            comparison.pooled,
            control.content_delta if control else None,
            "Over all rewordings answers shift in {after} of the trials, {before} before.",
        )
    if control is not None and control.content_delta.moved:
        yield Finding(
            "different",
            _said(
                control.content_delta,
                "The same request sent again: the answer shifts in {after} of the trials, {before} before.",
            ),
            rated=True,
        )
    for cell in comparison.rewordings:
        yield from _of_cell(cell, control)


_SHIFTED: Final = "answers shift in {after} of the trials, {before} before."
_POINTS: Final = "{after_points} points above noise, {before_points} before."


def _of_cell(cell: CellSides, control: CellSides | None) -> Iterator[Finding]:
    name = rewordings.label(cell.perturbation)
    if cell.invalid.moved:
        yield _quality(
            cell.invalid,
            f"{name}: {{after}} of the answers ignore the format or language asked for, {{before}} before.",
        )
    elif cell.worse.moved and _beyond(cell.worse, control.worse if control else None):
        yield _quality(
            cell.worse,
            f"{name}: answers are worse than the original's in {{after}} of the trials, {{before}} before.",
        )
    if cell.robustness.moved:
        text = f"{name}: robustness is {{after}}, {{before}} before."
        finding = _moved(cell.robustness, control.robustness if control else None, text, up_is="better")
        yield finding
    elif cell.content_delta.moved or cell.excess.moved:
        sides = cell.content_delta if cell.content_delta.moved else cell.excess
        against = control.content_delta if control and sides is cell.content_delta else None
        yield _moved(sides, against, f"{name}: {_SHIFTED if sides is cell.content_delta else _POINTS}")


def _quality(sides: Sides, text: str) -> Finding:
    return Finding("worse" if sides.rose else "better", _said(sides, text), rated=True)


def _moved(
    sides: Sides, control: Sides | None, text: str, *, up_is: Literal["fragile", "better"] = "fragile"
) -> Finding:
    """Return a finding on rewordings: "different" unless the figure moved twice as far as the control's."""
    down_is: Found = "better" if up_is == "fragile" else "fragile"
    effect: Found = up_is if sides.rose else down_is
    return Finding(effect if _beyond(sides, control) else "different", _said(sides, text), rated=True)


def _beyond(sides: Sides, control: Sides | None) -> bool:
    """Return whether a figure moved more than twice as far as the control's. Both may move by chance."""
    own, other = sides.difference, control.difference if control is not None else None
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


def likeness(evidence: ReferenceEvidence, what: str = "new answers to reference prompts") -> str:
    """Describe how alike new and earlier answers to reference prompts are."""
    return (
        f"{what} are {evidence.likeness:.0%} like the earlier ones, which are {evidence.own:.0%} like "
        f"each other ({count(evidence.calls, 'call')})"
    )


def of_references(evidence: ReferenceEvidence) -> Finding:
    """Return the finding of the reference prompts. They show that answers differ, not which are better."""
    return Finding("different", f"Reference prompts: {likeness(evidence, 'new answers')}.")


# Significance level of the sign test, divided by the number of qualities that moved (Bonferroni).
_CHANCE: Final = 0.05


class Leaning(NamedTuple):
    """Direction in which the new answers to reference prompts moved in one quality."""

    tally: QualityTally
    effect: Found


def leanings(scores: AnswerScores) -> list[Leaning]:
    """Return the qualities that moved between earlier and new answers to reference prompts, with direction.

    A quality is worse or better only where a judge said so, and beyond chance: by a sign test over the
    answers that differ in it, at 5 % over all qualities together. Whatever else moved is a difference.
    """
    moved = []
    for tally in scores.tallies:
        if tally.worse + tally.better + tally.changed:
            moved.append(tally)
    leaning = []
    for tally in moved:
        effect: Found = "different"
        if scores.judged and _sign_test(tally.worse, tally.better) * len(moved) <= _CHANCE:
            effect = "worse" if tally.worse > tally.better else "better"
        leaning.append(Leaning(tally, effect))
    return leaning


def of_scores(scores: AnswerScores) -> Iterator[Finding]:
    """Yield the leanings of the scores as findings."""
    by = "the judge" if scores.judged else "the heuristics"
    for leaning, effect in leanings(scores):
        otherwise = f" and otherwise in {leaning.changed}" if leaning.changed else ""
        counted = f"worse in {leaning.worse} and better in {leaning.better}{otherwise}"
        text = f"{label(leaning.metric)}, by {by}: {counted} of {leaning.n} reference prompts."
        yield Finding(effect, text, rated=True)


def judged_words(scores: AnswerScores) -> str:
    """Summarize how a judge rates the new answers; "" if no quality leans one way beyond chance."""
    names: dict[Found, list[str]] = {"worse": [], "better": []}
    for leaning in leanings(scores):
        if leaning.effect in names:
            names[leaning.effect].append(label(leaning.tally.metric))
    ways = []
    for effect, metrics in names.items():
        if metrics:
            ways.append(f"{effect} in {listing(metrics)}")
    return f"The judge calls the new answers {listing(ways)}." if ways else ""


def _sign_test(some: int, others: int) -> float:
    """Return the two-sided probability of a split at least as uneven if both sides are equally likely."""
    n, few = some + others, min(some, others)
    tail = sum(comb(n, k) for k in range(few + 1))
    return float(min(1.0, 2 * tail / 2**n))


def _said(sides: Sides, text: str) -> str:
    assert sides.before is not None
    assert sides.after is not None
    return text.format(
        before=f"{sides.before.value:.0%}",
        after=f"{sides.after.value:.0%}",
        before_points=points(sides.before, 0),
        after_points=points(sides.after, 0),
    )
