"""Several calls for one rating, and the sides shown the other way round."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge import JudgedQuality, JudgeRater
from evenkeel.metrics.judge.prompts import FAITHFULNESS, SIMILARITY
from evenkeel.metrics.judge.raters import Vote, decide, relabelled, swaps
from evenkeel.metrics.judge.reply import Reply, Ruling
from tests.cases import cases
from tests.llm.scripted import Canned, MemoryCache, Scripted, said
from tests.metrics.judge.scripted_judge import PAIR, error, rated, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.metrics.judge import Judge
    from evenkeel.metrics.protocol import Rating

CASES = cases(__file__)


def by_seed(*canned: Canned) -> Callable[[dict[str, Any]], Canned]:
    """The vote with this number gets this answer, in whatever order the calls arrive."""
    return lambda request: canned[request["seed"] - 7]


def rate(*canned: Canned, votes: int = 3, **options: Any) -> tuple[Rating, int]:
    async def scene(judge: Judge, scripted: Scripted) -> tuple[Rating, int]:
        return await JudgeRater(judge, votes=votes, **options).rate(PAIR), len(scripted.asked)

    result: tuple[Rating, int] = run(by_seed(*canned), scene, price=lambda _m, i, o, *_: i + o)
    return result


@pytest.mark.parametrize("case", CASES["votes"], ids=lambda case: str(case["said"]))
def test_votes_are_decided_by_their_median(case: dict[str, Any]) -> None:
    """Votes that cannot matter are not asked; all others are paid for, and too few are a failure."""
    faults = {"down": error(500), "prose": said("no idea")}
    cast = [faults.get(one) or rated(one, f"vote {number}") for number, one in enumerate(case["said"])]
    rating, calls = rate(*cast, votes=len(cast))
    assert (calls, rating.tokens, rating.cost_usd) == (case["calls"], case["tokens"], case["tokens"])
    if isinstance(rating.outcome, Failure):
        assert (rating.outcome.metric, rating.outcome.reason) == ("similarity", case["reason"])
        assert rating.outcome.detail.startswith(case.get("detail", ""))
    else:
        assert (rating.outcome, rating.explanation) == (case["outcome"], f"vote {case['told_by']}")
    counts = {name: case[name] for name in ("votes", "votes_failed", "votes_spread")}
    assert rating.details == counts


def test_one_vote_says_nothing_about_votes() -> None:
    """By default there is one call, and neither its details nor its failure speak of voting."""
    rating, calls = rate(rated(2), votes=1)
    assert (rating.details, calls) == ({}, 1)
    rating, _ = rate(error(500), votes=1)
    assert isinstance(rating.outcome, Failure)
    assert "votes" not in rating.outcome.detail


def test_quality_is_voted_on_as_well() -> None:
    """2, 3 and 3 for one answer make 3."""

    async def scene(judge: Judge, _: Scripted) -> Rating:
        return await JudgedQuality(judge, FAITHFULNESS, votes=3).rate(Answer("a"), "request")

    rating = run(by_seed(rated(2), rated(3), rated(3)), scene)
    assert (rating.outcome, rating.details["votes_spread"]) == (3, 1)
    assert rating.prompt_version == "faithfulness@2"


def test_without_seeds_the_votes_are_asked_all_the_same() -> None:
    """An endpoint that rejects seeds gets as many calls, without them."""

    def script(request: dict[str, Any]) -> Canned:
        return error(400, "unknown field seed") if "seed" in request else rated(2)

    async def scene(judge: Judge, scripted: Scripted) -> tuple[Any, int]:
        rating = await JudgeRater(judge, votes=3).rate(PAIR)
        return rating.outcome, sum("seed" not in request for request in scripted.asked)

    assert run(script, scene, concurrency=1) == (2, 2)


@pytest.mark.parametrize("votes", [0, 2, -1])
def test_an_even_number_of_votes_is_refused(votes: int) -> None:
    """It could not decide; a share beyond 1 is refused likewise."""
    judge: Any = object()
    with pytest.raises(ValueError, match="odd"):
        JudgeRater(judge, votes=votes)
    with pytest.raises(ValueError, match="odd"):
        JudgedQuality(judge, FAITHFULNESS, votes=votes)
    with pytest.raises(ValueError, match="swap_share"):
        JudgeRater(judge, swap_share=1.5)


outcomes = st.one_of(
    st.integers(1, 3).map(lambda rating: Ruling(rating, str(rating))),
    st.sampled_from(["timeout", "empty"]).map(lambda reason: Failure("similarity", 1, reason)),
)


@given(st.sampled_from([1, 3, 5]).flatmap(lambda n: st.lists(outcomes, min_size=n, max_size=n)))
def test_a_decided_rating_was_given_by_a_vote(cast: list[Ruling | Failure]) -> None:
    """The outcome is one of the ratings, with as many above as below it at most, or it is a failure."""
    rating = decide([Vote(Reply(outcome)) for outcome in cast], len(cast), SIMILARITY)
    given_ratings = [one.rating for one in cast if isinstance(one, Ruling)]
    if isinstance(rating.outcome, Failure):
        assert len(given_ratings) <= len(cast) // 2 or rating.outcome.reason == "split_votes"
        assert rating.explanation == ""
        return
    assert rating.outcome in given_ratings
    assert rating.explanation == str(rating.outcome)
    half = len(given_ratings) / 2
    assert sum(one < rating.outcome for one in given_ratings) < half
    assert sum(one > rating.outcome for one in given_ratings) < half


def sides(request: dict[str, Any]) -> str:
    """In which order the two texts were shown."""
    shown = request["messages"][1]["content"]
    return "as is" if shown.index(PAIR.reference.text) < shown.index(PAIR.candidate.text) else "swapped"


@pytest.mark.parametrize(
    ("share", "shown", "told", "swapped"),
    [
        (1.0, "swapped", "The candidate omits the time; the reference's text has it.", 1.0),
        # So small a share that this pair is left alone.
        (1e-9, "as is", "The reference omits the time; the candidate's text has it.", 0.0),
    ],
)
def test_swapped_sides_are_shown_and_told_back(share: float, shown: str, told: str, swapped: float) -> None:
    """The candidate is shown as the reference, and the explanation is turned round; both are noted."""

    async def scene(judge: Judge, scripted: Scripted) -> tuple[Rating, str]:
        return await JudgeRater(judge, swap_share=share).rate(PAIR), sides(scripted.asked[0])

    said = "The reference omits the time; the candidate's text has it."
    rating, order = run([rated(2, said)], scene)
    assert (order, rating.explanation, rating.details) == (shown, told, {"swapped": swapped})


def test_votes_are_swapped_each_for_itself() -> None:
    """Of many calls on one pair, about the share is swapped, always the same ones."""
    texts = ("The VPN is down.", "The VPN does not work.")
    chosen = [swaps(texts, vote, 0.3) for vote in range(2000)]
    assert chosen == [swaps(texts, vote, 0.3) for vote in range(2000)]
    # 600 expected, standard deviation 20.5.
    assert 520 < sum(chosen) < 680


def test_a_fixed_choice_stays_on_every_platform() -> None:
    """The choice depends on the texts' bytes alone; pinned."""
    chosen = [swaps((f"a{number}", "b \ud800 \u00e9"), 0, 0.5) for number in range(12)]
    assert "".join(str(int(one)) for one in chosen) == "000010011001"


