"""Possible causes of a change: by experiment first, then by time.

An experiment changes one thing and holds the rest: reference prompts and goldens ask the same requests again,
and a judge's panel rates the same pairs again. Changes in the interval in which answers moved come second. A
cause that nothing rules out stays possible; several that are left cannot be told apart. How often answers
move says nothing about the cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core.figures import date_and_time, listing
from evenkeel.monitor.changes import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from evenkeel.core.cells import ChangeMark
    from evenkeel.monitor.changes.kinds import AskedAgain
    from evenkeel.monitor.changes.onset import Onset


class Cause(StrEnum):
    """Possible cause of a change."""

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
    """Several causes are possible and cannot be told apart."""


Strength = Literal["shown", "changed", "possible"]
"""Strength of a candidate's evidence: an experiment shows it; it changed in the interval; or nothing rules it
out."""

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

# Causes by the kind of change that states them.
_CHANGED: Final = {
    kinds.MODEL: Cause.MODEL,
    kinds.REQUESTED_MODEL: Cause.MODEL,
    kinds.PROMPT: Cause.PROMPT,
    kinds.PARAMETERS: Cause.PARAMETERS,
    kinds.JUDGE: Cause.JUDGE,
    kinds.SETTINGS: Cause.SETTINGS,
}
# Kinds by which another model answers, as everybody can see.
_RENAMED: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL))
# Causes on the team's own side: while one of them explains a change, the provider is not accused by
# exclusion.
_OURS: Final = frozenset((Cause.MODEL, Cause.PROMPT, Cause.PARAMETERS))
# Traits of the traffic that move whenever the prompt is edited.
_EDITS: Final = frozenset(("length", "template"))


# Reasons why a silent change of the provider stays possible.
_EITHER: Final = "Reference prompts are answered differently: by the swapped model, or since a silent change."
_ASKED_TOO_SELDOM: Final = (
    "Reference prompts, which would show a silent change, have not been asked often enough since."
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Candidate for the cause of a change."""

    cause: Cause
    strength: Strength
    why: str
    """Sentence that says what changed and when, or what would rule it out."""


@dataclass(frozen=True, slots=True)
class Experiments:
    """Outcomes of what was asked or rated again since answers moved."""

    references: AskedAgain = ""
    goldens: AskedAgain = ""
    goldens_judged: bool = False
    """True if a judge scored the goldens, so that another judge moves them, too."""
    panel: AskedAgain = ""
    """Outcome of the judge's panel."""
    judged: bool = False
    """True if a judge takes part at all."""


class Causes(NamedTuple):
    """Cause of a change, with its candidates and evidence."""

    cause: Cause
    """The only candidate that is left, or unclear."""
    candidates: tuple[Candidate, ...]
    """Candidates for the cause in the order of their evidence."""
    evidence: tuple[str, ...]
    """Sentences about the marks, one for each kind."""
    ruled_out: tuple[str, ...]
    """Sentences about the causes that were ruled out, one for each."""


def likely_cause(
    marks: Sequence[ChangeMark],
    experiments: Experiments,
    *,
    beside: Sequence[ChangeMark] = (),
    traffic: Mapping[str, str] = MappingProxyType({}),
    differs: bool = False,
    onset: Onset | None = None,
) -> Causes:
    """Return the candidates for the cause of a change.

    Args:
        marks: Marks of the change.
        experiments: What was asked or rated again.
        beside: Marks of the route's other changes; those whose interval overlaps the fall are candidates.
        traffic: Traits of the traffic that differ between the two sides, each in a few words.
        differs: Whether any figure of the traffic differs.
        onset: When answers began to move; None if that is not known.
    """
    falls = kinds.select(marks, {kinds.RATINGS})
    around = _overlapping(beside, falls)
    # Without a fall there is no interval, so every mark of the change may be why.
    noticed = (_overlapping(marks, falls) if falls else list(marks)) + around
    if any(mark.kind == kinds.PROMPT for mark in noticed):
        # An edit makes every prompt longer or shorter: that is no other traffic.
        traffic = {trait: traffic[trait] for trait in traffic.keys() - _EDITS}
    candidates = list(_shown(noticed, experiments))
    shown = {candidate.cause for candidate in candidates}
    candidates += _changed(noticed, falls, traffic, shown)
    if not shown:
        is_explained = onset is not None and any(_explains(mark, onset) for mark in noticed)
        named = {candidate.cause for candidate in candidates}
        has_moved = bool(falls) or differs
        candidates += _possible(experiments, named, has_moved=has_moved, is_explained=is_explained)
    cause = Cause.UNCLEAR
    if len(candidates) < 2:  # noqa: PLR2004 - nothing to tell apart
        cause = candidates[0].cause if candidates else Cause.NOTHING
    evidence = _evidence([*marks, *around], experiments)
    return Causes(cause, tuple(candidates), tuple(evidence), tuple(_ruled_out(marks, experiments, traffic)))


def _shown(marks: Sequence[ChangeMark], experiments: Experiments) -> Iterator[Candidate]:
    """Yield the causes that an experiment shows, unless what the team changed explains its outcome."""
    noticed = {mark.kind for mark in marks}
    # A model that was swapped by name answers otherwise without any silent change.
    renamed = noticed & _RENAMED
    rated_otherwise = noticed & {kinds.JUDGE, kinds.JUDGE_PANEL, kinds.SETTINGS}
    # Goldens are sent with today's template and rated by today's judge: either may be why they differ.
    explained = renamed or kinds.PROMPT in noticed or (experiments.goldens_judged and rated_otherwise)
    if experiments.references == "moved" and not renamed:
        why = "The same requests get different answers, whatever else changed."
        yield Candidate(Cause.PROVIDER, "shown", why)
    elif experiments.goldens == "moved" and not explained:
        why = "The goldens, which are the same questions, are answered differently."
        yield Candidate(Cause.PROVIDER, "shown", why)
    panel = kinds.select(marks, {kinds.JUDGE_PANEL})
    if panel:
        why = f"The judge rates its panel differently: {panel[-1].after}, {_when(panel[-1])}."
        yield Candidate(Cause.JUDGE, "shown", why)


