"""Prompts of the simulated application: made from a catalogue of cases, and recognised again."""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulate import Condition, Message, TaskName, make_case, make_prompt, summary_prompt
from evenkeel.simulate.model import fill, read, say
from evenkeel.simulate.recognition import Details, SideDetails, TopicVote, read_details
from evenkeel.simulate.tasks import TASKS
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


VOTE = TopicVote()


def mistype(text: str, share: float, rng: random.Random) -> str:
    """Swap, drop, double or replace one letter in a share of all longer words."""

    def word(match: re.Match[str]) -> str:
        letters = match.group()
        if rng.random() >= share:
            return letters
        at = rng.randrange(1, len(letters) - 1)
        before, here, after = letters[:at], letters[at], letters[at + 1 :]
        return before + rng.choice((after[0] + here + after[1:], after, here + here + after, "q" + after))

    return re.sub(r"[A-Za-z]{4,}", word, text)


@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_cases_are_recognised_with_typing_errors(share):
    """Even with an error in every longer word, and in capitals, every case is recognised."""
    for seed in range(150):
        case = make_case(seed)
        text = mistype(summary_prompt(case), share, random.Random(seed))
        assert VOTE.recognise(text) is case.topic
        assert VOTE.recognise(text.upper()) is case.topic


@given(st.text(max_size=300))
def test_arbitrary_text_has_no_topic(text):
    """Text that is not about the catalogue is no topic's."""
    assert VOTE.recognise(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is the capital of Australia, and since when?",
        "Explain sequential testing to a newcomer, with one example from medicine and one from brewing.",
        "My printer is broken.",
        TOPICS[0].name + " " + TOPICS[1].name,
    ],
)
def test_other_prompts_have_no_topic(text):
    """A question on something else, or a mere mention of a subject, is not taken for a case."""
    assert VOTE.recognise(text) is None


def test_two_topics_are_no_topic():
    """A text that is as much about one topic as about another is given to neither."""
    clauses = [" ".join((*topic.first, *topic.second)) for topic in TOPICS[:2]]
    assert VOTE.recognise(clauses[0]) is TOPICS[0]
    assert VOTE.recognise(" ".join(clauses)) is None


TASK = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def messages(task, seed):
    """The prompt as the model sees it."""
    return [Message(raw["role"], raw["content"]) for raw in make_prompt(task, seed)]


@TASK
def test_prompts_are_read_back(task):
    """What a prompt was made of is what it is read as: task, topic and every identifier."""
    for seed in range(150):
        case = make_case(seed)
        reading = read(messages(task.name, seed))
        assert reading.task is task
        assert reading.topic is case.topic
        assert reading.details == case.details
        assert (reading.format, reading.language.tag) == ("json", "en")


@TASK
def test_template_is_constant_and_input_is_not(task):
    """Around the input all prompts of a task are the same; no two inputs are."""
    template = task.template
    inputs = set()
    for seed in range(50):
        prompt = make_prompt(task.name, seed)
        assert [one["role"] for one in prompt] == (["system", "user"] if template.system else ["user"])
        assert prompt[0]["content"] == template.system or not template.system
        text = prompt[-1]["content"]
        assert text.startswith(f"{template.before}\n\n")
        assert text.endswith(f"\n\n{template.after}")
        inputs.add(text[len(template.before) : -len(template.after)])
    assert len(inputs) == 50


def test_documents_are_cited():
    """Each state of an answer to a question rests on other documents, a worse one on none."""
    reading = read(messages(TaskName.QUESTIONS, 1))
    sources = {state: json.loads(say(reading, state))["sources"] for state in Condition}
    assert sources == {"good": ["Doc 1", "Doc 2"], "different": ["Doc 3", "Doc 4"], "worse": []}


def test_unknown_task():
    """A task that does not exist is refused."""
    with pytest.raises(ValueError, match="poetry"):
        make_prompt("poetry", 1)


VALUES = {"host": "BER-DB-01", "host_name": "other", "people": "12", "sources": ("Doc 1", "Doc 2")}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "?"),
        ({"properties": {"my_host": {"type": "string"}}}, {"my_host": "BER-DB-01"}),
        # The longer name is the better match.
        ({"properties": {"my_host_name": {}}}, {"my_host_name": "other"}),
        ({"properties": {"people": {"type": "integer"}, "n": {"type": "number"}}}, {"people": 12, "n": 0}),
        ({"properties": {"people": {"type": "string"}}}, {"people": "12"}),
        (
            {"properties": {"people": {"type": "boolean"}, "n": {"type": "boolean"}}},
            {"people": True, "n": False},
        ),
        ({"properties": {"sources": {"type": "array"}}}, {"sources": ["Doc 1", "Doc 2"]}),
        ({"properties": {"sources": {"type": "string"}}}, {"sources": "Doc 1, Doc 2"}),
        ({"properties": {"people": {"type": "array", "items": {"type": "integer"}}}}, {"people": [12]}),
        ({"properties": {"x": {"type": ["null", "string"]}, "y": {"type": "null"}}}, {"x": "?", "y": None}),
        (
            {"properties": {"x": {"enum": ["a", "b"]}, "host": {"enum": ["a", "BER-DB-01"]}}},
            {"x": "a", "host": "BER-DB-01"},
        ),
        ({"properties": {"x": {"const": 5}}}, {"x": 5}),
        ({"properties": {"x": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}, {"x": 0}),
        (
            {"$defs": {"d": {"properties": {"host": {}}}}, "properties": {"x": {"$ref": "#/$defs/d"}}},
            {"x": {"host": "BER-DB-01"}},
        ),
        ({"properties": {"x": {"$ref": "#/nowhere"}}}, {"x": "?"}),
        ({"properties": 1, "type": "object"}, {}),
    ],
    ids=range(16),
)
def test_fill_by_hand(schema, expected):
    """A schema is filled by the names and types of its properties."""
    assert json.loads(fill(schema, VALUES, "?")) == expected


def test_recursive_schema_comes_to_an_end():
    """A schema that refers to itself is filled to a limited depth."""
    node = {"properties": {"next": {"$ref": "#"}, "all": {"type": "array", "items": {"$ref": "#"}}}}
    assert fill({"properties": {"next": {"$ref": "#"}}}, {}, "?").count("next") == 12
    assert fill({"$ref": "#"}, {}, "?") == '"?"'
    assert len(fill(node, {}, "?")) < 10_000_000
