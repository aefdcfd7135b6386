"""Figures of a challenger: everything that its pairs say about the candidate beside the incumbent.

A pair is one request of ordinary traffic with three answers: the one that was served, the incumbent's answer
to the same request asked again, and the candidate's. The second one is asked as the candidate's is: in the
background, by evenkeel, some seconds later. So what chance and the way of asking do to an answer is the same
for both, and a difference between them is 0 on average if the two models are alike.

Every figure is a mean of bounded differences, a pair giving one, with ends that hold at any time of looking.
It is assumed that pairs are independent given the traffic. Limits, errors and measured delays:
`docs/challenger.md`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.cells import Estimate
from evenkeel.monitor.detect.decision import SwitchMeasure, rated_mean, smaller
from evenkeel.release.challenge.verdict import (
    ERROR_RATE,
    FRAGILE,
    UNUSABLE,
    WORSE,
    decided,
    watched_segments,
    whole_rates,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from evenkeel.core.challenge import Challenge, ChallengeAnswer, ChallengePair
    from evenkeel.release.challenge.verdict import ChallengeDecision, SegmentFigures

DIFFERS: Final = "differs"
MEASURES: Final = {
    WORSE: "worse minus better answers (below 0 is better), beyond the incumbent asked again",
    FRAGILE: (
        "answers moved by the same rewordings, with or without noise, whichever is less: candidate minus "
        "incumbent"
    ),
    UNUSABLE: "failed, empty, or without the form asked for, beyond the incumbent asked again",
    DIFFERS: "other content than the served answer, beyond noise",
    "tool_choice": "calls of other tools, beyond noise",
    "slower": "pairs in which it took longer than the incumbent asked again",
    "longer": "pairs in which its answer is longer",
}
"""Everything that is measured, and what it counts. The first three decide."""
# Probability with which a judge is ever said falsely to prefer longer, or shorter, answers.
_LENGTH_ALPHA: Final = 0.01
# Ratio of mean lengths, or its inverse, up to which a judge's preference for length does no harm.
_LENGTH_RATIO: Final = 1.1
_HOUR_S: Final = 3_600.0
_DAY_S: Final = 86_400.0
# Days ahead beyond which a date would be no help.
_MOST_DAYS: Final = 365
# A judge without a preference for length prefers the longer answer half of the time.
_NO_BIAS: Final = 0.5
# Pairs labelled by people before their labels are compared with the judge.
_FEWEST_LABELS: Final = 10
# Rating of an answer with the same content.
_SAME: Final = 3
# Failures that come from evenkeel's own keys and limits, and would count for or against a model.
_NOT_THE_MODELS: Final = frozenset(("unauthorized", "rate_limited", "budget", "previous_response_unknown"))


@dataclass(frozen=True, slots=True)
class PlaceCounts:
    """Pairs in which an answer is worse than the served one, as good, and better."""

    worse: int
    as_good: int
    better: int

    @property
    def n(self) -> int:
        """Number of judged pairs."""
        return self.worse + self.as_good + self.better


@dataclass(frozen=True, slots=True)
class SideFigures:
    """Answers of one side: the incumbent's asked again, or the candidate's."""

    answers: int
    failures: Mapping[str, int]
    """Requests without an answer, by reason."""
    invalid: int
    """Answers that ignore the format or the language asked for."""
    refusals: int
    empty: int
    characters: float | None
    """Mean number of characters; None, here and below, where nothing is known."""
    first_s: float | None
    """Median time to the first token, of the answers that were streamed."""
    total_s: float | None
    """Median time of the whole answer."""
    prompt_tokens: float | None
    """Mean number of tokens of the prompt, those from a cache among them."""
    completion_tokens: float | None
    dollars: float | None
    """Mean price of a request, with what caches save."""
    places: PlaceCounts
    """Against the served answer; of the incumbent asked again they are the noise floor."""


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """Signs that the judge of the preferences can, or cannot, be trusted."""

    order_changed: Estimate | None
    """Share of the pairs asked in both orders where the preferred answer changed with the order."""
    prefers_longer: Estimate | None
    """Share of the incumbent's own pairs in which the longer answer was preferred; half without a bias."""
    prefers_a_length: bool
    """True if that is shown to be other than half while the two models' answers differ in length."""
    favours: Estimate | None
    """The judge's place of the candidate minus that of people, on the pairs with labels, in [−2, 2]."""


