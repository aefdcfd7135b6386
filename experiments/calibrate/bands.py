"""Bands of the cascade, set on pairs that both the heuristics and a judge, or people, have rated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil, floor, log
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, Protocol

from scipy.special import bdtrc, betaincinv

from evenkeel.core.pair import Pair, Wanted
from evenkeel.core.verdict import BASELINE, PROVENANCE, STAGES, Failure, stage_of
from evenkeel.metrics.cascade import Band, Bands
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.similarity.details import Details
from evenkeel.metrics.similarity.embeddings import MINILM
from evenkeel.metrics.similarity.normalised import NormalisedEquality
from evenkeel.metrics.structured.json_rouge import JsonRouge
from evenkeel.metrics.tool_calls import ToolCalls
from evenkeel.monitor.labels import people_say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evenkeel.core.verdict import Verdict
    from evenkeel.experiments.calibrate.candidates import Candidate
    from evenkeel.metrics.protocol import Rating
    from evenkeel.stores.labels import Label, LabelStore
    from evenkeel.stores.verdict_log import VerdictLog


METRIC = "judge_bands"
VERSION = 1

Form = Literal["text", "structured", "tool_calls"]
FORMS: Final[tuple[Form, ...]] = ("text", "structured", "tool_calls")
_SAME, _OTHER = 3, 1
_SIDES: Final = (_SAME, _OTHER)

GUARDS: Final = (Band(Details.name, same_from=1.0),)
"""Tried beside each score: a 3 only if every number, name and date is kept."""

_BATCH = 1000
_JUDGE = STAGES[2]
_GRAIN = 1e-6
_STARTS = 3
_STEP = 1.1


@dataclass(frozen=True, slots=True)
class RatedPair:
    """What the heuristics and the judge said of the same pair."""

    heuristic: Rating
    judge: int
    """1, 2 or 3."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one side of the bands decides."""

    form: Form
    rating: int
    """3 or 1."""
    bands: tuple[Band, ...]
    decided: int
    agreed: int
    """Of those decided, pairs to which the judge said the same."""
    lower: float
    """With the stated confidence for all sides together, the judge agrees on at least this share."""


@dataclass(frozen=True, slots=True)
class JudgeBands:
    """Bands and what they are worth."""

    bands: Bands
    sides: tuple[Side, ...]
    """Those that decide anything."""
    pairs: int
    """Pairs of known form that are not equal: what the bands could decide."""
    decided: int

    @property
    def saved(self) -> float:
        """Share of those pairs for which the judge need not be asked, in [0, 1]."""
        return self.decided / self.pairs


@dataclass(frozen=True, slots=True)
class _Case:
    """A pair that one side might decide."""

    scores: Mapping[str, float]
    agrees: bool


def judge_bands(
    pairs: Sequence[RatedPair],
    *,
    source: str,
    encoder: str = MINILM,
    agreement: float = 0.95,
    confidence: float = 0.95,
    guards: Sequence[Band] = GUARDS,
) -> JudgeBands | Failure:
    """Set bands so that the judge agrees with what they decide.

    For each form of answer and each side (3 and 1) every score of a heuristic is tried, alone and beside the
    guards; its end is moved from the clearest pairs outwards while an exact binomial test at each step
    rejects that the judge agrees on less than the stated share. The score that decides most pairs is
    kept. All tests together wrongly accept an end with a probability of at most 1 − `confidence`.

    Args:
        pairs: drawn as they come in production, at most one of each exchange: pairs that hang together
            say less than they seem to. Pairs that are equal after normalisation are left out; the
            cascade decides them before it looks at bands.
        source: data, judge and encoder, in a line for people.
        encoder: of the embeddings among the scores.
        agreement: smallest share of decided pairs on which the judge says the same, in (0, 1).
        confidence: in (0, 1).
        guards: bands tried beside each score.

    Returns: the bands, or a failure: "too_few_pairs", or "no_clear_scores" if no score is clear enough.
    Source: Angelopoulos, Bates, Candès, Jordan, Lei 2021, "Learn then Test" (fixed sequence testing from
        several starts); Clopper and Pearson 1934.
    """
    if not 0 < agreement < 1 or not 0 < confidence < 1:
        raise ValueError(f"agreement {agreement} and confidence {confidence} must lie in (0, 1)")
    if not pairs:
        return Failure(METRIC, VERSION, "too_few_pairs", "No pair was rated by the judge.")
    usable = [pair for pair in pairs if pair.heuristic.details.get(NormalisedEquality.name) != 1.0]
    cases: dict[tuple[Form, int], list[_Case]] = {
        (form, side): [
            _Case(pair.heuristic.details, pair.judge == side)
            for pair in usable
            if pair.heuristic.outcome == side and form_of(pair.heuristic.details) == form
        ]
        for form in FORMS
        for side in _SIDES
    }
    filled = {key: found for key, found in cases.items() if found}
    chance = (1 - confidence) / max(1, len(filled))
    needed = ceil(log(chance) / log(agreement))
    if not any(len(found) >= needed for found in filled.values()):
        detail = f"A side needs {needed} pairs or more for an agreement of {agreement:g}."
        return Failure(METRIC, VERSION, "too_few_pairs", detail)
    sides = tuple(
        side
        for (form, rating), found in filled.items()
        if (side := _side(form, rating, found, agreement, chance, tuple(guards))) is not None
    )
    if not sides:
        detail = f"No score tells where the judge agrees in {agreement:.0%} of pairs: let it decide them."
        return Failure(METRIC, VERSION, "no_clear_scores", detail)
    decided = sum(side.decided for side in sides)
    ends = {form: tuple(band for side in sides if side.form == form for band in side.bands) for form in FORMS}
    bands = Bands(
        version=1,
        source=source,
        rater_version=HeuristicRater.version,
        encoder=encoder,
        agreement=round(sum(side.agreed for side in sides) / decided, 4),
        **ends,
    )
    return JudgeBands(bands, sides, len(usable), decided)


