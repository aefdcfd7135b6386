"""Agreement of the judge with people on the same answers, and its Prometheus collector."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.monitor.export.prometheus import ListedCollector
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    from evenkeel.core.verdict import Verdict
    from evenkeel.stores.labels import DecidedBy, Label, LabelStore


# Rating of answers with the same content.
_SAME = 3
Source = Literal["drawn", "chosen"]
"""Origin of the labelled verdicts: drawn at random, or chosen by people, mostly because they looked wrong.
Only for drawn verdicts does the agreement tell how often the judge is right."""


@dataclass(frozen=True, slots=True)
class Share:
    """Share in [0, 1] with its interval; None if nothing was counted."""

    count: int
    n: int
    value: float | None
    lower: float | None
    upper: float | None


# Confidence of an interval of one share.
_CONFIDENCE: Final = 0.95


def wilson(count: int, n: int) -> Share:
    """Return the share `count / n` with its Wilson score interval.

    Returns: 0 ≤ lower ≤ value ≤ upper ≤ 1; all None for n = 0.
    Source: Wilson 1927.
    """
    if n == 0:
        return Share(0, 0, None, None, None)
    z = NormalDist().inv_cdf(0.5 + _CONFIDENCE / 2)
    value = count / n
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * sqrt(value * (1 - value) / n + z * z / (4 * n * n))
    # At the ends the formula gives 0 and 1 but for rounding.
    lower = 0.0 if count == 0 else max(0.0, centre - reach)
    upper = 1.0 if count == n else min(1.0, centre + reach)
    return Share(count, n, value, lower, upper)


@dataclass(frozen=True, slots=True)
class HumanAgreement:
    """Agreement of people with one judge over its labelled verdicts."""

    judge: str
    """Model of the judge; "" without a judge."""
    decided_by: DecidedBy
    source: Source
    n: int
    """Verdicts with a rating and with a majority among the people who rated them; at least 1."""
    agreed: int
    split: int
    """Verdicts left out because people are evenly split."""
    lower: float
    """Ends of the 95 % Wilson interval."""
    upper: float
    too_high: int
    """Disagreements in which the rating says "more alike" than people do."""

    @property
    def value(self) -> float:
        """Share of the verdicts whose rating is that of most people, in [0, 1]."""
        return self.agreed / self.n


def human_agreement(labels: Iterable[Label]) -> tuple[HumanAgreement, ...]:
    """Return the agreement by judge, by who decided, and by how the verdicts were chosen, in that order.

    Every verdict weighs the same, however many people rated it. A verdict counts as drawn if any of its
    labels was given blind. Verdicts without a rating, labels without one and withdrawn labels are left out.

    Source: Wilson 1927 for the interval.
    """
    by_verdict: dict[str, list[Label]] = {}
    for label in labels:
        if label.agrees is not None and label.withdrawn_at is None:
            by_verdict.setdefault(label.verdict_id, []).append(label)
    groups: dict[tuple[str, DecidedBy, Source], list[tuple[int, int | None]]] = {}
    for labels_of_verdict in by_verdict.values():
        first = labels_of_verdict[0]
        # Whoever saw the judge's rating first tends to agree with it: blind labels decide if there are any.
        blind = []
        for label in labels_of_verdict:
            if label.drawn:
                blind.append(label)
        source: Source = "drawn" if blind else "chosen"
        assert first.judge_rating is not None
        pair = (first.judge_rating, _most([label.rating for label in blind or labels_of_verdict]))
        groups.setdefault((first.judge_model, first.decided_by, source), []).append(pair)
    agreements = (_of_group(*key, pairs) for key, pairs in sorted(groups.items()))
    return tuple(agreement for agreement in agreements if agreement is not None)


def people_say(labels: Iterable[Label]) -> int | None:
    """Return the rating that most people gave a verdict; None if nobody rated it or they are split."""
    ratings = []
    for label in labels:
        if label.rating is not None and label.withdrawn_at is None:
            ratings.append(label.rating)
    return _most(ratings) if ratings else None


@dataclass(frozen=True, slots=True)
class DrawnLabels:
    """Labels of verdicts that were drawn at random: who was rated, and what that says of the judge."""

    shifted: Share
    """Share that people rated of the drawn verdicts that the judge called shifted."""
    unshifted: Share
    """The same of those that it did not."""
    depends: bool
    """True if people rate the one kind more often than the other, beyond chance: whoever skips where the
    judge seems right makes it look worse, and agreement then says little."""
    judged: Share
    """Share of the drawn verdicts that the judge called shifted."""
    corrected: Share
    """The share that people would call shifted, each kind weighed as it was drawn, whoever answered; its
    value is None unless both kinds were rated. `count` and `n` are of the ratings that it rests on."""


def drawn_labels(labels: Iterable[Label], drawn: Iterable[Verdict]) -> DrawnLabels:
    """Compare what the judge and people say of verdicts that were drawn at random.

    Args:
        labels: Labels of any verdicts; only those that were given blind count.
        drawn: Verdicts that were drawn, whether anybody rated them or not.

    Source: post-stratification by the judge's finding; Wilson 1927 for the intervals, of which the ends are
    combined so that the corrected one holds whenever both do.
    """
    by_verdict: dict[str, list[Label]] = {}
    for label in labels:
        if label.drawn:
            by_verdict.setdefault(label.verdict_id, []).append(label)
    asked: Counter[bool] = Counter()
    rated: Counter[bool] = Counter()
    moved: Counter[bool] = Counter()
    for verdict in drawn:
        if verdict.shifted is None:
            continue
        asked[verdict.shifted] += 1
        people_rating = people_say(by_verdict.get(verdict.id, ()))
        if people_rating is not None:
            rated[verdict.shifted] += 1
            moved[verdict.shifted] += people_rating < _SAME
    shifted, other = (wilson(rated[kind], asked[kind]) for kind in (True, False))
    judged = wilson(asked[True], asked.total())
    return DrawnLabels(
        shifted,
        other,
        _apart(shifted, other),
        judged,
        _corrected(judged, wilson(moved[True], rated[True]), wilson(moved[False], rated[False])),
    )


def _apart(first: Share, other: Share) -> bool:
    if first.lower is None or first.upper is None or other.lower is None or other.upper is None:
        return False
    return first.lower > other.upper or other.lower > first.upper


def _corrected(judged: Share, shifted: Share, other: Share) -> Share:
    """Return people's share of shifted answers, from that among each kind of verdict of the judge."""
    count, n = shifted.count + other.count, shifted.n + other.n
    if judged.value is None or shifted.value is None or other.value is None:
        return Share(count, n, None, None, None)
    assert shifted.lower is not None
    assert shifted.upper is not None
    assert other.lower is not None
    assert other.upper is not None
    part = judged.value
    return Share(
        count,
        n,
        part * shifted.value + (1 - part) * other.value,
        part * shifted.lower + (1 - part) * other.lower,
        part * shifted.upper + (1 - part) * other.upper,
    )