@dataclass(frozen=True, slots=True)
class ChallengeFigures:
    """Everything that is known about a candidate."""

    pairs: int
    measures: Mapping[str, Estimate | None]
    """Estimates by the names in `MEASURES`, candidate minus incumbent asked again."""
    again_side: SideFigures
    candidate_side: SideFigures
    requests_a_day: float | None
    """Requests of the route a day, by the pairs and the share that is asked; None before an hour has passed.
    Fewer than there are where the budget turned some away."""
    judge: JudgeFigures | None
    """None without a judge."""
    segments: tuple[SegmentFigures, ...]
    decision: ChallengeDecision
    spared_saved_dollars: float | None = None
    """Dollars that a request costs less outside the segment that must not switch; None without one, or
    without both prices."""
    settled_at: float | None = None
    """Unix time at about which the decision may be made, if pairs go on coming as they did; else None."""
    unrated: int = 0
    """Pairs that the judge could not rate: each end of the interval takes them for the worst."""
    left_out: int = 0
    """Pairs that count in nothing, because evenkeel's own keys or limits kept it from asking both models."""
    hindrances: Mapping[str, int] = field(default_factory=dict)
    """Reasons for these, such as "candidate unauthorized"."""

    @property
    def saved_dollars(self) -> float | None:
        """Return the dollars that a request costs less with the candidate; None without both prices."""
        return _saved(self.again_side, self.candidate_side)


