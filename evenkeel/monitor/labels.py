"""Agreement of the judge with people on the same answers, and its Prometheus collector."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from evenkeel.monitor.export.prometheus import ListedCollector
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    from evenkeel.stores.labels import DecidedBy, Label, LabelStore


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


def wilson(count: int, n: int, *, confidence: float = 0.95) -> Share:
    """Return the share `count / n` with its Wilson score interval.

    Returns: 0 ≤ lower ≤ value ≤ upper ≤ 1; all None for n = 0.
    Source: Wilson 1927.
    """
    if n == 0:
        return Share(0, 0, None, None, None)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
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
    for said in by_verdict.values():
        first = said[0]
        blind = [label for label in said if label.drawn]
        source: Source = "drawn" if blind else "chosen"
        assert first.judge_rating is not None
        pair = (first.judge_rating, _most([label.rating for label in blind or said]))
        groups.setdefault((first.judge_model, first.decided_by, source), []).append(pair)
    found = (_of_group(*key, pairs) for key, pairs in sorted(groups.items()))
    return tuple(one for one in found if one is not None)


def people_say(labels: Iterable[Label]) -> int | None:
    """Return the rating that most people gave a verdict; None if nobody rated it or they are split."""
    given = [label.rating for label in labels if label.rating is not None and label.withdrawn_at is None]
    return _most(given) if given else None


def _of_group(
    judge: str, decided_by: DecidedBy, source: Source, pairs: Sequence[tuple[int, int | None]]
) -> HumanAgreement | None:
    settled = [(rating, people) for rating, people in pairs if people is not None]
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
    """Return the most frequent rating; None if two are equally frequent."""
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
        for one in human_agreement(self._labels()):
            labels = [one.judge, one.decided_by, one.source]
            for metric, value in zip(metrics, (one.value, one.lower, one.upper, one.n), strict=True):
                metric.add_metric(labels, value)
