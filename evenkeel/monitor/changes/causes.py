"""Candidates for the cause of a change, ranked, with the causes that were ruled out.

Each thing that was noticed speaks for one cause, unless something else that was noticed at the same time
explains it (`docs/changes.md` has the rules as a table). Answers that moved clearly earlier or later than a
change are explained by nothing that changed then: the provider may have changed the model silently. A judge
that rates differently without reaching the tolerance is a weaker candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.figures import listing
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.record import TOGETHER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.cells import ChangeMark
    from evenkeel.monitor.changes.comparison import Comparison


class Cause(StrEnum):
    """Likely cause of a change: something that changed at the same time."""

    PROMPT = "prompt"
    MODEL = "model"
    PARAMETERS = "parameters"
    PROVIDER = "provider"
    """Same names, but different answers."""
    TRAFFIC = "traffic"
    JUDGE = "judge"
    SETTINGS = "settings"
    """Settings of evenkeel itself."""
    NOTHING = "nothing"
    """The change that was noticed has no measurable effect."""
    UNCLEAR = "unclear"
    """Several causes fit."""


SAID: Final = {
    Cause.PROMPT: "another prompt version",
    Cause.MODEL: "another model",
    Cause.PARAMETERS: "other request parameters",
    Cause.PROVIDER: "possibly a silent change by the provider",
    Cause.TRAFFIC: "other traffic",
    Cause.JUDGE: "a judge that rates differently",
    Cause.SETTINGS: "other settings of evenkeel",
    Cause.NOTHING: "nothing with a measured effect",
    Cause.UNCLEAR: "several changes",
}
"""Phrases for people, placed after "coincided with"."""

_SPEAKS_FOR: Final = {
    kinds.PROMPT: Cause.PROMPT,
    kinds.MODEL: Cause.MODEL,
    kinds.REQUESTED_MODEL: Cause.MODEL,
    kinds.PARAMETERS: Cause.PARAMETERS,
    kinds.TRAFFIC: Cause.TRAFFIC,
    kinds.JUDGE: Cause.JUDGE,
    kinds.JUDGE_DRIFT: Cause.JUDGE,
    kinds.SETTINGS: Cause.SETTINGS,
    kinds.ANSWERS: Cause.PROVIDER,
    kinds.RATINGS: Cause.PROVIDER,
    kinds.REFERENCES: Cause.PROVIDER,
    kinds.GOLDENS: Cause.PROVIDER,
}
"""Causes that each kind points to. A fingerprint alone proves nothing, as providers change theirs daily;
it may explain changed answers."""

_OURS: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL, kinds.PROMPT, kinds.PARAMETERS))
_EXPLAINED_BY: Final = {
    # By rule: another judge does not move them. Other perturbations or rewriters may.
    kinds.ANSWERS: _OURS | {kinds.TRAFFIC, kinds.SETTINGS},
    kinds.RATINGS: _OURS | {kinds.TRAFFIC, kinds.SETTINGS, kinds.JUDGE, kinds.JUDGE_DRIFT},
    # The very same requests, compared by rule: nothing of ours moves them but another model.
    kinds.REFERENCES: frozenset((kinds.MODEL, kinds.REQUESTED_MODEL)),
    # The same questions, compared by rule: neither other traffic nor another judge moves them.
    kinds.GOLDENS: _OURS - {kinds.PARAMETERS},
    kinds.JUDGE: frozenset((kinds.SETTINGS,)),
    # Where answers are others by rule, a judge that rates them otherwise does what it should.
    kinds.JUDGE_DRIFT: _OURS | {kinds.SETTINGS, kinds.JUDGE, kinds.ANSWERS},
}
_MOVED: Final = frozenset((kinds.ANSWERS, kinds.RATINGS, kinds.REFERENCES))
"""Kinds of marks that tell when answers moved."""
_TIMED: Final = _MOVED | {kinds.JUDGE_DRIFT}
"""Kinds that are explained only by a change at about the same time."""
_OF_ANSWERS: Final = frozenset((*_TIMED, kinds.GOLDENS, kinds.FINGERPRINT))
"""Kinds of marks in which a silent change by the provider shows."""
_EDITS: Final = ("length", "template")
"""Traits that move whenever the prompt is edited."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Candidate for the cause: a change that happened at the same time and fits."""

    cause: Cause
    weaker: bool
    """True if it fits only in part."""
    why: str
    """Sentence that says what changed, when, and by how much."""


class Causes(NamedTuple):
    """Cause of a change, with its candidates and evidence."""

    cause: Cause
    """The only strong candidate, or the first weaker one of a difference that was measured."""
    candidates: tuple[Candidate, ...]
    """Candidates for the cause, the best first."""
    evidence: tuple[str, ...]
    """Sentences about the marks, one for each."""
    ruled_out: tuple[str, ...]
    """Sentences about the causes that were ruled out, one for each."""


