from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from evenkeel.core.verdict import Failure
from evenkeel.lab.judge_audit.pairs import (
    PairCase,
    Preference,
    holds_pairs,
    pairwise_report,
    plan,
    preferences,
    read_pairs,
)
from evenkeel.metrics.judge.reply import Reply, Ruling
from evenkeel.release.kit.arguments import InputError

LLMBAR = Path(__file__).parents[4] / "shared" / "data" / "llmbar" / "evaluators_Natural"
NONE = Failure("audit.preference", 1, "refused")


def case(label, name="a"):
    return PairCase(name, "Say hello.", "Hello.", "Goodbye.", label)


def report(cases, said):
    return pairwise_report("judge", cases, said, times=200, rng=Random(1))


def test_a_judge_without_rulings_has_no_accuracy():
    """Neither 0 nor 1; the failures are counted."""
    found = report([case(1)], [Preference(NONE, NONE)])
    assert (found.accuracy.value, found.swap_consistency.value) == (None, None)
    assert found.failures == {"refused": 2}


def test_accuracy_and_consistency_worked_by_hand():
    """Four pairs: right twice, right and wrong, wrong twice, and once right with a refusal."""
    found = report(
        [case(1), case(2), case(1), case(2)],
        [Preference(1, 1), Preference(2, 1), Preference(2, 2), Preference(2, NONE)],
    )
    assert (found.accuracy.count, found.accuracy.n) == (4, 7)
    assert (found.swap_consistency.count, found.swap_consistency.n) == (2, 3)
    assert (found.right_both_ways.count, found.right_both_ways.n) == (1, 3)
    assert found.failures == {"refused": 1}


def test_answers_are_shown_in_both_orders_and_counted_by_their_own_numbers():
    """A judge that likes "Hello." whatever its place says 1 in order and 2 swapped."""
    calls = plan([case(1)])
    shown = {call.place: call.question.messages[1].content for call in calls}
    assert shown[0, False].index("Hello.") < shown[0, False].index("Goodbye.")
    assert shown[0, True].index("Goodbye.") < shown[0, True].index("Hello.")
    assert calls[0].question.scale == (1, 2)
    replies = {(0, False): Reply(Ruling(1, "")), (0, True): Reply(Ruling(2, ""))}
    assert preferences([case(1)], replies) == (Preference(1, 1),)
    assert preferences([case(1)], {**replies, (0, True): Reply(NONE)}) == (Preference(1, NONE),)


def write(tmp_path, rows):
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(rows))
    return path


BASE = {"input": "Say hello.", "output_1": "Hello.", "output_2": "Goodbye.", "label": 1}


def result(in_order, swapped):
    return {"swap = False": {"winner": in_order}, "swap = True": {"winner": swapped}}


def test_recorded_results_are_read_in_the_layout_of_llmbar(tmp_path):
    """The last entry with both orders counts; other entries are notes of that judge."""
    path = write(
        tmp_path,
        [
            {**BASE, "results": [["criteria", "stop"], result("1", "2")]},
            {**BASE, "label": 2, "results": [result("1", "2"), result("2", None)]},
        ],
    )
    assert holds_pairs(path)
    pairs = read_pairs(path)
    assert [each.label for each in pairs.cases] == [1, 2]
    assert pairs.recorded[0] == Preference(1, 2)
    assert pairs.recorded[1].in_order == 2
    assert pairs.recorded[1].swapped.reason == "no_preference"


def test_recorded_results_may_be_two_columns(tmp_path):
    """By the answers' own numbers; a tie is no preference."""
    pairs = read_pairs(write(tmp_path, [{**BASE, "item": "x", "winner": 2, "winner_swapped": "tie"}]))
    assert pairs.cases[0].id == "x"
    assert pairs.recorded[0].in_order == 2
    assert pairs.recorded[0].swapped.reason == "no_preference"


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ({**BASE, "label": 3}, 'entry 1, field "label": is 3'),
        ({**BASE, "results": [{"x": 1}]}, 'field "results": has no entry'),
        ({**BASE, "winner": 3, "winner_swapped": 1}, 'field "winner": 3 is not the number'),
        ({"input": "x", "output_1": "a", "output_2": "b", "lable": 1}, 'did you mean "label"?'),
    ],
)
def test_errors_in_pairs_name_the_place(tmp_path, row, part):
    """And the field."""
    with pytest.raises(InputError) as caught:
        read_pairs(write(tmp_path, [row]))
    assert part in str(caught.value)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("judge", "accuracy", "consistency"), [("GPT-4_CoT", 0.945, 0.91), ("ChatGPT_Rating", 0.685, 0.53)]
)
def test_the_recorded_judges_of_llmbar_are_reproduced(judge, accuracy, consistency):
    """Accuracy over both orders and swap consistency, as counted once from the files directly."""
    path = LLMBAR / f"{judge}.json.gz"
    if not path.exists():
        pytest.skip(f"needs the public data set LLMBar beside the checkout: {path.name}")
    pairs = read_pairs(path)
    found = report(pairs.cases, pairs.recorded)
    assert found.accuracy.value == pytest.approx(accuracy)
    assert found.swap_consistency.value == pytest.approx(consistency)
