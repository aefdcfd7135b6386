"""Labels: ratings that people give to verdicts. They are kept when the verdicts are gone.

What may quote an answer is encrypted, the figures are not: the agreement of judge and people is known even
where the keys are gone.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from msgspec import Struct
from msgspec.structs import replace

from evenkeel.core.records import from_json, to_json
from evenkeel.core.text import LONGEST_NAME, UNWRITABLE
from evenkeel.core.verdict import Direction, Evidence, stage_of
from evenkeel.stores.documents import Collection, DocumentBody, sealed
from evenkeel.stores.payloads import close_part, open_part

if TYPE_CHECKING:
    from evenkeel.core.verdict import Verdict
    from evenkeel.stores.documents import Change, Documents, Packed
    from evenkeel.stores.sealing import Seal


Quality = Literal["worse", "equal", "better"]
QUALITIES: Final[tuple[Quality, ...]] = get_args(Quality)

DecidedBy = Literal["judge", "empty", "equality", "metrics"]
"""Source of the rating: the stage that decided, or the metrics of a set-up without a judge."""

_PLACE: Final = "label"
LONGEST_NOTE: Final = 2_000
_RATINGS: Final = (1, 2, 3)


class LabelError(ValueError):
    """Refusal of a label that cannot be stored. The message says why."""


@dataclass(frozen=True, slots=True)
class LabelStatement:
    """Statement of one person about a verdict: `rating`, `quality`, or both."""

    by: str
    """Name of the person, as they gave it."""
    rating: int | None = None
    """Rating of how alike the answers are: 3 same content, 2 some details differ, 1 different message."""
    quality: Quality | None = None
    """Quality of the answer to the reworded prompt against the original; None if the person gave none."""
    note: str = ""
    drawn: bool = False
    """True if the verdict was drawn at random and the person did not see its rating."""


class Label(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Label in one version, with a copy of the verdict, which may be gone by now."""

    verdict_id: str
    by: str
    version: int = 1
    """Version given by the store: 1 for a person's first label of a verdict, one more for each correction."""
    rating: int | None = None
    quality: Quality | None = None
    note: str = ""
    drawn: bool = False
    at: float
    """Unix time in seconds at which the person gave the label."""
    withdrawn_at: float | None = None
    """Unix time in seconds at which the label was withdrawn; None as long as it counts."""

    exchange_id: str
    route: str
    model: str
    perturbation: str
    task: str | None = None
    scored_at: float
    judge_model: str = ""
    """Model of the judge that rated; "" without a judge."""
    rated_by: str = ""
    """Name and version of the judge's prompt, such as "similarity@1"."""
    decided_by: DecidedBy
    judge_rating: int | None
    """Rating of the verdict."""
    judge_direction: Direction | None = None
    """Verdict's change of quality; None if it found none, or did not look."""
    judge_looked: bool = False
    """True if the verdict includes a quality comparison."""
    explanation: str = ""
    """Explanation of the verdict."""

    @property
    def counts(self) -> bool:
        """True unless the label was withdrawn."""
        return self.withdrawn_at is None

    @property
    def agrees(self) -> bool | None:
        """True if the verdict's rating equals the person's; None if either gave no rating."""
        return None if self.rating is None or self.judge_rating is None else self.rating == self.judge_rating

    @property
    def judge_quality(self) -> Quality | None:
        """Verdict's change of quality in the words of a label; None if it is mixed or not known."""
        if not self.judge_looked or self.judge_direction == "mixed":
            return None
        return self.judge_direction or "equal"


def label_of(verdict: Verdict, statement: LabelStatement, *, at: float) -> Label:
    """Return the label that a statement makes of a verdict, in version 1, at a Unix time in seconds.

    Raises: LabelError if nothing is said, by nobody, or what cannot be said.
    """
    by = statement.by.strip()
    if not by:
        raise LabelError("it must be on record who says this: give your name")
    if len(by) > LONGEST_NAME or UNWRITABLE.search(by):
        raise LabelError(f"{by[:60]!r} is no name; take 1 to {LONGEST_NAME} characters on one line")
    if statement.rating is None and statement.quality is None:
        raise LabelError("say how alike the answers are, which one is better, or both")
    if statement.rating is not None and statement.rating not in _RATINGS:
        raise LabelError(f"the rating {statement.rating} is none of 1, 2, 3")
    if statement.quality is not None and statement.quality not in QUALITIES:
        raise LabelError(f"the quality {statement.quality!r} is none of {', '.join(QUALITIES)}")
    if len(statement.note) > LONGEST_NOTE:
        raise LabelError(f"the note has {len(statement.note):,} characters; take at most {LONGEST_NOTE:,}")
    changed = verdict.quality_changed
    return Label(
        verdict_id=verdict.id,
        by=by,
        rating=statement.rating,
        quality=statement.quality,
        note=statement.note.strip(),
        drawn=statement.drawn,
        at=at,
        exchange_id=verdict.exchange_id,
        route=verdict.route,
        model=verdict.model,
        perturbation=verdict.perturbation,
        task=verdict.origin.task,
        scored_at=verdict.scored_at,
        judge_model=verdict.scoring.judge_model,
        rated_by=verdict.scoring.rated_by,
        decided_by=decided_by(verdict),
        judge_rating=verdict.rating,
        judge_direction=verdict.direction,
        # What is rated as the same is not looked at again: it is as good by definition.
        judge_looked=changed is not None or verdict.shifted is False,
        explanation=verdict.scoring.explanation,
    )


def decided_by(verdict: Verdict) -> DecidedBy:
    """Return the source of a verdict's rating."""
    if verdict.scoring.scorer != "judge":
        return "metrics"
    stage = stage_of(verdict.scoring.details)
    return stage if stage in ("equality", "empty") else "judge"


