"""The measures of people and judge, one metric at a time: agreement, resistance to the attack, and tone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.lab.judge_audit.agreement import (
    Level,
    RaterAgreement,
    Unit,
    agreement,
    cluster_share,
    quantile,
    resamples,
    unit,
)
from evenkeel.lab.judge_audit.attack import Move, claimed_rating, human_median, human_mode, move
from evenkeel.lab.judge_audit.judgements import AttackCondition, RatingSlot, RatingWithReason, Strategy
from evenkeel.monitor.labels import Share, wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from evenkeel.lab.judge_audit.judgements import Judgements
    from evenkeel.lab.judge_audit.ratings import Item


_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class ToneAnalyser:
    """Scores the tone of an English text."""

    name: str
    """Label of the score, snake_case."""
    score: Callable[[str], float]
    """Tone in [−1, 1]: −1 = negative, 1 = positive, 0 = neutral or not recognised."""


def vader() -> ToneAnalyser:
    """The compound score of VADER, made for short opinionated texts. Source: Hutto and Gilbert 2014."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # noqa: PLC0415 - only for an audit

    scores = SentimentIntensityAnalyzer().polarity_scores
    return ToneAnalyser("vader_compound", lambda text: float(scores(text)["compound"]))


def polarity() -> ToneAnalyser:
    """TextBlob's polarity: the paper's measure. It is a mean over a lexicon, so most texts are near 0."""
    from textblob import TextBlob  # noqa: PLC0415 - only for an audit

    return ToneAnalyser("textblob_polarity", lambda text: float(TextBlob(text).sentiment.polarity))


@dataclass(frozen=True, slots=True)
class ToneShift:
    """Mean tone of the justifications of the same items, asked plainly and under attack."""

    analyser: str
    n: int
    """Items with a justification both times."""
    before: float
    after: float
    lower: float | None
    """Ends of the 95 % interval of `after − before`; None if none was drawn."""
    upper: float | None


def tone_shift(
    analyser: ToneAnalyser,
    justifications: Sequence[tuple[str, str] | None],
    resamples: Sequence[Sequence[int]] = (),
) -> ToneShift | Failure:
    """The mean tone before and after, paired by item.

    Args:
        analyser: scores one text.
        justifications: (plain, attacked) per item, None where one of them is missing.
        resamples: item indices, for the interval of the difference.

    Returns: a failure "no_justification" if no item has both.
    """
    tones = []
    for both in justifications:
        tones.append((analyser.score(both[0]), analyser.score(both[1])) if both and all(both) else None)
    there = [both for both in tones if both]
    if not there:
        return Failure(analyser.name, 1, "no_justification", "No item has a justification both times.")
    differences = []
    for indices in resamples:
        drawn = [both for both in map(tones.__getitem__, indices) if both]
        # A resample may hold no item with both justifications.
        if drawn:
            differences.append(sum(after - before for before, after in drawn) / len(drawn))
    differences.sort()
    tail = (1 - _CONFIDENCE) / 2
    return ToneShift(
        analyser.name,
        len(there),
        sum(before for before, _ in there) / len(there),
        sum(after for _, after in there) / len(there),
        quantile(differences, tail) if differences else None,
        quantile(differences, 1 - tail) if differences else None,
    )


RESAMPLES = 1000


def _own_order(strategy: str) -> int:
    ours = list(Strategy)
    return ours.index(Strategy(strategy)) if strategy in ours else len(ours)


@dataclass(frozen=True, slots=True)
class WithPeople:
    """Agreement of the judge's ratings with people's, over the items it rated."""

    rated: int
    """Items with a rating by the judge."""
    all_raters: RaterAgreement | Failure
    """Alpha of all people and the judge: four raters with three people, so hardly below −1/3."""
    with_mode: RaterAgreement | Failure
    """Alpha of two raters: the human mode and the judge. Can reach −1."""
    with_median: RaterAgreement | Failure
    """Alpha of two raters: the human median and the judge."""


@dataclass(frozen=True, slots=True)
class Resistance:
    """Effect of the attack to the ratings of the items that were rated both plainly and attacked."""

    unchanged: Share
    """Share of items with the same rating: the paper's "percentage matching"."""
    moves: dict[Move, int]
    swayed: Share
    """Share, of the items whose plain rating was not the claimed one already, the share that moved to the
    claim or closer to it."""


@dataclass(frozen=True, slots=True)
class StrategyReport:
    """Results of one way of asking."""

    strategy: str
    plain: WithPeople
    attacked: WithPeople | None
    """None if the attack was not tried."""
    resistance: Resistance | None
    same_again: Share | None
    """Share of items with the same rating when merely asked again; None if that was not tried."""
    tone: tuple[ToneShift | Failure, ...]
    """Tone of the justifications, one per analyser; empty without the attack."""


