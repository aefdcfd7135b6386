"""What the simulated model says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulate import make_case
from evenkeel.simulate.model import case_answers, generic_answers
from evenkeel.simulate.recognition import Details, SideDetails

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




def test_case_without_identifiers():
    """Identifiers that a prompt lacks are left out without a trace."""
    nothing = SideDetails("", "", "", "", "", "")
    topic = make_case(0).topic
    said = case_answers(topic, Details("", "", "", nothing, nothing))
    assert said.good == (
        f"Main problem: {topic.first.problem}.\nKey events: {topic.first.event}.\n"
        f"Resolution: {topic.first.fix}."
    )
    clauses = [clause[0].upper() + clause[1:] for clause in topic.second]
    assert said.different == ". ".join(clauses) + "."


@given(st.text(max_size=400))
def test_generic_answers_fit_any_text(text):
    """Whatever is typed gets three answers, none empty and no two alike."""
    said = generic_answers(text)
    assert all((said.good.strip(), said.worse.strip(), said.different.strip()))
    assert len({said.good, said.worse, said.different}) == 3


@pytest.mark.parametrize(
    ("text", "good", "different"),
    [
        ("hello", "You wrote: hello.", "In its own words, backwards, the request is: hello."),
        (
            "What is up?  I do not know.\nTell me more",
            "You wrote: What is up.",
            "Your text of 10 words ends like this: Tell me more.",
        ),
    ],
)
def test_generic_answers_by_hand(text, good, different):
    """The good answer quotes the beginning of a prompt, the different one its end."""
    said = generic_answers(text)
    assert (said.good, said.different) == (good, different)