def _of_group(
    judge: str, decided_by: DecidedBy, source: Source, pairs: Sequence[tuple[int, int | None]]
) -> HumanAgreement | None:
    settled = []
    for rating, people in pairs:
        if people is not None:
            settled.append((rating, people))
    if not settled:
        return None
    agreed = sum(rating == people for rating, people in settled)
    share = wilson(agreed, len(settled))
    assert share.lower is not None
    assert share.upper is not None
    too_high = sum(rating > people for rating, people in settled)
    return HumanAgreement(
        judge,
        decided_by,
        source,
        len(settled),
        agreed,
        len(pairs) - len(settled),
        share.lower,
        share.upper,
        too_high,
    )


def _most(ratings: Sequence[int | None]) -> int | None:
    counted = Counter(ratings).most_common(2)
    tied = len(counted) > 1 and counted[0][1] == counted[1][1]
    return None if tied else counted[0][0]


class LabelCollector(ListedCollector):
    """Collector of `evenkeel_judge_human_agreement`, with its interval and the number of verdicts.

    Labels are read anew only when somebody has said something since.
    """

    block = "agreement"

    def __init__(self, store: LabelStore | None = None) -> None:
        self._labels = CountedLabels(store)

    def fill(self, *metrics: GaugeMetricFamily | CounterMetricFamily) -> None:
        """Fill the metrics as `ListedCollector.fill` describes."""
        for agreement in human_agreement(self._labels()):
            labels = [agreement.judge, agreement.decided_by, agreement.source]
            for metric, value in zip(
                metrics, (agreement.value, agreement.lower, agreement.upper, agreement.n), strict=True
            ):
                metric.add_metric(labels, value)