def likely_cause(
    marks: Sequence[ChangeMark],
    *,
    goldens_moved: bool | None,
    goldens_judged: bool = False,
    comparison: Comparison | None = None,
    differs: bool = False,
) -> Causes:
    """Return the candidates for the cause of a change.

    Args:
        marks: Marks of the change.
        goldens_moved: Whether the goldens of the route are answered differently than before; None if that was
            not measured.
        goldens_judged: Whether a judge said so, which a judge that drifts would say as well.
        comparison: The traffic before and after; None where there is none.
        differs: Whether any difference of the answers was measured.
    """
    case = _Case(marks, goldens_moved, goldens_judged, comparison)
    return case.causes(differs=differs)


class _Case:
    """Evaluation of one change while its cause is determined."""

    def __init__(
        self,
        marks: Sequence[ChangeMark],
        goldens_moved: bool | None,  # noqa: FBT001 - handed on as it came
        goldens_judged: bool,  # noqa: FBT001
        comparison: Comparison | None,
    ) -> None:
        self._marks = marks
        self._goldens_moved = goldens_moved
        self._goldens_judged = goldens_judged
        self._comparison = comparison
        noticed = dict.fromkeys(mark.kind for mark in marks)
        self._kinds = tuple({**noticed, **({kinds.GOLDENS: None} if goldens_moved else {})})
        moved = [_onset(mark) for mark in marks if mark.kind in _MOVED]
        self._answers_at = min(moved, default=None)
        self._began = min((_onset(mark) for mark in marks), default=0)

    def causes(self, *, differs: bool) -> Causes:
        """Weigh all marks and return the cause with its candidates and evidence."""
        found: dict[Cause, list[ChangeMark]] = {}
        evidence = []
        for kind in self._kinds:
            own = [mark for mark in self._marks if mark.kind == kind]
            open_ = [mark for mark in own if not self._explained(kind, mark)]
            # A shift of answers is no news where the goldens, asked since, are answered as before.
            by_goldens = kind in {kinds.ANSWERS, kinds.RATINGS} and self._goldens_moved is False
            denied_by = "goldens" if by_goldens else ""
            cause = _SPEAKS_FOR.get(kind)
            explained = (
                "" if open_ or (not own and not self._explained(kind, None)) else self._explainer(kind)
            )
            if cause is not None and not explained and not denied_by:
                found.setdefault(cause, []).extend(open_)
            evidence.append(_sentence(kind, own, explained, denied_by))
        if self._goldens_moved is None and kinds.REFERENCES not in self._kinds:
            evidence.append(
                "No goldens were replayed, so whether answers changed rests on the traffic alone."
            )
        ruled_out = list(self._ruled_out())
        if self._by_judge_alone(found):
            found.setdefault(Cause.JUDGE, []).extend(found.pop(Cause.PROVIDER))
            ruled_out.append(
                "A silent change by the provider: to the heuristics, which ask no judge, the answers are as "
                "long and as alike as before."
            )
        candidates = self._ranked(found, differs=differs)
        strong = [one for one in candidates if not one.weaker]
        if strong:
            cause = strong[0].cause if len(strong) == 1 else Cause.UNCLEAR
        else:
            cause = candidates[0].cause if candidates and differs else Cause.NOTHING
        return Causes(cause, tuple(candidates), tuple(evidence), tuple(ruled_out))

    def _explained(self, kind: str, mark: ChangeMark | None) -> bool:
        return next(self._explainers(kind, mark), None) is not None

    def _explainer(self, kind: str) -> str:
        """Return the name of the first kind that explains the marks of `kind`."""
        own = next((mark for mark in self._marks if mark.kind == kind), None)
        return kinds.NAMES[next(self._explainers(kind, own))]

    def _explainers(self, kind: str, mark: ChangeMark | None) -> Iterator[str]:
        """Yield the kinds that explain a mark; None stands for goldens that moved in a replay."""
        by = set(_EXPLAINED_BY.get(kind, ()))
        if kind == kinds.GOLDENS and self._goldens_judged:
            by |= {kinds.JUDGE, kinds.JUDGE_DRIFT, kinds.SETTINGS}
        if kind == kinds.TRAFFIC:
            moved = {one.before.partition(":")[0] for one in self._marks if one.kind == kinds.TRAFFIC}
            if moved <= set(_EDITS):
                by.add(kinds.PROMPT)
        for other in kinds.KINDS:
            if other in by and any(
                one.kind == other and (mark is None or kind not in _TIMED or _together(one, mark))
                for one in self._marks
            ):
                yield other

    def _by_judge_alone(self, found: dict[Cause, list[ChangeMark]]) -> bool:
        """Return whether only ratings moved and the judge moved too."""
        moved = found.get(Cause.PROVIDER)
        if not moved or self._goldens_moved or self._comparison is None:
            return False
        by_rule = any(one.share.moved for one in self._comparison.answers)
        ratings = all(mark.kind == kinds.RATINGS for mark in moved)
        return ratings and not by_rule and self._comparison.judge.moved

    def _ranked(self, found: dict[Cause, list[ChangeMark]], *, differs: bool) -> list[Candidate]:
        def place(cause: Cause) -> tuple[int, int]:
            nearest = min((self._gap(mark) for mark in found[cause]), key=abs, default=0)
            return abs(nearest), list(Cause).index(cause)

        candidates = [
            Candidate(cause, False, self._why(cause, marks))
            for cause, marks in sorted(found.items(), key=lambda one: place(one[0]))
        ]
        candidates.sort(key=lambda one: one.weaker)
        if not found and differs:
            candidates.append(Candidate(Cause.PROVIDER, True, self._why(Cause.PROVIDER, [])))
        return candidates

    def _gap(self, mark: ChangeMark) -> int:
        """Return the exchanges from a mark to the move of the answers, or from the change's first sign."""
        return _onset(mark) - self._began if self._answers_at is None else self._answers_at - _onset(mark)

    def _why(self, cause: Cause, marks: Sequence[ChangeMark]) -> str:
        said = [f"{_named(mark.kind)}: “{mark.before}” → “{mark.after}”" for mark in marks]
        if cause is Cause.PROVIDER:
            return self._silent(marks, said)
        if cause is Cause.JUDGE and self._comparison is not None and self._comparison.judge.moved:
            judge = self._judge_said()
            said.append(f"{judge[0].lower()}{judge[1:]}" if said else judge)
        gap = min((self._gap(mark) for mark in marks), key=abs, default=0)
        when = ""
        # Where the judge changed, shifts do not say when answers moved.
        if self._answers_at is not None and cause is not Cause.JUDGE:
            when = f", {_distance(gap)} the answers moved"
        elif gap and cause is not Cause.JUDGE:
            when = f", {gap} exchanges after the first sign of the change"
        return f"{'; '.join(said)}{when}."

    def _silent(self, marks: Sequence[ChangeMark], said: list[str]) -> str:
        """Explain why the provider may have caused the change."""
        prints = [mark for mark in self._marks if mark.kind == kinds.FINGERPRINT]
        said += [f"{_named(mark.kind)}: “{mark.before}” → “{mark.after}”" for mark in prints]
        if self._goldens_moved and all(mark.kind != kinds.GOLDENS for mark in marks):
            said.append("the goldens are answered differently")
        others = any(mark.kind not in _OF_ANSWERS for mark in self._marks)
        text = "nothing else that changed explains it" if others else "nothing else changed then"
        if any(mark.kind == kinds.REFERENCES for mark in marks):
            text += ", and the same requests get different answers"
        else:
            text += ", so the provider may have changed the model silently"
        return f"{text}{': ' if said else ''}{'; '.join(said)}."

    def _judge_said(self) -> str:
        assert self._comparison is not None
        judge = self._comparison.judge
        if judge.strictness is not None and judge.strictness.moved:
            more = "more" if judge.strictness.value > 0 else "less"
            points = round(100 * abs(judge.strictness.value))
            about = "pairs that look alike to the heuristics"
            return f"The judge rates {about} as shifted {points} points {more} often"
        return "The judge agrees with itself or with the heuristics differently than before"

    def _ruled_out(self) -> Iterator[str]:
        names = {**kinds.NAMES, kinds.JUDGE: "the judge's name or wording"}
        missing = [names[kind] for kind in kinds.STATED if kind not in self._kinds]
        if missing:
            yield f"No change was noticed of {listing(missing)}."
        if self._goldens_moved is False:
            yield "The goldens are answered as before."
        found = self._comparison
        if found is None:
            return
        if kinds.TRAFFIC not in self._kinds and found.traits:
            most = max(found.traits, key=lambda one: one.distance)
            yield f"The traffic is much the same: {most.trait} differs most, by {most.distance:.0%}."


