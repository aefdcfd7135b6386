"""Pairs that both the cheap rater and a judge have rated, for the bands of the cascade."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from evenkeel.core.pair import Pair, Wanted
from evenkeel.core.provenance import STAGES, stage_of
from evenkeel.core.verdict import BASELINE, Failure
from evenkeel.experiments.calibrate.judge_bands import JudgeBands, RatedPair, judge_bands
from evenkeel.metrics.similarity.cheap import CheapRater
from evenkeel.metrics.similarity.embeddings import MINILM
from evenkeel.monitor.labels.agreement import people_say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    from evenkeel.core.verdict import Evidence, Verdict
    from evenkeel.experiments.calibrate.candidates import Candidate
    from evenkeel.stores.labels import Label
    from evenkeel.stores.verdict_log import LoggedVerdict

    class Log(Protocol):
        """What is needed of a verdict log."""

        def read_after(self, offset: int, limit: int) -> Sequence[LoggedVerdict]:
            """As `VerdictLog`."""
            ...

        def evidence(self, verdict_id: str) -> Evidence | None:
            """As `VerdictLog`."""
            ...


_BATCH = 1000
_JUDGE = STAGES[2]


def rated_candidates(rated: Iterable[tuple[Candidate, int]], rater: CheapRater) -> list[RatedPair]:
    """Degraded goldens and the judge's ratings of them."""
    return [RatedPair(rater.rate_now(candidate.pair), rating) for candidate, rating in rated]


def rated_in_log(
    log: Log, rater: CheapRater, people: Mapping[str, int] = MappingProxyType({})
) -> list[RatedPair]:
    """Trials that the judge decided, one of each exchange: the newest that is no identical resend.

    They are rated again by the cheap rater that there is now, so trials whose answers have been pruned
    are passed over.

    Args:
        log: where they are.
        rater: the cheap rater.
        people: what most people rate, by verdict; it takes the place of the judge's rating.
    """
    newest: dict[str, Verdict] = {}
    offset = 0
    while batch := log.read_after(offset, _BATCH):
        offset = batch[-1].offset
        for logged in batch:
            verdict = logged.verdict
            if (
                verdict.scorer == "judge"
                and verdict.rating is not None
                and verdict.perturbation != BASELINE
                and stage_of(verdict.details) == _JUDGE
            ):
                newest[verdict.exchange_id] = verdict
    found = []
    for verdict in newest.values():
        evidence = log.evidence(verdict.id)
        if evidence is None or evidence.candidate is None or verdict.rating is None:
            continue
        wanted = Wanted(verdict.wanted_format, verdict.wanted_language)  # type: ignore[arg-type] # as logged
        pair = Pair(evidence.reference, evidence.candidate, evidence.prompt, verdict.task, wanted)
        found.append(RatedPair(rater.rate_now(pair), people.get(verdict.id, verdict.rating)))
    return found


def rated_by_people(labels: Iterable[Label]) -> dict[str, int]:
    """What most people rate, by verdict; verdicts on which they are split are left to the judge."""
    by_verdict: dict[str, list[Label]] = {}
    for label in labels:
        by_verdict.setdefault(label.verdict_id, []).append(label)
    said = {verdict_id: people_say(given) for verdict_id, given in by_verdict.items()}
    return {verdict_id: rating for verdict_id, rating in said.items() if rating is not None}


def set_bands(
    pairs: Sequence[RatedPair], source: str, *, encoder: str = MINILM, version: int = 1
) -> JudgeBands | Failure:
    """The bands that these pairs allow, by an encoder's embeddings among the scores; see `judge_bands`."""
    if not pairs:
        return Failure("judge_bands", 1, "too_few_pairs", "No pair was rated by the judge.")
    return judge_bands(
        pairs, version=version, source=source, rater_version=CheapRater.version, encoder=encoder
    )