def challenge_figures(
    challenge: Challenge, pairs: Sequence[ChallengePair], labels: Mapping[str, int] | None = None
) -> ChallengeFigures:
    """Return all figures of a challenger, and the decision.

    Args:
        challenge: Its definition, with the margins in points.
        pairs: Its pairs, oldest first. Without a judge's among them "may switch" is never said.
        labels: Places that people gave the candidate's answer against the served one, by exchange.
    """
    every, pairs = pairs, []
    reasons: Counter[str] = Counter()
    for pair in every:
        # A pair that evenkeel could not ask of both models says nothing about either.
        if reasons_of_pair := hindrances(pair):
            reasons.update(reasons_of_pair)
        else:
            pairs.append(pair)
    # Before the first pair nobody knows, and the page must not say that there is none.
    judge = not pairs or any(pair.judged for pair in pairs)
    alpha, beta = whole_rates(3)
    losses: list[tuple[ChallengePair, float | None]] = []
    beyond_noise: list[float | None] = []
    moved: list[float | None] = []
    for pair in pairs:
        loss, fragility = net_loss(pair), fragility_difference(pair)
        # Where there was no judge, what is not known is no failure of it.
        if pair.judged or loss is not None:
            losses.append((pair, loss))
        if fragility is not None or (pair.judged and pair.rewording is not None):
            beyond_noise.append(fragility.beyond_noise if fragility else None)
            moved.append(fragility.moved if fragility else None)
    # What decides nothing has intervals of its own, which take nothing from the decision's error.
    both = ERROR_RATE / 2
    measures = {
        WORSE: rated_mean((loss for _, loss in losses), high=2.0, alpha=alpha, beta=beta),
        FRAGILE: smaller(
            rated_mean(beyond_noise, high=2.0, alpha=alpha, beta=beta / 2),
            rated_mean(moved, alpha=alpha, beta=beta / 2),
        ),
        UNUSABLE: rated_mean(map(unusable_difference, pairs), alpha=alpha, beta=beta),
        DIFFERS: rated_mean(_known(content_difference, pairs), alpha=both),
        "tool_choice": rated_mean(_known(tool_difference, pairs), alpha=both),
        "slower": rated_mean(_known(is_slower, pairs), low=0.0, alpha=both),
        "longer": rated_mean(_known(is_longer, pairs), low=0.0, alpha=both),
    }
    segments = watched_segments(losses)
    again_side = _side([pair.again for pair in every], map(again_place, pairs))
    candidate_side = _side([pair.candidate for pair in every], map(candidate_place, pairs))
    trust = _judge_figures(pairs, labels or {}, again_side, candidate_side) if judge else None
    net = measures[WORSE]
    if net is not None and trust is not None and trust.favours is not None:
        favours = trust.favours
        # Where people show that the judge favours a side, or its liking for a length has to be corrected,
        # that is taken off with what is uncertain about it. Else labels would only widen the interval.
        if favours.lower > 0 or favours.upper < 0 or trust.prefers_a_length:
            net = _sum(net, favours)
    margin, most_fragile = challenge.worse / 100, challenge.fragile / 100
    decision = decided(
        [
            SwitchMeasure(WORSE, net, margin, margin),
            SwitchMeasure(FRAGILE, measures[FRAGILE], most_fragile, most_fragile),
            SwitchMeasure(UNUSABLE, measures[UNUSABLE], margin, margin),
        ],
        segments,
        len(pairs),
        judge=judge,
        length=trust is not None and trust.prefers_a_length and trust.favours is None,
    )
    pace = _pairs_a_day(every)
    return ChallengeFigures(
        pairs=len(pairs),
        measures=measures,
        again_side=again_side,
        candidate_side=candidate_side,
        requests_a_day=None if pace is None else pace / challenge.share,
        judge=trust,
        segments=segments,
        decision=decision,
        spared_saved_dollars=None if decision.may_for is None else _saved_outside(decision.may_for, every),
        settled_at=_settled_at(decision, every, pace),
        unrated=sum(loss is None for _, loss in losses),
        left_out=len(every) - len(pairs),
        hindrances=reasons,
    )


def _pairs_a_day(pairs: Sequence[ChallengePair]) -> float | None:
    """Return the pairs that come in a day; None before an hour has passed."""
    if not pairs:
        return None
    times = [pair.time for pair in pairs]
    span_s = max(times) - min(times)
    # The first minutes of a challenger say little about a day.
    return len(pairs) / span_s * _DAY_S if span_s >= _HOUR_S else None


def _settled_at(
    decision: ChallengeDecision, pairs: Sequence[ChallengePair], pairs_a_day: float | None
) -> float | None:
    if decision.more_pairs is None or pairs_a_day is None:
        return None
    days = decision.more_pairs / pairs_a_day
    return max(pair.time for pair in pairs) + days * _DAY_S if days <= _MOST_DAYS else None


def _saved(incumbent: SideFigures, candidate: SideFigures) -> float | None:
    if incumbent.dollars is None or candidate.dollars is None:
        return None
    return incumbent.dollars - candidate.dollars


def _saved_outside(segment: SegmentFigures, pairs: Iterable[ChallengePair]) -> float | None:
    """Return the dollars that a request outside a segment costs less with the candidate."""
    outside = []
    for pair in pairs:
        if not segment.holds(pair):
            outside.append(pair)
    return _saved(_side([pair.again for pair in outside]), _side([pair.candidate for pair in outside]))


def _known(
    difference: Callable[[ChallengePair], float | None], pairs: Iterable[ChallengePair]
) -> list[float]:
    values: list[float] = []
    for value in map(difference, pairs):
        if value is not None:
            values.append(value)
    return values


