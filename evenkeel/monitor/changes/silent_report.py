"""Report on a silent change: its beginning, routes and size, and the causes that were ruled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.figures import date, date_and_time, listing
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.effects import likeness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.monitor.changes.record import ChangeRecord, SilentState
    from evenkeel.monitor.detect.references import ReferenceEvidence
    from evenkeel.stores.changes import AnswerScores

STATES: Final[dict[SilentState, str]] = {
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
    state: SilentState
    references: ReferenceEvidence
    models: Names
    """Model names that the endpoint returned."""
    fingerprints: Names
    scores: AnswerScores | None
    """Scores of the answers before and after, if reference prompts were scored."""

    @property
    def when(self) -> str:
        """Time at which the change came about, for people."""
        after, since = self.references.after, max(self.references.since, self.references.until)
        first, last = date_and_time(after), date_and_time(since)
        if after >= since or first == last:
            return f"about {last}"
        if date(after) == date(since):
            return f"between {first.removesuffix(' UTC')} and {last.removeprefix(f'{date(since)} ')}"
        return f"between {first} and {last}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Facts at the head of the report, as pairs of name and text."""
        return [
            ("State", STATES[self.state]),
            ("Began", self.when),
            ("Requested model", self.references.requested_model or "none named"),
            ("Route", self.route),
            ("Reference prompts", likeness(self.references)),
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
    models, fingerprints = (
        names(kinds.MODEL, evidence.models),
        names(kinds.FINGERPRINT, evidence.fingerprints),
    )
    return SilentSide(record.route, silent.state, evidence, models, fingerprints, scores)


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