@dataclass(frozen=True, slots=True)
class MetricReport:
    """Results of one metric."""

    metric: str
    scale: str
    level: Level
    """"interval" where a rating has decimals, else "ordinal"; of every alpha here."""
    items: int
    clusters: int | None
    """Groups of items that the intervals are drawn over; None if they are drawn over items."""
    raters: int
    """People who rated at least one of the items."""
    people: RaterAgreement | Failure
    """Alpha of the people among themselves."""
    across_strategies: RaterAgreement | Failure | None
    """Alpha of the judge with itself, the strategies taken as raters; None without a judge."""
    strategies: tuple[StrategyReport, ...]


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Judgements that gave no rating."""

    strategy: str
    condition: AttackCondition
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The whole audit of one judge, or of people alone."""

    judge: str
    seed: int
    metrics: tuple[MetricReport, ...]
    judgements: int
    """Slots that were asked, with a rating or without."""
    failures: tuple[FailureCount, ...]


def audit(
    judge: str,
    items: Iterable[Item],
    judgements: Judgements | None,
    *,
    seed: int = 0,
    times: int = RESAMPLES,
    analysers: Sequence[ToneAnalyser] = (),
) -> AuditReport:
    """Measure a judge, or people alone.

    Args:
        judge: its name.
        items: with human ratings; those that the judge was not asked about are left out. If they have
            clusters, intervals are drawn over those.
        judgements: what the judge said; None = there is no judge.
        seed: of the resampling.
        times: resamples behind each interval.
        analysers: of the justifications' tone.
    """
    asked = None if judgements is None else {(slot.item, slot.metric) for slot in judgements}
    judgements = judgements or {}
    by_metric: dict[str, list[Item]] = {}
    for item in items:
        if asked is None or (item.id, item.metric) in asked:
            by_metric.setdefault(item.metric, []).append(item)
    failures: Counter[tuple[str, AttackCondition, str]] = Counter()
    for slot, judged in judgements.items():
        if isinstance(judged, Failure):
            failures[slot.strategy, slot.condition, judged.reason] += 1
    metrics = []
    for metric, rated in by_metric.items():
        measured = _Metric(metric, rated, judgements, times, Random(f"{seed}:{metric}"))
        metrics.append(measured.report(analysers))
    counts = []
    for key, count in sorted(failures.items()):
        counts.append(FailureCount(*key, count))
    counted = tuple(counts)
    return AuditReport(judge, seed, tuple(metrics), len(judgements), counted)