def _side(answers: Iterable[ChallengeAnswer], places: Iterable[int | None] = ()) -> SideFigures:
    made: list[ChallengeAnswer] = []
    failures: Counter[str] = Counter()
    for answer in answers:
        if answer.failure:
            failures[answer.failure] += 1
        else:
            made.append(answer)
    prices, counts = _values(made, "dollars"), Counter(places)
    return SideFigures(
        answers=len(made),
        # No counter: `asdict` would count its items.
        failures=dict(failures),
        invalid=len(made) - sum(map(bool, _values(made, "valid"))),
        refusals=sum(map(bool, _values(made, "refusal"))),
        empty=sum(map(bool, _values(made, "empty"))),
        characters=_mean(_values(made, "characters")),
        first_s=_median(_values(made, "first_s")),
        total_s=_median(_values(made, "total_s")),
        prompt_tokens=_mean(_values(made, "prompt_tokens")),
        completion_tokens=_mean(_values(made, "completion_tokens")),
        # A side is priced as a whole or not at all: the requests without a price may be the dear ones.
        dollars=_mean(prices) if len(prices) == len(made) else None,
        places=PlaceCounts(worse=counts[-1], as_good=counts[0], better=counts[1]),
    )


def _values(answers: Iterable[ChallengeAnswer], field_name: str) -> list[float]:
    """Return the values of a field, without those that are not known."""
    values = []
    for answer in answers:
        value = getattr(answer, field_name)
        if value is not None:
            values.append(value)
    return values


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _judge_figures(
    pairs: Sequence[ChallengePair],
    labels: Mapping[str, int],
    incumbent: SideFigures,
    candidate: SideFigures,
) -> JudgeFigures:
    prefers_longer = rated_mean(_known(longer_preferred, pairs), low=0.0, alpha=_LENGTH_ALPHA / 2)
    shown = prefers_longer is not None and (
        prefers_longer.lower > _NO_BIAS or prefers_longer.upper < _NO_BIAS
    )
    # Without answers both lengths are taken for one character, so nothing is said about them.
    ratio = (candidate.characters or 1) / (incumbent.characters or 1)
    other_length = not 1 / _LENGTH_RATIO <= ratio <= _LENGTH_RATIO
    labelled = []
    for pair in pairs:
        preference, label = candidate_place(pair), labels.get(pair.exchange)
        if preference is not None and label is not None:
            labelled.append(float(preference - label))
    return JudgeFigures(
        order_changed=rated_mean(_known(order_changed, pairs), low=0.0, alpha=ERROR_RATE / 2),
        prefers_longer=prefers_longer,
        prefers_a_length=shown and other_length,
        favours=(
            rated_mean(labelled, high=2.0, alpha=ERROR_RATE / 2) if len(labelled) >= _FEWEST_LABELS else None
        ),
    )


def _sum(first: Estimate, second: Estimate) -> Estimate:
    return Estimate(
        first.value + second.value, first.lower + second.lower, first.upper + second.upper, second.n
    )


def hindrances(pair: ChallengePair) -> tuple[str, ...]:
    """Return why evenkeel could not ask both models, such as "candidate unauthorized"; () if it could."""
    reasons = []
    for side, reason in (("incumbent", pair.again.failure), ("candidate", pair.candidate.failure)):
        if reason in _NOT_THE_MODELS:
            reasons.append(f"{side} {reason}")
    return tuple(reasons)


def is_unusable(answer: ChallengeAnswer) -> bool:
    """Return whether an answer is of no use: it failed, is empty, or ignores the form asked for."""
    return bool(answer.failure) or answer.empty or not answer.valid


def candidate_place(pair: ChallengePair) -> int | None:
    """Return the place of the candidate's answer against the served one: −1 worse, 0 as good, 1 better.

    Returns: None if nobody judged it.
    """
    return _place(pair.preference, pair.rating, pair.candidate, pair.served)


def again_place(pair: ChallengePair) -> int | None:
    """Return the same of the incumbent's second answer: the noise floor."""
    return _place(pair.control_preference, pair.control_rating, pair.again, pair.served)