@given(st.text(), st.text(), st.integers(0, 9))
def test_a_pair_turned_round_on_purpose_is_really_turned_round(one: str, two: str, vote: int) -> None:
    """Both orders of two texts get the same decision, so that asking for the other order gives it."""
    assert swaps((one, two), vote, 0.5) == swaps((two, one), vote, 0.5)
    assert swaps((one, two), vote, 1.0)
    assert not swaps((one, two), vote, 0.0)


@pytest.mark.parametrize(("said", "meant"), CASES["an explanation of swapped sides is turned round"])
def test_an_explanation_of_swapped_sides_is_turned_round(said: str, meant: str) -> None:
    """The names of the sides change places; quotations and other uses of the words stay."""
    assert relabelled(said) == meant


def test_a_remembered_swapped_ruling_is_turned_round_again() -> None:
    """The cache holds what the judge said of the sides as shown; the rating tells it of the pair as it is."""

    async def scene(judge: Judge, scripted: Scripted) -> tuple[Rating, Rating, int]:
        rater = JudgeRater(judge, swap_share=1.0)
        return await rater.rate(PAIR), await rater.rate(PAIR), len(scripted.asked)

    first, second, calls = run([rated(2, "The reference is shorter.")], scene, cache=MemoryCache())
    assert calls == 1
    assert first.explanation == second.explanation == "The candidate is shorter."
    assert (first.details, second.details) == ({"swapped": 1.0}, {"swapped": 1.0, "cached": 1.0})


def test_swapped_votes_are_a_share() -> None:
    """With half of the calls swapped, `swapped` says how many of this pair's were."""

    async def scene(judge: Judge, scripted: Scripted) -> tuple[Rating, list[str]]:
        rating = await JudgeRater(judge, votes=5, swap_share=0.5).rate(PAIR)
        return rating, [sides(request) for request in scripted.asked]

    def alternately(request: dict[str, Any]) -> Canned:
        return said(json.dumps({"rating": 2 + request["seed"] % 2}))

    rating, shown = run(alternately, scene)
    assert len(shown) == 5
    assert rating.details["swapped"] == shown.count("swapped") / 5
    assert 0 < rating.details["swapped"] < 1
