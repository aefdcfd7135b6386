"""Degradations: how many steps they touch, what they do to a workflow, and what metrics say of it."""

import json
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.lab.calibrate.degrade import (
    ADDED,
    COMPRESSED,
    DUPLICATED,
    MISSING,
    REORDERED,
    REWORDED,
    WORKFLOWS,
    steps_touched,
    without,
)
from evenkeel.lab.calibrate.step_wording import FOREIGN_STEPS, reworded_step
from evenkeel.lab.metrics.alignment import ExactText
from evenkeel.metrics.workflow.chain import chain_f1
from evenkeel.metrics.workflow.workflow import WorkflowError, sequence, workflow

ALL = (MISSING, COMPRESSED, REWORDED, REORDERED, DUPLICATED, ADDED)


def named(found):
    return {(found.steps[before], found.steps[after]) for before, after in found.edges}


def refused(degradation, given_, severity):
    with pytest.raises(WorkflowError) as caught:
        degradation.apply(given_, severity, random.Random(1))
    return caught.value.reason


@pytest.mark.parametrize(
    ("size", "severity", "expected"),
    [
        (10, 0.1, 1), (10, 0.3, 3), (5, 0.1, 1), (5, 0.3, 2), (5, 0.5, 3), (70, 0.1, 7), (100, 0.29, 29),
        (3, 1.0, 3),
    ],
)  # fmt: skip
def test_severities_are_rounded_up_in_decimals(size, severity, expected):
    """10 % of 70 is 7 although 70 · 0.1 is a little more in binary; at least one step is touched."""
    assert steps_touched(size, severity) == expected
    assert steps_touched(0, severity) == 1


@st.composite
def workflows(draw):
    size = draw(st.integers(5, 14))
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20))
    return workflow([f"Check the valve of tank {n}." for n in range(size)], edges)


@given(workflows(), st.sampled_from([0.1, 0.3, 0.5]), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_every_degradation_changes_exactly_as_much_as_it_says(made, severity, seed):
    """Counts of steps, gone, new and moved; the same seed gives the same workflow."""
    touched = steps_touched(len(made.steps), severity)
    before = Counter(made.steps)
    for degradation in ALL:
        try:
            found = degradation.apply(made, severity, random.Random(seed))
        except WorkflowError:
            # Where little order is asked for, little can be out of order.
            assert degradation.name == "reordered"
            continue
        assert found == degradation.apply(made, severity, random.Random(seed))
        after = Counter(found.steps)
        gone, new = (before - after).total(), (after - before).total()
        match degradation.name:
            case "missing":
                assert (gone, new) == (touched, 0)
            case "compressed":
                assert gone - new == touched
            case "reworded":
                assert (gone, new) == (touched, touched)
                assert found.edges == made.edges
            case "reordered":
                assert (gone, new) == (0, 0)
                length = chain_f1(made, found, ExactText().align(made, found)).length
                assert length == len(made.steps) - touched
            case _:
                assert (gone, new) == (0, touched)


def test_an_inner_step_is_bridged():
    """Without b in the diamond a → b, c → d: a and d stay joined through c, and directly in b's place."""
    diamond = workflow("abcd", [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert named(without(diamond, {1})) == {("a", "c"), ("c", "d"), ("a", "d")}
    assert named(without(sequence("abcde"), {1, 2, 3})) == {("a", "e")}


def test_workflows_that_are_too_short_are_refused():
    """One step at least is left; a foreign step must be foreign."""
    assert refused(MISSING, sequence("a"), 0.5) == "not_degradable"
    assert refused(COMPRESSED, sequence("a"), 0.5) == "not_degradable"
    assert refused(DUPLICATED, sequence([]), 0.5) == "not_degradable"
    assert refused(ADDED, sequence(FOREIGN_STEPS), 0.5) == "not_degradable"


def test_rewording_keeps_what_is_quoted_and_the_case():
    """A verb at the beginning is replaced, in a quotation it is not; German is left alone."""
    rng = random.Random(1)
    assert reworded_step('Press "open" until it beeps.', rng) == 'Push "open" till it beeps.'
    assert reworded_step("unlock it and verify the seal", rng) in (
        "unlock it and confirm the seal", "unlock it and check the seal",
    )  # fmt: skip
    assert reworded_step("Den Deckel schließen", rng) is None
    assert reworded_step("The list is long.", rng) != "The enumerate is long."
    framed = reworded_step("Whisk the eggs.", rng)
    assert framed.endswith("whisk the eggs.")
    assert refused(REWORDED, sequence(["Deckel schließen", "Knopf drücken"]), 0.5) == "not_degradable"


def test_of_tool_calls_each_keeps_its_arguments():
    """Calls are left out, moved and repeated with what they carry; an added call carries nothing."""
    names = ("find", "open", "find", "close")
    calls = tuple(ToolCall(name, json.dumps({"n": n})) for n, name in enumerate(names))
    by_name = {each.name: each for each in WORKFLOWS}

    def degraded(name):
        return by_name[name].apply(Answer("", calls), 0.5, random.Random(1)).tool_calls

    assert len(degraded("missing_random")) == 2
    assert set(degraded("missing_random")) < set(calls)
    assert Counter(degraded("reordered_steps")) == Counter(calls)
    assert sorted(Counter(degraded("duplicated_steps")).values()) == [1, 1, 2, 2]
    new = [call for call in degraded("added_steps") if call not in calls]
    assert [call.arguments for call in new] == ["{}", "{}"]
    for name in ("compressed_random", "reworded_steps"):
        with pytest.raises(WorkflowError, match="tool calls cannot be"):
            degraded(name)
