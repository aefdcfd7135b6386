"""The issues of the benchmark and how they are read."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from rapidfuzz import fuzz

from evenkeel.core.pair import Answer, Pair
from evenkeel.lab.bench.items import ItemError, builtin_items, read_items
from evenkeel.lab.bench.prompts import TASKS, prompt_of
from evenkeel.lab.bench.trials import entity_match, entity_quality, rating_by_gold
from evenkeel.metrics.tasks import Task
from tests.kit.planted_issues import planted_issue

ITEMS = builtin_items()


def test_there_are_sixty_issues_of_their_own():
    """No two of them resemble each other in title or in text."""
    assert len(ITEMS) >= 60
    for one, other in itertools.combinations(ITEMS, 2):
        assert fuzz.token_set_ratio(one.issue, other.issue) < 75
        assert fuzz.token_set_ratio(one.case, other.case) < 75


def broken(**changes):
    return json.dumps(planted_issue(1) | changes)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "own.jsonl, line 2: is not JSON"),
        ("[]", "own.jsonl, line 2: is not a JSON object"),
        (broken(case=" "), 'own.jsonl, line 2, field "case"'),
        (broken(documents=[]), 'own.jsonl, line 2, field "documents"'),
        (broken(extra=1), 'own.jsonl, line 2, field "extra"'),
        (broken(entities={"wheels": 4}), "field \"entities\": 'wheels' is no slot"),
        (broken(id="case-0"), "field \"id\": 'case-0' occurs in own.jsonl, line 1 already"),
        (broken(documents=[{"title": "a"}] * 4), 'field "documents[0].text"'),
    ],
)
def test_a_fault_is_told_with_file_line_and_field(tmp_path, line, said):
    """The message says where to look; a file that holds no issue is refused."""
    path = tmp_path / "own.jsonl"
    path.write_text(f"{json.dumps(planted_issue(0))}\n{line}\n", encoding="utf-8")
    with pytest.raises(ItemError, match=re.escape(said)):
        read_items([path])
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(ItemError, match="holds no issue"):
        read_items([path])


@pytest.mark.parametrize("task", TASKS)
def test_what_an_issue_says_is_input_and_nothing_else(task):
    """The frame of the prompt is template: it is the same for two issues but for the schema of the slots."""
    frames = []
    for item in ITEMS[:2]:
        view = prompt_of(item, task)
        inputs = view.input_text
        for text in {
            Task.CASE_SUMMARY: [item.case],
            Task.CHAT_SUMMARY: [item.chat],
            Task.QUESTION_ANSWERING: [item.question, *(one.text for one in item.documents)],
            Task.SLOT_FILLING: [item.message],
        }[task]:
            assert " ".join(text.split()) in " ".join(inputs.split())
        frames.append("".join(one.text for one in view.segments if one.kind == "template"))
    assert (frames[0] == frames[1]) == (task is not Task.SLOT_FILLING)


def test_a_pair_of_slots_is_made_of_the_expected_ones():
    """An answer with exactly the expected entities scores 1, one without any 0."""
    item = ITEMS[0]
    right = Answer(json.dumps(item.entities))
    wrong = Answer(json.dumps(dict.fromkeys(item.entities, "something else")))
    assert entity_match(item, right) == 1
    assert entity_match(item, wrong) == 0
    assert entity_match(item, Answer("I do not know.")) == 0
    # Half of the slots: 2 · 3 / (6 + 3) for six expected ones.
    some = dict(list(item.entities.items())[:3])
    n = len(item.entities)
    assert entity_match(item, Answer(json.dumps(some))) == pytest.approx(6 / (n + 3))
    score = entity_quality(item, Pair(right, wrong, "", "slot_filling"))
    assert (score.reference, score.candidate, score.changed, score.direction) == (1, 0, True, "worse")


def test_the_gold_decides_the_rating_of_slots_as_far_as_it_can():
    """Right and wrong: shifted, whatever the rating. Both right: the same. Both wrong: as rated."""
    item = ITEMS[0]
    right, none = item.entities, {}

    def rated(reference, candidate, rating):
        pair = Pair(Answer(json.dumps(reference)), Answer(json.dumps(candidate)), "", "slot_filling")
        return rating_by_gold(entity_quality(item, pair), rating)

    assert [rated(right, none, rating) for rating in (3, 2, 1, None)] == [2, 2, 1, 2]
    assert [rated(right, dict(reversed(right.items())), rating) for rating in (1, None)] == [3, 3]
    wrong = dict.fromkeys(right, "something else"), dict.fromkeys(right, "nothing of the kind")
    assert [rated(*wrong, rating) for rating in (3, 2, None)] == [3, 2, None]
