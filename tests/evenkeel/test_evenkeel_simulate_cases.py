"""The catalogue, the cases made from it, and what is read back out of a prompt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulate import make_case, summary_prompt
from evenkeel.simulate.recognition import Details, SideDetails, read_details
from evenkeel.simulate.topics import TOPICS

SEEDS = st.integers(min_value=0, max_value=2**63)






def test_cases_differ_and_cover_the_catalogue():
    """A few hundred seeds give as many texts and every topic."""
    cases = [make_case(seed) for seed in range(400)]
    assert len({case.text for case in cases}) == 400
    assert {case.topic.name for case in cases} == {topic.name for topic in TOPICS}


@given(SEEDS)
def test_case_details_are_read_back(seed):
    """What a case was made from is what its prompt is read as."""
    case = make_case(seed)
    assert read_details(summary_prompt(case)) == case.details


@given(SEEDS, st.randoms(use_true_random=False))
def test_details_do_not_depend_on_order(seed, rng):
    """Shuffling the sentences of a case leaves its details as they are."""
    case = make_case(seed)
    sentences = case.text.replace("\n\n", " ").split(". ")
    rng.shuffle(sentences)
    assert read_details(". ".join(sentences)) == case.details




def test_details_by_shape():
    """Each kind is told by its shape; numbers are ordered by value and strangers are no one's."""
    text = (
        "INC-4711 CHG-12345 KB4000001; MUC-GW-02 and BER-DB-11 on 10.0.1 or 9.12.3, 0x80FF00AA once, "
        "9 people, later 120, 2026-02-03 at 17:05; not these: build4 3rd a1b2 7-up."
    )
    assert read_details(text) == Details(
        ticket="INC-4711",
        change="CHG-12345",
        article="KB4000001",
        first=SideDetails("BER-DB-11", "9.12.3", "0x80FF00AA", "17:05", "9", "2026-02-03"),
        second=SideDetails("MUC-GW-02", "10.0.1", "", "", "120", ""),
    )






