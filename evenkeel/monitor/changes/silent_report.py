"""Report on a silent change: its beginning, routes and size, and the causes that were ruled out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.figures import count, date, date_and_time, listing
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.effects import judged_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.monitor.changes.record import ChangeRecord
    from evenkeel.monitor.changes.silent import State
    from evenkeel.monitor.detect.references import ReferenceEvidence
    from evenkeel.stores.changes import AnswerScores

STATES: Final[dict[State, str]] = {
    "found": "Found: the same requests get different answers than before.",
    "reversed": "Over: answers are back to what they were.",
    "replaced": "Over: answers changed once more; a later report says how.",
    "settled": "Found, and a day old: later answers are compared with the new ones.",
}
"""Descriptions of the states, for people."""


class Names(NamedTuple):
    """Names that the endpoint returned for itself."""

    before: str
    """Name before the change; "" if it did not change or is not known."""
    after: tuple[str, ...]
    """Names after the change, the most frequent first; empty if the endpoint gives none."""

    def said(self, missing: str) -> str:
        """Describe the names for people; `missing` if there is none."""
        after = listing([f"“{name}”" for name in self.after])
        if self.before:
            return f"“{self.before}” before, {after} since"
        return f"{after}, no change was noticed" if after else missing


@dataclass(frozen=True, slots=True)
class SilentSide:
    """Evidence of a silent change of a route."""

    route: str
    state: State
    requested_model: str
    at: float
    """Unix time in seconds at which it was decided."""
    after: float
    """Unix time in seconds after which it came."""
    since: float
    """Unix time in seconds of the first answer that was unlike those before."""
    references: ReferenceEvidence
    models: Names
    """Model names that the endpoint returned."""
    fingerprints: Names
    summary: str = ""
    """Summary of the change in a sentence or two."""
    scores: AnswerScores | None = None
    """Scores of the answers before and after, if reference prompts were scored."""

    @property
    def when(self) -> str:
        """Time at which the change came about, for people."""
        first, last = date_and_time(self.after), date_and_time(self.since)
        if self.after >= self.since or first == last:
            return f"about {last}"
        if date(self.after) == date(self.since):
            return f"between {first.removesuffix(' UTC')} and {last.removeprefix(f'{date(self.since)} ')}"
        return f"between {first} and {last}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Facts at the head of the report, as pairs of name and text."""
        return [
            ("State", STATES[self.state]),
            ("Began", self.when),
            ("Requested model", self.requested_model or "none named"),
            ("Route", self.route),
            ("Reference prompts", _alike(self.references)),
            ("Returned model", self.models.said("no name was returned")),
            ("System fingerprint", self.fingerprints.said("none was returned")),
        ]


def silent_side(record: ChangeRecord, scores: AnswerScores | None = None) -> SilentSide | None:
    """Return the evidence of a silent change in a record; None without any."""
    silent = record.silent
    if silent is None:
        return None

    def names(kind: str, after: tuple[str, ...]) -> Names:
        switched = kinds.select(record.marks, {kind})
        if not switched:
            return Names("", after)
        return Names(switched[0].before, after or (switched[-1].after,))

    evidence = silent.references
    side = SilentSide(
        route=record.route,
        state=silent.state,
        requested_model=evidence.requested_model,
        at=evidence.at,
        after=evidence.after,
        since=evidence.since,
        references=evidence,
        models=names(kinds.MODEL, evidence.models),
        fingerprints=names(kinds.FINGERPRINT, evidence.fingerprints),
        scores=scores,
    )
    return replace(side, summary=_summary(side))


def _summary(side: SilentSide) -> str:
    model, evidence = side.requested_model or "The model", side.references
    text = (
        f"{model} on {side.route} answers the same requests differently. It began {side.when}: new answers "
        f"to reference prompts are {evidence.likeness:.0%} like the earlier ones, which are "
        f"{evidence.own:.0%} like each other ({evidence.calls} calls)."
    )
    return text if side.scores is None else f"{text} {judged_words(side.scores)}".rstrip()


def ruled_out(noticed: frozenset[str]) -> Iterator[str]:
    """Yield a sentence for each cause that reference prompts rule out.

    Args:
        noticed: Kinds of what was noticed at the same time.
    """
    version = "" if kinds.PROMPT in noticed else ", and the prompt version did not change"
    yield f"Your prompt: the reference prompts were sent as your application had sent them{version}."
    yield "Request parameters: they are part of the recorded requests, which were sent unchanged."
    yield "Other traffic: the reference prompts are the same ones, whatever users ask."
    yield "A judge that rates differently: none took part; answers were compared with each other by rule."
    yield "Noise: how far earlier answers to the same request differ from each other is the yardstick."


def _alike(evidence: ReferenceEvidence) -> str:
    return (
        f"new answers are {evidence.likeness:.0%} like the earlier ones, which are {evidence.own:.0%} like "
        f"each other ({count(evidence.calls, 'call')})"
    )