def says_the_same(first: Label, other: Label) -> bool:
    """Return whether two labels of one person about one verdict have the same content."""
    return (first.rating, first.quality, first.note, first.drawn, first.withdrawn_at is None) == (
        other.rating,
        other.quality,
        other.note,
        other.drawn,
        other.withdrawn_at is None,
    )


class LabelTexts(NamedTuple):
    """Evidence of a labelled verdict: its prompts and answers."""

    verdict_id: str
    evidence: Evidence


def _pack(label: Label, seal: Seal) -> str:
    # Only what may quote an answer is sealed: agreement is counted also where the keys are gone.
    name = f"{_PLACE}/{label.verdict_id}"
    return to_json(
        replace(
            label,
            note=close_part(label.note, name, seal),
            explanation=close_part(label.explanation, name, seal),
        )
    )


def _unpack(packed: Packed, seal: Seal, _key: tuple[str, ...]) -> Label:
    label = from_json(packed, Label)
    name = f"{_PLACE}/{label.verdict_id}"
    return replace(
        label, note=open_part(label.note, name, seal), explanation=open_part(label.explanation, name, seal)
    )


_LABELS: Final = Collection(
    name="labels",
    key=("verdict_id", "by", "version"),
    body=DocumentBody(_pack, _unpack),
    group="labels",
)
_TEXTS: Final = Collection(
    name="label_texts",
    key=("verdict_id",),
    body=sealed(LabelTexts, _PLACE, lambda texts: texts.verdict_id),
    group="labels",
)


class LabelStore:
    """Store of labels by verdict and person. Nothing is overwritten: a correction is the next version.

    Calls block on storage. Several processes may use one store at a time.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        documents.open(_LABELS, _TEXTS)

    def put(self, label: Label, texts: Evidence | None) -> Label:
        """Store what somebody says of a verdict.

        What the same person said of it before is replaced by this as the next version; the same again
        changes nothing.

        Args:
            label: its `version` and `withdrawn_at` are not looked at.
            texts: prompts and answers, kept as long as the label; None if they are no longer known. Texts
                that are kept already stay.

        Returns: the label as it is in the store now.
        """

        def work(change: Change) -> Label:
            newest = self._newest(label.verdict_id, label.by)
            stored = replace(label, version=newest.version + 1 if newest else 1, withdrawn_at=None)
            if newest is not None and says_the_same(newest, stored):
                return newest
            change.put(_LABELS, stored)
            if texts is not None:
                # A correction may come when the evidence is gone: the texts of the first label stay.
                change.add(_TEXTS, LabelTexts(label.verdict_id, texts))
            return stored

        return self._documents.change(_LABELS, work)

    def withdraw(self, verdict_id: str, by: str, *, at: float) -> Label:
        """Take back what somebody said: a version that no longer counts. Again, it changes nothing.

        Raises: LabelError if that person has said nothing of that verdict.
        """

        def work(change: Change) -> Label:
            newest = self._newest(verdict_id, by)
            if newest is None:
                raise LabelError(f"{by[:60]!r} has said nothing of the verdict {verdict_id[:80]!r}")
            if newest.withdrawn_at is not None:
                return newest
            withdrawn = replace(newest, version=newest.version + 1, withdrawn_at=at)
            change.put(_LABELS, withdrawn)
            return withdrawn

        return self._documents.change(_LABELS, work)

    def _newest(self, verdict_id: str, by: str) -> Label | None:
        labels = self._documents.history(_LABELS, verdict_id, by)
        return labels[-1] if labels else None

    def of_verdict(self, verdict_id: str) -> tuple[Label, ...]:
        """Return each person's newest label of a verdict, withdrawn ones included."""
        # Oldest first, so that the newest label of a person is the one that remains.
        newest = {}
        for label in self.history(verdict_id):
            newest[label.by] = label
        return tuple(newest.values())

    def history(self, verdict_id: str) -> tuple[Label, ...]:
        """Return all versions of all labels of a verdict, oldest first."""
        return tuple(self._documents.history(_LABELS, verdict_id))

    def select(self, *, route: str | None = None, limit: int | None = None) -> tuple[Label, ...]:
        """Return labels that count, in their newest version, newest first."""
        newest: dict[tuple[str, str], Label] = {}
        for label in self._documents.select(_LABELS):
            newest.setdefault((label.verdict_id, label.by), label)
        counting = []
        for label in newest.values():
            if label.counts and route in {None, label.route}:
                counting.append(label)
        return tuple(counting[:limit])

    def texts(self, verdict_id: str) -> Evidence | None:
        """Return the prompts and answers of a labelled verdict; None if they were not known at the time."""
        texts = self._documents.find(_TEXTS, verdict_id)
        return None if texts is None else texts.evidence

    def revision(self) -> int:
        """Number that grows with every change; labels read earlier are valid as long as it is the same."""
        return self._documents.revision(_LABELS)


class CountedLabels:
    """Cache of the labels, read again only when their revision has changed. Safe to use from threads."""

    def __init__(self, store: LabelStore | None) -> None:
        """Prepare; nothing is read yet. Without a store there are no labels."""
        self._store = store
        self._lock = threading.Lock()
        self._revision = -1
        self._labels: tuple[Label, ...] = ()

    def __call__(self) -> tuple[Label, ...]:
        """Return the labels that count, newest first; the same tuple as long as nothing changed."""
        if self._store is None:
            return ()
        with self._lock:
            # Looked up under the lock, so that of many readers only one reads all labels again.
            revision = self._store.revision()
            if revision != self._revision:
                self._labels = self._store.select()
                self._revision = revision
            return self._labels