def _onset(mark: ChangeMark) -> int:
    """Return the number of exchanges from the first mark to where this mark's change seems to have begun."""
    return mark.since - mark.run


def _together(one: ChangeMark, other: ChangeMark) -> bool:
    """Return whether two marks began at about the same time. The onset of a tested share is an estimate."""
    tested = one.kind in kinds.TESTED
    return abs(_onset(one) - _onset(other)) <= (2 * TOGETHER if tested else TOGETHER) + other.run // 2


def _distance(gap: int) -> str:
    """Describe the gap between two marks in words."""
    if abs(gap) <= TOGETHER // 4:
        return "when"
    return f"{abs(gap)} exchanges {'before' if gap > 0 else 'after'}"


def _named(kind: str) -> str:
    name = kinds.NAMES[kind]
    return f"{name[0].upper()}{name[1:]}"


def _sentence(kind: str, own: Sequence[ChangeMark], explained: str, denied_by: str) -> str:
    if own:
        text = f"{_named(kind)}: {'; '.join(f'“{mark.before}” → “{mark.after}”' for mark in own)}"
    else:
        text = "Goldens: answered differently than before"
    if explained:
        return f"{text} (explained by: {explained})."
    if denied_by:
        return f"{text} (the {denied_by} do not show it)."
    return f"{text}."
