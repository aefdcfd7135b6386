"""What people say of a verdict, in words, and how far they and the judge agree."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from evenkeel.console import wording
from evenkeel.core import figures, rewordings
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.labels import human_agreement
from evenkeel.stores.labels import decided_by
from evenkeel.stores.verdict_log import readable_evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.labels import HumanAgreement
    from evenkeel.stores.labels import Label, LabelStore
    from evenkeel.stores.verdict_log import VerdictLog

RATINGS: Final = {3: "the same", 2: "the same, but details differ", 1: "different"}
QUALITIES: Final = {
    "worse": "worse than the answer to the original",
    "equal": "just as good",
    "better": "better than the answer to the original",
}
_DECIDERS: Final = {
    "judge": "the judge",
    "bands": "cheap metrics in place of the judge",
    "equality": "equal answers, in place of the judge",
    "metrics": "cheap metrics",
}
_SOURCES: Final = {"drawn": "drawn by chance and rated blind", "chosen": "chosen by people"}
_DRAWN_FROM: Final = 2_000
"""Newest verdicts of which one is drawn."""


@dataclass(frozen=True, slots=True)
class LabelView:
    """One person's label."""

    by: str
    said: str
    note: str
    drawn: bool
    at: str
    at_iso: str
    at_exact: str
    withdrawn: str
    """When, "" if it counts."""
    version: int
    disagrees: bool


@dataclass(frozen=True, slots=True)
class AgreementLine:
    """How far people agree with one decider."""

    decider: str
    source: str
    share: str
    interval: str
    counts: str
    """How many of how many."""
    too_high: str
    """What the disagreement is like, "" if there is none."""


@dataclass(frozen=True, slots=True)
class FeedbackView:
    """What the page of a trial shows of labels."""

    labels: tuple[LabelView, ...]
    agreement: tuple[AgreementLine, ...]
    ratings: tuple[tuple[int, str], ...]
    qualities: tuple[tuple[str, str], ...]


def feedback(
    store: LabelStore, counted: Sequence[Label], verdict_id: str, judge: str, now: float
) -> FeedbackView:
    """The labels of a verdict and the agreement with its judge over all verdicts.

    Args:
        store: of the labels.
        counted: all that count.
        verdict_id: the verdict that the page is about.
        judge: its judge's model, "" without a judge.
        now: Unix time in seconds.
    """
    found = [one for one in human_agreement(counted) if one.judge == judge]
    return FeedbackView(
        tuple(_label(one, now) for one in store.of_verdict(verdict_id)),
        agreement_lines(found),
        tuple(RATINGS.items()),
        tuple(QUALITIES.items()),
    )


def agreement_lines(found: Sequence[HumanAgreement]) -> tuple[AgreementLine, ...]:
    """Agreement in words, drawn verdicts before those that people chose."""
    ordered = sorted(found, key=lambda one: (one.judge, one.source != "drawn", one.decided_by))
    return tuple(_line(one) for one in ordered)


def drawn(log: VerdictLog, store: LabelStore) -> str | None:
    """Id of a verdict that chance chooses for somebody to rate; None if there is none to choose from.

    One of the newest 2,000 that has a rating and no label; of those that a judge decided, if there are any.
    The same log and labels give the same one, so that nobody can draw until the verdict is convenient.
    """
    stretch = log.read_before(None, _DRAWN_FROM)
    rated = [
        one.verdict
        for one in stretch.verdicts
        if one.verdict.rating is not None and one.verdict.perturbation != BASELINE
    ]
    labelled = store.labelled([verdict.id for verdict in rated])
    left = [verdict for verdict in rated if verdict.id not in labelled]
    judged = [verdict for verdict in left if decided_by(verdict) == "judge"] or left
    if not judged:
        return None
    rng = Random(f"{store.revision()}:{stretch.verdicts[0].offset // _DRAWN_FROM}")
    for verdict in rng.sample(judged, min(len(judged), 50)):
        if readable_evidence(log, verdict.id) is not None:
            return verdict.id
    return None


def _label(label: Label, now: float) -> LabelView:
    parts = []
    if label.rating is not None:
        parts.append(RATINGS[label.rating])
    if label.quality is not None:
        parts.append(QUALITIES[label.quality])
    return LabelView(
        by=label.by,
        said="; ".join(parts),
        note=label.note,
        drawn=label.drawn,
        at=figures.moment(label.at, now),
        at_iso=figures.iso(label.at),
        at_exact=figures.moment_exact(label.at),
        withdrawn="" if label.withdrawn_at is None else figures.moment(label.withdrawn_at, now),
        version=label.version,
        disagrees=label.agrees is False,
    )


def _line(one: HumanAgreement) -> AgreementLine:
    wrong = one.n - one.agreed
    return AgreementLine(
        decider=" ".join(filter(None, (_DECIDERS[one.decided_by], one.judge))),
        source=_SOURCES[one.source],
        share=figures.percent(one.value),
        interval=f"[{figures.number(one.lower * 100)},\u00a0{figures.number(one.upper * 100)}]\u202f%",
        counts=f"{one.agreed:,} of {one.n:,}",
        too_high=f"{one.too_high:,} of {wrong:,} rated more alike than people say" if wrong else "",
    )


def siblings(log: VerdictLog, verdict: Verdict) -> tuple[tuple[Verdict, str], ...]:
    """The other trials of the same exchange with their ratings in words, the identical resend first."""
    others = [one for one in log.of_exchange(verdict.exchange_id) if one.id != verdict.id]
    others.sort(key=lambda one: (rewordings.position(one.perturbation), one.severity, one.id))
    return tuple((one, "not rated" if one.rating is None else wording.RATINGS[one.rating]) for one in others)
