"""What the simulated model says."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulate import make_case, summary_prompt
from evenkeel.simulate.model import case_answers, generic_answers
from evenkeel.simulate.recognition import Details, SideDetails, read_details

SEEDS = st.integers(min_value=0, max_value=2**63)
WORDS = re.compile(r"[a-z]{4,}")


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
def test_good_and_different_use_the_words_of_the_prompt(seed):
    """Nothing in the two sound answers comes from elsewhere, headings included."""
    case = make_case(seed)
    said = case_answers(case.topic, case.details)
    prompt = set(WORDS.findall(summary_prompt(case).lower()))
    for text in (said.good, said.different):
        spoken = set(WORDS.findall(text.lower()))
        assert len(spoken - prompt) <= 1, spoken - prompt


@given(SEEDS)
def test_worse_claims_what_the_case_does_not_hold(seed):
    """The worse answer quotes none of the case's identifiers and two numbers that are not in it."""
    case = make_case(seed)
    said = identifiers(case_answers(case.topic, case.details).worse)
    assert len(said) == 2
    assert not said & identifiers(case.text)


@given(SEEDS)
def test_answers_are_far_apart(seed):
    """No two of the three answers have half of their words in a common order."""
    case = make_case(seed)
    said = case_answers(case.topic, case.details)
    texts = [text.lower().split() for text in (said.good, said.worse, said.different)]
    for left, right in ((0, 1), (0, 2), (1, 2)):
        assert SequenceMatcher(None, texts[left], texts[right], autojunk=False).ratio() < 0.5


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


def test_long_sentences_are_cut():
    """A quotation ends after forty words."""
    said = generic_answers("word " * 1000)
    assert len(said.good.split()) == 42


def test_details_are_those_of_the_prompt():
    """A person's own ticket on a known topic is answered with the identifiers it has."""
    case = make_case(0)
    text = f"{'. '.join(case.topic.first)}. It is INC-777 on host BER-GW-01."
    said = case_answers(case.topic, read_details(text))
    assert identifiers(said.good) == {"INC-777", "BER-GW-01"}
