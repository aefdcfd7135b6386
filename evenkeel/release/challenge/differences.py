"""Differences of one pair: how the candidate's answer compares beyond the incumbent's answer, asked again.

A pair is one request of ordinary traffic with three answers: the one that was served, the incumbent's answer
to the same request asked again, and the candidate's. The second one is asked as the candidate's is: in the
background, by evenkeel, some seconds later. So what chance and the way of asking do to an answer is the same
for both, and a difference between them is 0 on average if the two models are alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from evenkeel.core.challenge import ChallengeAnswer, ChallengePair

SAME: int = 3
"""Rating of an answer with the same content."""
# Failures that come from evenkeel's own keys and limits, and would count for or against a model.
_NOT_THE_MODELS: Final = frozenset(("unauthorized", "rate_limited", "budget", "previous_response_unknown"))


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
    if is_unusable(answer) or rating == SAME:
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
    return float(pair.rating < SAME) - float(pair.control_rating < SAME)


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
