"""The issues of the benchmark and how they are read."""

import json
import re

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.lab.bench.items import ItemError, builtin_items, read_items
from evenkeel.lab.bench.trials import entity_match, entity_quality, rating_by_gold
from tests.cases import cases
from tests.kit.planted_issues import planted_issue

CASES = cases(__file__)

ITEMS = builtin_items()


@pytest.mark.parametrize(("line", "said"), CASES["faults"])
def test_a_fault_is_told_with_file_line_and_field(tmp_path, line, said):
    """The message says where to look; a file that holds no issue is refused."""
    path = tmp_path / "own.jsonl"
    wrong = line if isinstance(line, str) else json.dumps(planted_issue(1) | line)
    path.write_text(f"{json.dumps(planted_issue(0))}\n{wrong}\n", encoding="utf-8")
    with pytest.raises(ItemError, match=re.escape(said)):
        read_items([path])
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(ItemError, match="holds no issue"):
        read_items([path])


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