def _place(
    preference: int | None, rating: int | None, answer: ChallengeAnswer, served: ChallengeAnswer
) -> int | None:
    if is_unusable(answer) != is_unusable(served):
        return -1 if is_unusable(answer) else 1
    if is_unusable(answer) or rating == _SAME:
        return 0
    return preference


def net_loss(pair: ChallengePair) -> float | None:
    """Return how much worse the candidate's answer is than the incumbent's second one, in [−2, 2]."""
    candidate, again = candidate_place(pair), again_place(pair)
    return None if candidate is None or again is None else float(again - candidate)


def content_difference(pair: ChallengePair) -> float | None:
    """Return 1 if only the candidate's content differs from the served answer's, −1 if only the other's."""
    if pair.rating is None or pair.control_rating is None:
        return None
    return float(pair.rating < _SAME) - float(pair.control_rating < _SAME)


def unusable_difference(pair: ChallengePair) -> float:
    """Return 1 if only the candidate's answer is unusable, −1 if only the incumbent's second one is."""
    return float(is_unusable(pair.candidate)) - float(is_unusable(pair.again))


def tool_difference(pair: ChallengePair) -> float | None:
    """Return 1 if only the candidate calls other tools than the served answer, −1 if only the other does.

    Returns: None for pairs in which nobody calls a tool, and for those with an answer that failed.
    """
    answers = (pair.served, pair.again, pair.candidate)
    if any(answer.failure for answer in answers) or not any(answer.tool_calls for answer in answers):
        return None
    other = pair.candidate.tool_calls != pair.served.tool_calls
    return float(other) - float(pair.again.tool_calls != pair.served.tool_calls)


def is_slower(pair: ChallengePair) -> bool | None:
    """Return whether the candidate took longer than the incumbent asked again; None if that is not known."""
    candidate, incumbent = pair.candidate, pair.again
    if candidate.failure or incumbent.failure or candidate.total_s is None or incumbent.total_s is None:
        return None
    return candidate.total_s > incumbent.total_s


def is_longer(pair: ChallengePair) -> bool | None:
    """Return whether the candidate's answer is longer than the incumbent's second one; None without both."""
    if pair.candidate.failure or pair.again.failure:
        return None
    return pair.candidate.characters > pair.again.characters


def order_changed(pair: ChallengePair) -> bool | None:
    """Return whether the judge preferred another answer in the other order; None if it saw one order."""
    return None if pair.both_orders is None else pair.both_orders[0] != pair.both_orders[1]


def longer_preferred(pair: ChallengePair) -> bool | None:
    """Return whether the longer of the incumbent's own answers won; None if neither did.

    The two answers come from one model, so neither is better on average; whoever prefers the longer one in
    most of them looks at length.
    """
    preference, served, again = pair.control_preference, pair.served.characters, pair.again.characters
    return (preference > 0) == (again > served) if preference and served != again else None


class FragilityDifference(NamedTuple):
    """Difference between how the same rewording moved the candidate and the incumbent.

    A rewording can show less where answers move anyway, so the steadier of two equally fragile models has
    more points above noise. It is more fragile only if its answers also move more often.
    """

    beyond_noise: float
    """Difference of the points above noise, in [−2, 2]."""
    moved: float
    """Difference of the moved answers, in [−1, 1]."""


def fragility_difference(pair: ChallengePair) -> FragilityDifference | None:
    """Return how much more the same rewording moved the candidate; None if that is not known."""
    made = pair.rewording
    if made is None or made.candidate_moved is None or made.incumbent_moved is None:
        return None
    if made.candidate_resend_moved is None or made.incumbent_resend_moved is None:
        return None
    moved = float(made.candidate_moved) - float(made.incumbent_moved)
    resend_moved = float(made.candidate_resend_moved) - float(made.incumbent_resend_moved)
    return FragilityDifference(moved - resend_moved, moved)