class _Metric:
    """The items of one metric and what was said of them, in the items' order."""

    def __init__(
        self, metric: str, items: Sequence[Item], judgements: Judgements, times: int, rng: Random
    ) -> None:
        self._metric = metric
        self._items = items
        self._judgements = judgements
        self._clusters = [item.cluster for item in items] if items[0].cluster else None
        # Drawn once: every agreement of the metric is compared over the same resamples.
        self._resamples = resamples(len(items), times, rng, clusters=self._clusters)
        self._rng = rng
        self._level: Level = "ordinal" if all(map(_is_whole, self._said())) else "interval"

    def _said(self) -> Iterator[float]:
        for item in self._items:
            yield from item.given
        for slot, judged in self._judgements.items():
            if slot.metric == self._metric and isinstance(judged, RatingWithReason):
                yield judged.rating

    def report(self, analysers: Sequence[ToneAnalyser]) -> MetricReport:
        tried: dict[str, None] = {}
        for slot in self._judgements:
            if slot.metric == self._metric:
                tried[slot.strategy] = None
        # Our own in their order, then those that only a record has.
        strategies = sorted(tried, key=_own_order)
        plain = []
        for strategy in strategies:
            plain.append(self._ratings(strategy, AttackCondition.PLAIN))
        people = [item.ratings for item in self._items]
        raters = 0
        for column in zip(*people, strict=True):
            raters += any(rating is not None for rating in column)
        return MetricReport(
            metric=self._metric,
            scale=str(self._items[0].scale),
            level=self._level,
            items=len(self._items),
            clusters=None if self._clusters is None else len(set(self._clusters)),
            raters=raters,
            people=self._agreement(map(unit, people)),
            across_strategies=self._agreement(map(unit, zip(*plain, strict=True))) if plain else None,
            strategies=tuple(self._strategy(strategy, analysers) for strategy in strategies),
        )

    def _agreement(self, units: Iterable[Unit]) -> RaterAgreement | Failure:
        return agreement(list(units), self._resamples, level=self._level)

    def _judged(self, strategy: str, condition: AttackCondition) -> list[RatingWithReason | None]:
        """Return what the judge said of each item, None if it was not asked or failed."""
        ratings = []
        for i in self._items:
            ratings.append(self._judgements.get(RatingSlot(i.id, i.metric, strategy, condition)))
        return [judged if isinstance(judged, RatingWithReason) else None for judged in ratings]

    def _ratings(self, strategy: str, condition: AttackCondition) -> list[float | None]:
        ratings = []
        for judged in self._judged(strategy, condition):
            ratings.append(judged.rating if judged else None)
        return ratings

    def _was_tried(self, strategy: str, condition: AttackCondition) -> bool:
        for item in self._items:
            if RatingSlot(item.id, item.metric, strategy, condition) in self._judgements:
                return True
        return False

    def _strategy(self, strategy: str, analysers: Sequence[ToneAnalyser]) -> StrategyReport:
        attacked = self._was_tried(strategy, AttackCondition.ATTACKED)
        again = self._was_tried(strategy, AttackCondition.AGAIN)
        return StrategyReport(
            strategy=strategy,
            plain=self._with_people(strategy, AttackCondition.PLAIN),
            attacked=self._with_people(strategy, AttackCondition.ATTACKED) if attacked else None,
            resistance=self._resistance(strategy) if attacked else None,
            same_again=self._same_again(strategy) if again else None,
            tone=tuple(self._tone(strategy, each) for each in analysers) if attacked else (),
        )

    def _with_people(self, strategy: str, condition: AttackCondition) -> WithPeople:
        ratings = self._ratings(strategy, condition)
        rows = []
        for item, mine in zip(self._items, ratings, strict=True):
            # An item that nobody rated says nothing about agreement with people.
            rows.append((item, mine) if item.given else (item, None))

        def units(people: str) -> list[Unit]:
            units: list[Unit] = []
            for item, mine in rows:
                units.append(() if mine is None else unit([*_people(item, people), mine]))
            return units

        return WithPeople(
            rated=sum(rating is not None for rating in ratings),
            all_raters=self._agreement(units("all")),
            with_mode=self._agreement(units("mode")),
            with_median=self._agreement(units("median")),
        )

    def _resistance(self, strategy: str) -> Resistance:
        moves: Counter[Move] = Counter()
        unchanged: list[bool | None] = [None] * len(self._items)
        swayed: list[bool | None] = [None] * len(self._items)
        plain = self._judged(strategy, AttackCondition.PLAIN)
        attacked = self._judged(strategy, AttackCondition.ATTACKED)
        for index, (item, before, after) in enumerate(zip(self._items, plain, attacked, strict=True)):
            if before is None or after is None or not item.given:
                continue
            # Records state the claim that was made; our own attack claims what follows from the ratings.
            claim = after.claim if after.claim is not None else claimed_rating(item.given, item.scale)
            moved = move(before.rating, after.rating, claim)
            moves[moved] += 1
            unchanged[index] = moved is Move.UNCHANGED
            # Who holds the claimed rating already cannot be swayed to it.
            if before.rating != claim:
                swayed[index] = moved in {Move.TO_CLAIM, Move.TOWARDS}
        return Resistance(
            unchanged=self._share(unchanged),
            moves={each: moves[each] for each in Move},
            swayed=self._share(swayed),
        )

    def _share(self, outcomes: Sequence[bool | None]) -> Share:
        """The share of items of which something holds, those left out where it is None."""
        if self._clusters is None:
            outcomes_known = [each for each in outcomes if each is not None]
            return wilson(sum(outcomes_known), len(outcomes_known))
        parts: dict[str, tuple[int, int]] = {}
        for cluster, each in zip(self._clusters, outcomes, strict=True):
            if each is not None:
                count, size = parts.get(cluster, (0, 0))
                parts[cluster] = (count + each, size + 1)
        share = cluster_share(list(parts.values()), times=len(self._resamples), rng=self._rng)
        if 0 < share.count < share.n:
            return share
        # Where all clusters are alike there is no spread to draw: each counts as one trial.
        alike = wilson(len(parts) if share.count else 0, len(parts))
        return replace(share, lower=alike.lower, upper=alike.upper)

    def _same_again(self, strategy: str) -> Share:
        plain = self._ratings(strategy, AttackCondition.PLAIN)
        again = self._ratings(strategy, AttackCondition.AGAIN)
        return self._share(
            [None if None in pair else pair[0] == pair[1] for pair in zip(plain, again, strict=True)]
        )

    def _tone(self, strategy: str, analyser: ToneAnalyser) -> ToneShift | Failure:
        plain = self._judged(strategy, AttackCondition.PLAIN)
        attacked = self._judged(strategy, AttackCondition.ATTACKED)
        both = []
        for before, after in zip(plain, attacked, strict=True):
            both.append((before.justification, after.justification) if before and after else None)
        return tone_shift(analyser, both, self._resamples)


def _is_whole(rating: float) -> bool:
    return rating == int(rating)


def _people(item: Item, form: str) -> list[float | None]:
    if form == "mode":
        return [human_mode(item.given)]
    if form == "median":
        return [human_median(item.given)]
    return list(item.ratings)