def _changed(
    marks: Sequence[ChangeMark],
    falls: Sequence[ChangeMark],
    traffic: Mapping[str, str],
    shown: AbstractSet[Cause],
) -> Iterator[Candidate]:
    """Yield the causes that changed, what is nearest to when answers began to move first."""
    began = min((fall.begun_at for fall in falls), default=0.0)
    reasons: dict[Cause, list[ChangeMark]] = {}
    for mark in sorted(marks, key=lambda mark: abs(mark.at - began)):
        cause = _CHANGED.get(mark.kind)
        if cause is not None and cause not in shown:
            reasons.setdefault(cause, []).append(mark)
    signs = kinds.select(marks, {kinds.FINGERPRINT})
    if signs and falls and not traffic and not reasons.keys() & _OURS and Cause.PROVIDER not in shown:
        # A sign of another model behind the same name, if the team changed nothing itself.
        reasons[Cause.PROVIDER] = signs
    for cause, own in reasons.items():
        yield Candidate(cause, "changed", f"{_named(own)}, {_when(own[0])}.")
    if traffic:
        yield Candidate(Cause.TRAFFIC, "changed", f"Traffic since: {'; '.join(traffic.values())}.")


def _explains(mark: ChangeMark, onset: Onset) -> bool:
    """Return whether answers began to move with what a mark says that somebody changed."""
    # A mark comes a dozen exchanges after its first new value, so its interval allows for later moments.
    return mark.kind in _CHANGED and mark.begun_at <= onset.latest and mark.at >= onset.likeliest


def _possible(
    experiments: Experiments,
    named: AbstractSet[Cause],
    *,
    has_moved: bool,
    is_explained: bool,
) -> Iterator[Candidate]:
    """Yield the causes that leave no trace in the traffic and that nothing rules out.

    What the team changed, the causes that are named, is explanation enough only if answers began to move with
    it.
    """
    asked = {experiments.references, experiments.goldens}
    is_open = has_moved or experiments.references == "moved"
    if Cause.MODEL in named:
        # Goldens that are answered differently since a swap by name say no more than that.
        is_open = is_open and not is_explained
    else:
        is_open = is_open or experiments.goldens == "moved"
    if is_open and "same" not in asked and Cause.PROVIDER not in named:
        why = _EITHER if experiments.references == "moved" else _ASKED_TOO_SELDOM
        yield Candidate(Cause.PROVIDER, "possible", why)
    if not has_moved:
        return
    # Without a panel there is no end to the doubt.
    is_due = experiments.panel == "due" or (experiments.panel == "" and not is_explained)
    if experiments.judged and is_due and Cause.JUDGE not in named:
        why = "The judge's panel has not been rated as before since."
        yield Candidate(Cause.JUDGE, "possible", why)
    if not is_explained and Cause.TRAFFIC not in named:
        why = "Users may ask harder questions of the same length, language and task."
        yield Candidate(Cause.TRAFFIC, "possible", why)


def _evidence(marks: Sequence[ChangeMark], experiments: Experiments) -> Iterator[str]:
    for kind in dict.fromkeys(mark.kind for mark in marks):
        own = kinds.select(marks, {kind})
        yield f"{_named(own)}, {_when(own[0])}."
    if experiments.goldens == "moved":
        yield "Goldens: answered differently than before."
    elif not experiments.goldens and experiments.references != "moved":
        yield "No goldens were replayed, so whether answers changed rests on the traffic alone."


def _ruled_out(
    marks: Sequence[ChangeMark], experiments: Experiments, traffic: Mapping[str, str]
) -> Iterator[str]:
    noticed = {mark.kind for mark in marks}
    names = {**kinds.NAMES, kinds.JUDGE: "the judge's name or wording"}
    missing = []
    for kind in kinds.STATED:
        if kind not in noticed:
            missing.append(names[kind])
    if missing:
        yield f"Unchanged: {listing(missing)}."
    if experiments.goldens == "same":
        yield "The goldens are answered as before."
    if experiments.references == "same":
        yield "A silent change by the provider: reference prompts, asked again since, are answered as before."
    if experiments.panel == "same":
        yield "A judge that rates differently: it rates its panel, asked again since, as before."
    if not traffic:
        yield "Lengths, languages and tasks of the traffic are much the same as before."


def _overlapping(marks: Sequence[ChangeMark], falls: Sequence[ChangeMark]) -> list[ChangeMark]:
    overlapping = []
    for mark in marks:
        if any(mark.begun_at <= fall.at and mark.at >= fall.begun_at for fall in falls):
            overlapping.append(mark)
    return overlapping


def _named(marks: Sequence[ChangeMark]) -> str:
    name = kinds.NAMES[marks[0].kind]
    # The requested model and the returned one may change alike.
    each = dict.fromkeys(kinds.values_of(mark) for mark in marks)
    values = "; ".join(f"“{before}” → “{after}”" for before, after in each)
    return f"{name[0].upper()}{name[1:]}: {values}"


def _when(mark: ChangeMark) -> str:
    begun, at = date_and_time(mark.begun_at), date_and_time(mark.at)
    return f"at {at}" if begun == at else f"between {begun} and {at}"
