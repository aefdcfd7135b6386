"""The simulated model: the state an answer is in, what it says, and the closed form of what is planted."""

from __future__ import annotations

import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulate import Condition, Message, SimulatedModel, make_case, planted, summary_prompt
from evenkeel.simulate.model import case_answers, read

MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant", "tool"]), st.text(max_size=60)),
    max_size=4,
)


def prompt(number: int) -> tuple[Message, ...]:
    """A prompt unlike all others."""
    return (Message("user", f"prompt number {number}"),)


def share(count: int, total: int, expected: float) -> bool:
    """Whether a count is within four standard errors of its expectation."""
    return abs(count / total - expected) <= 4 * sqrt(expected * (1 - expected) / total)


@given(MESSAGES, st.floats(0, 1), st.floats(0, 1))
def test_without_noise_the_bytes_decide(messages, fragility, worse_share):
    """Equal prompts get equal answers, whatever the random generator says."""
    model = SimulatedModel(fragility, 0.0, worse_share)
    assert model.answer(messages, random.Random(1)) == model.answer(list(messages), random.Random(2))


def test_shares_of_conditions():
    """Over many prompts the three states occur as often as planted."""
    model, rng = SimulatedModel(fragility=0.2, noise=0.1, worse_share=0.3), random.Random(7)
    total = 20_000
    seen = [model.condition(prompt(number), rng) for number in range(total)]
    # G = .8 × .9 = .72, W = .3 × .28 = .084, D = .7 × .28 = .196
    assert share(seen.count(Condition.GOOD), total, 0.72)
    assert share(seen.count(Condition.WORSE), total, 0.084)
    assert share(seen.count(Condition.DIFFERENT), total, 0.196)


def test_noise_spares_fragile_prompts():
    """Resending a fragile prompt gives the same bad answer each time; a sound one shows the noise."""
    model = SimulatedModel(fragility=0.5, noise=0.5, worse_share=0.5)
    rng = random.Random(3)
    steady = 0
    for number in range(200):
        seen = {model.condition(prompt(number), rng) for _ in range(40)}
        assert len(seen) == 1 or Condition.GOOD in seen
        steady += len(seen) == 1
    assert share(steady, 200, 0.5)


def test_reading_prefers_the_user():
    """The user's words are read; a prompt of another role alone is read as a whole."""
    case = make_case(4)
    chat = [Message("system", "Mind INC-99999."), Message("user", summary_prompt(case))]
    assert read(chat).details == case.details
    assert read(chat).topic is case.topic
    assert read([Message("system", summary_prompt(case))]).topic is case.topic


def test_by_hand():
    """With f = .2, η = .1 and q = .5, G = .72 and W = D = .14."""
    truth = planted(0.2, 0.1, 0.5)
    # 1 − (.5184 + .0196 + .0196); 2 × .14 × .86
    assert truth.perturbed_content_delta == pytest.approx(0.4424)
    assert truth.perturbed_quality_change == pytest.approx(0.2408)
    assert truth.perturbed_quality_delta == pytest.approx(0.2408 / 0.4424)
    assert truth.perturbed_robustness == pytest.approx(0.7592)
    # .8 × (1 − (.81 + .0025 + .0025)); .8 × 2 × .05 × .95
    assert truth.baseline_content_delta == pytest.approx(0.148)
    assert truth.baseline_quality_change == pytest.approx(0.076)
    assert truth.baseline_robustness == pytest.approx(0.924)
    assert truth.excess == pytest.approx(0.2944)


@pytest.mark.parametrize(
    ("fragility", "noise", "worse_share"),
    [(0.2, 0.1, 0.5), (0.0, 0.08, 0.7), (0.35, 0.0, 0.25), (0.5, 0.3, 1.0)],
)
def test_model_obeys_the_closed_form(fragility, noise, worse_share):
    """Pairs drawn from the model move as often as the closed form says, within four standard errors."""
    truth = planted(fragility, noise, worse_share)
    model, rng = SimulatedModel(fragility, noise, worse_share), random.Random(11)
    total = 8_000
    counts = dict.fromkeys(("baseline", "perturbed", "baseline quality", "perturbed quality"), 0)
    for number in range(total):
        original = (Message("user", f"prompt {number}"),)
        variant = (Message("user", f"prmopt {number}"),)
        reference = model.condition(original, rng)
        for arm, messages in (("baseline", original), ("perturbed", variant)):
            candidate = model.condition(messages, rng)
            counts[arm] += candidate is not reference
            counts[f"{arm} quality"] += (candidate is Condition.WORSE) != (reference is Condition.WORSE)
    for arm, expected in (
        ("baseline", truth.baseline_content_delta),
        ("perturbed", truth.perturbed_content_delta),
        ("baseline quality", truth.baseline_quality_change),
        ("perturbed quality", truth.perturbed_quality_change),
    ):
        error = sqrt(expected * (1 - expected) / total)
        assert abs(counts[arm] / total - expected) <= 4 * error, arm


SEEDS = st.integers(min_value=0, max_value=2**63)


def identifiers(text: str) -> set[str]:
    """All that holds a digit, without the marks around it."""
    return {word.strip("(),.;:") for word in text.split() if any(letter.isdigit() for letter in word)}


@given(SEEDS)
def test_good_and_different_are_equally_faithful_and_complete(seed):
    """Both quote nine identifiers of the case, of which they share the ticket and the two dates."""
    case = make_case(seed)
    said = case_answers(case.topic, case.details)
    good, different, all_of_them = map(identifiers, (said.good, said.different, case.text))
    assert len(good) == len(different) == 9
    assert good | different == all_of_them
    shared = {case.details.ticket, case.details.first.date, case.details.second.date}
    assert good & different == shared


@given(SEEDS)
def test_worse_claims_what_the_case_does_not_hold(seed):
    """The worse answer quotes none of the case's identifiers and two numbers that are not in it."""
    case = make_case(seed)
    said = identifiers(case_answers(case.topic, case.details).worse)
    assert len(said) == 2
    assert not said & identifiers(case.text)