def form_of(scores: Mapping[str, float]) -> Form:
    """Which of the cascade's bands apply to a pair, by the names of its scores of heuristics."""
    if ToolCalls.name in scores:
        return "tool_calls"
    return "structured" if JsonRouge.name in scores else "text"


def lower_bound(agreed: int, n: int, chance: float) -> float:
    """Clopper–Pearson lower end: the largest share that is rejected at this chance of error."""
    return float(betaincinv(agreed, n - agreed + 1, chance)) if agreed else 0.0


def _tail(agreed: int, n: int, share: float) -> float:
    """Probability of at least `agreed` agreements among `n` if the judge agrees on this share."""
    return float(bdtrc(agreed - 1, n, share)) if agreed else 1.0


def _side(
    form: Form, rating: int, cases: Sequence[_Case], agreement: float, chance: float, guards: tuple[Band, ...]
) -> Side | None:
    """The score that decides most, of those that may."""
    names = sorted({name for case in cases for name in case.scores} - PROVENANCE)
    beside = [(), guards] if rating == _SAME and guards else [()]
    tries = [
        (name, extra) for name in names for extra in beside if name not in {band.metric for band in extra}
    ]
    best: Side | None = None
    for name, extra in tries:
        kept = [case for case in cases if name in case.scores and _holds(extra, case.scores)]
        found = _end(name, rating, kept, agreement, chance / len(tries))
        if found is not None and (best is None or found.decided > best.decided):
            best = replace(found, form=form, bands=(*found.bands, *extra))
    return best


def _holds(bands: tuple[Band, ...], scores: Mapping[str, float]) -> bool:
    return all(band.same_from is None or scores.get(band.metric, -1.0) >= band.same_from for band in bands)


def _end(name: str, rating: int, cases: Sequence[_Case], agreement: float, chance: float) -> Side | None:
    """The loosest end of one score at which the judge provably agrees often enough."""
    # On a grid, on which the end will lie: then the written end decides exactly these pairs.
    graded = sorted(
        ((floor(case.scores[name] / _GRAIN), case.agrees) for case in cases), reverse=rating == _SAME
    )
    accepted: Side | None = None
    fewest = ceil(log(chance / _STARTS) / log(agreement))
    steps = list(_steps(graded, fewest, rating))
    for start in range(_STARTS):
        for grade, decided, agreed in steps[len(steps) * start // _STARTS :]:
            if _tail(agreed, decided, agreement) > chance / _STARTS:
                break
            if accepted is None or decided > accepted.decided:
                end = min(1.0, max(0.0, round(grade * _GRAIN, 6)))
                band = Band(name, same_from=end) if rating == _SAME else Band(name, other_below=end)
                lower = lower_bound(agreed, decided, chance / _STARTS)
                accepted = Side("text", rating, (band,), decided, agreed, lower)
    return accepted


def _steps(graded: Sequence[tuple[int, bool]], fewest: int, rating: int) -> Iterator[tuple[int, int, int]]:
    """(where the end lies, decided, agreed) from the clearest pairs outwards.

    Which steps there are depends on the scores alone, as the tests ask for; each decides about a
    tenth more pairs than the one before, because every step is one more chance to stop too early.
    """
    groups = [
        (grade, [agrees for _, agrees in group]) for grade, group in groupby(graded, lambda each: each[0])
    ]
    # An end below which a score shall lie is the next score, so on that side the last group has none.
    grades = [grade for grade, _ in groups]
    ends = grades if rating == _SAME else [*grades[1:], None]
    wanted: float = fewest
    decided = agreed = 0
    for (_, members), end in zip(groups, ends, strict=True):
        decided += len(members)
        agreed += sum(members)
        if decided >= wanted and end is not None:
            yield end, decided, agreed
            wanted = max(decided + 1, decided * _STEP)


class RatedStore(Protocol):
    """What is needed of a store whose trials a judge, or people, have rated."""

    @property
    def verdicts(self) -> VerdictLog:
        """The trials."""
        ...

    @property
    def labels(self) -> LabelStore:
        """What people say of them."""
        ...

    @property
    def place(self) -> str:
        """Where it is, for people."""
        ...


def rated_candidates(rated: Iterable[tuple[Candidate, int]], rater: HeuristicRater) -> list[RatedPair]:
    """Degraded goldens and the judge's ratings of them."""
    return [RatedPair(rater.rate_now(candidate.pair), rating) for candidate, rating in rated]


def rated_in_log(
    log: VerdictLog, rater: HeuristicRater, people: Mapping[str, int] = MappingProxyType({})
) -> list[RatedPair]:
    """Trials that the judge decided, one of each exchange: the newest that is no identical resend.

    They are rated again by today's heuristics, so trials whose answers have been pruned
    are passed over.

    Args:
        log: where they are.
        rater: the heuristics.
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
