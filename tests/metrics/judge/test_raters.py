"""Sides that are shown the other way round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.metrics.judge import JudgeRater
from evenkeel.metrics.judge.raters import relabelled, swaps
from tests.cases import cases
from tests.llm.scripted import MemoryCache
from tests.metrics.judge.scripted_judge import PAIR, rated, run

CASES = cases(__file__)


def test_a_share_outside_0_to_1_is_refused():
    judge = object()
    with pytest.raises(ValueError, match="swap_share"):
        JudgeRater(judge, swap_share=1.5)


def sides(request):
    """Order in which the two texts were shown."""
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
def test_swapped_sides_are_shown_and_told_back(share, shown, told, swapped):
    """The candidate is shown as the reference, and the explanation is turned round; both are noted."""

    async def scene(judge, scripted):
        return await JudgeRater(judge, swap_share=share).rate(PAIR), sides(scripted.asked[0])

    said = "The reference omits the time; the candidate's text has it."
    rating, order = run([rated(2, said)], scene)
    assert (order, rating.explanation, rating.details) == (shown, told, {"swapped": swapped})


def test_about_the_share_of_the_pairs_is_swapped():
    chosen = [swaps((f"answer {number}", "another"), 0.3) for number in range(2000)]
    assert chosen == [swaps((f"answer {number}", "another"), 0.3) for number in range(2000)]
    # 600 expected, standard deviation 20.5.
    assert 520 < sum(chosen) < 680


def test_a_fixed_choice_stays_on_every_platform():
    """The choice depends on the texts' bytes alone; pinned."""
    chosen = [swaps((f"a{number}", "b \ud800 \u00e9"), 0.5) for number in range(12)]
    assert "".join(str(int(swapped)) for swapped in chosen) == "100011001111"


@given(st.text(), st.text())
def test_a_pair_turned_round_on_purpose_is_really_turned_round(first, second):
    """Both orders of two texts get the same decision, so that asking for the other order gives it."""
    assert swaps((first, second), 0.5) == swaps((second, first), 0.5)
    assert swaps((first, second), 1.0)
    assert not swaps((first, second), 0.0)


@pytest.mark.parametrize(("said", "meant"), CASES["an explanation of swapped sides is turned round"])
def test_an_explanation_of_swapped_sides_is_turned_round(said, meant):
    """The names of the sides change places; quotations and other uses of the words stay."""
    assert relabelled(said) == meant


def test_a_remembered_swapped_ruling_is_turned_round_again():
    """The cache holds what the judge said of the sides as shown; the rating tells it of the pair as it is."""

    async def scene(judge, scripted):
        rater = JudgeRater(judge, swap_share=1.0)
        return await rater.rate(PAIR), await rater.rate(PAIR), len(scripted.asked)

    first, second, calls = run([rated(2, "The reference is shorter.")], scene, cache=MemoryCache())
    assert calls == 1
    assert first.explanation == second.explanation == "The candidate is shorter."
    assert (first.details, second.details) == ({"swapped": 1.0}, {"swapped": 1.0, "cached": 1.0})
