"""The likely cause of a change, by rules that are written down (`docs/changes.md` has them as a table).

Each thing that was noticed speaks for one cause, unless something else that was noticed explains it. One
cause left: that is it. Two left: "unclear", and both are named. None left: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.changes import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkeel.core.cells import ChangeMark


class Cause(StrEnum):
    """What is behind a change."""

    PROMPT = "prompt_edited"
    MODEL = "model_swapped"
    PROVIDER = "provider_changed_silently"
    """Same names, other answers."""
    TRAFFIC = "traffic_moved"
    JUDGE = "judge_drifted"
    SETTINGS = "settings_changed"
    """evenkeel's own."""
    NOTHING = "nothing"
    """What was noticed has no effect that can be told."""
    UNCLEAR = "unclear"
    """Two causes or more speak for themselves."""


SAID: Final = {
    Cause.PROMPT: "the prompt was edited",
    Cause.MODEL: "the model was swapped",
    Cause.PROVIDER: "the provider changed something silently",
    Cause.TRAFFIC: "the traffic moved",
    Cause.JUDGE: "the judge drifted",
    Cause.SETTINGS: "the settings of evenkeel were changed",
    Cause.NOTHING: "nothing that matters",
    Cause.UNCLEAR: "unclear",
}
"""For people."""

_SPEAKS_FOR: Final = {
    kinds.PROMPT: Cause.PROMPT,
    kinds.MODEL: Cause.MODEL,
    kinds.REQUESTED_MODEL: Cause.MODEL,
    kinds.TRAFFIC: Cause.TRAFFIC,
    kinds.JUDGE: Cause.JUDGE,
    kinds.JUDGE_DRIFT: Cause.JUDGE,
    kinds.SETTINGS: Cause.SETTINGS,
    kinds.ANSWERS: Cause.PROVIDER,
    kinds.RATINGS: Cause.PROVIDER,
    kinds.GOLDENS: Cause.PROVIDER,
}
"""A fingerprint speaks for nobody: providers change theirs daily. It only names what moved answers anyway."""

_OURS: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL, kinds.PROMPT))
_EXPLAINED_BY: Final = {
    # By rule: another judge does not move them. Other perturbations or rewriters may.
    kinds.ANSWERS: _OURS | {kinds.TRAFFIC, kinds.SETTINGS},
    kinds.RATINGS: _OURS | {kinds.TRAFFIC, kinds.SETTINGS, kinds.JUDGE, kinds.JUDGE_DRIFT},
    # The same questions, compared by rule: neither other traffic nor another judge moves them.
    kinds.GOLDENS: _OURS,
    kinds.JUDGE: frozenset((kinds.SETTINGS,)),
    # Where answers are others by rule, a judge that rates them otherwise does what it should.
    kinds.JUDGE_DRIFT: _OURS | {kinds.SETTINGS, kinds.JUDGE, kinds.ANSWERS},
}
_EDITS: Final = ("length", "template")
"""Traits that an edit of the prompt moves by itself."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The cause and why."""

    cause: Cause
    among: tuple[Cause, ...]
    """The causes that are left; one for a clear one, several for an unclear one."""
    evidence: tuple[str, ...]
    """What was noticed, one sentence each."""


def likely_cause(
    marks: Sequence[ChangeMark], *, goldens_moved: bool | None, goldens_judged: bool = False
) -> Verdict:
    """The cause that the marks of a change point at.

    Args:
        marks: What was noticed.
        goldens_moved: Whether the goldens of the route are answered otherwise than before; None if that was
            not measured.
        goldens_judged: Whether a judge said so, which a judge that drifts would say as well.
    """
    noticed = [mark.kind for mark in marks]
    present = set(noticed)
    if goldens_moved:
        present.add(kinds.GOLDENS)
    left: dict[Cause, None] = {}
    evidence = []
    for kind in dict.fromkeys([*noticed, *sorted(present)]):
        why = _explained(kind, present, marks, goldens_judged=goldens_judged)
        cause = _SPEAKS_FOR.get(kind)
        # A shift of answers is no news where the goldens, asked since, are answered as before.
        denied = kind in {kinds.ANSWERS, kinds.RATINGS} and goldens_moved is False
        if cause is not None and not why and not denied:
            left[cause] = None
        evidence.append(_sentence(kind, marks, why, denied=denied))
    if goldens_moved is False:
        evidence.append("The goldens are answered as before.")
    elif goldens_moved is None:
        evidence.append("No goldens were replayed, so whether answers changed rests on the traffic alone.")
    among = tuple(left)
    cause = among[0] if len(among) == 1 else Cause.UNCLEAR if among else Cause.NOTHING
    return Verdict(cause, among, tuple(evidence))


def _explained(
    kind: str, present: Iterable[str], marks: Sequence[ChangeMark], *, goldens_judged: bool
) -> str:
    """What else that was noticed explains a kind; "" if nothing does."""
    by = set(_EXPLAINED_BY.get(kind, ()))
    if kind == kinds.GOLDENS and goldens_judged:
        by |= {kinds.JUDGE, kinds.JUDGE_DRIFT, kinds.SETTINGS}
    if kind == kinds.TRAFFIC:
        moved = {mark.before.partition(":")[0] for mark in marks if mark.kind == kinds.TRAFFIC}
        if moved <= set(_EDITS):
            by.add(kinds.PROMPT)
    found = [one for one in kinds.KINDS if one in by and one in present]
    return kinds.NAMES[found[0]] if found else ""


def _sentence(kind: str, marks: Sequence[ChangeMark], explained: str, *, denied: bool) -> str:
    name = kinds.NAMES[kind]
    own = [mark for mark in marks if mark.kind == kind]
    if own:
        said = "; ".join(f"“{mark.before}” → “{mark.after}”" for mark in own)
        text = f"{name[0].upper()}{name[1:]}: {said}"
    else:
        text = "Goldens: answered otherwise than before"
    if explained:
        return f"{text} (explained by: {explained})."
    if denied:
        return f"{text} (the goldens do not show it)."
    return f"{text}."
