"""Answers of every form: which form it is, all variants of it, and workflows in the text they came from."""

from __future__ import annotations

import contextlib
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.candidates import chooser
from evenkeel.lab.calibrate.degrade import NotDegradableError, degradations
from evenkeel.lab.calibrate.forms import form_of
from evenkeel.lab.calibrate.score_table import DEGRADED
from evenkeel.metrics.workflow.reading import read_workflow
from tests.lab.calibrate.degrade.damage import DEGRADATIONS

NODES = """Here you are:

Node:
1: Open the valve.
2: Check the meter.
3: Check the pump.
4: Close the valve.
Edge: (START,1) (1,2) (1,3) (2,4) (3,4) (4,END)

Good luck!"""
PLAN = json.dumps({"steps": ["Open the valve", "Check the meter", "Close the valve", "Write it down"]})
LIST = "Steps:\n\n- Open the valve\n- Check the meter\n- Close the valve\n- Write it down"
PROSE = "The pump starts at six. It runs for two hours. The valve stays closed. The crew goes home."
CALLS = Answer(
    "",
    tuple(ToolCall(name, json.dumps({"n": n})) for n, name in enumerate(["find", "open", "find", "close"])),
)


@pytest.mark.parametrize(
    ("text", "task", "form"),
    [
        (PROSE, None, "prose"), ("42", None, "prose"), ("水箱已经满了。", None, "prose"),
        (LIST, None, "list"),
        (LIST, "workflow", "workflow"), (PROSE, "workflow", "prose"), (NODES, None, "workflow"),
        (PLAN, None, "data"), (PLAN, "workflow", "workflow"),
        ("a: 1\nb: 2\n", None, "data"), ("<r><a>1</a></r>", None, "data"),
        (f"```json\n{PLAN}\n```", None, "data"),
        ("Node:\nnothing of the kind", None, "prose"), (PROSE + "\n\n- and one item", None, "prose"),
        ("[" * 99 + "]" * 99, None, "too_deep"), ("", None, "empty"), (" \n", None, "empty"),
        ("\n".join(f"{n}. Step {n}" for n in range(1, 5000)), None, "list"),
        ("a" * 600_000, None, "too_large"),
    ],
)  # fmt: skip
def test_forms(text, task, form) -> None:
    """What is drawn or routed as a workflow is one; then data, then what is mostly items; else prose."""
    found = form_of(Answer(text), task)
    assert (found.reason if isinstance(found, Failure) else found) == form


def test_tool_calls_are_a_workflow_if_there_are_two() -> None:
    """One call has no parts; one call with a text is the text."""
    assert form_of(CALLS, None) == "workflow"
    one = CALLS.tool_calls[:1]
    assert form_of(Answer("", one), None).reason == "single_call"
    assert form_of(Answer(PROSE, one), None) == "prose"


def test_every_form_has_one_degradation_for_every_mode() -> None:
    """Six each, in the order of the modes; 1 is expected for rewording, 1 − severity for all others."""
    for form in ("workflow", "prose", "list", "data"):
        expected = {each.mode: each.expected(0.3) for each in degradations(form)}
        assert list(expected.items()) == [(mode, 1.0 if mode == "reworded" else 0.7) for mode in DEGRADED]
    assert len(DEGRADATIONS) == 4 * 6


def test_a_candidate_is_the_same_on_every_platform() -> None:
    """Seed, golden, degradation and severity decide its generator, whose first number is written down."""
    assert chooser(1, "g1", "missing_sentences", "0.1").getrandbits(32) == 2558784321


@given(
    st.text(max_size=60) | st.sampled_from([NODES, PLAN, LIST, PROSE]),
    st.sampled_from(list(DEGRADATIONS.values())),
    st.sampled_from([0.1, 0.5, 1.0]),
)
def test_nothing_but_its_own_error_is_raised(text, each, severity) -> None:
    """Whatever the answer, also if it has another form than the degradation's."""
    with contextlib.suppress(NotDegradableError):
        assert isinstance(each.apply(Answer(text), severity, random.Random(1)), Answer)


@pytest.mark.parametrize("text", [NODES, PLAN, LIST], ids=["nodes", "plan", "list"])
def test_workflows_are_written_as_nodes_and_edges(text) -> None:
    """What is read back is the degraded workflow, whatever form the answer had."""
    own = read_workflow(text)
    for name, touched in (("missing_random", -2), ("duplicated_steps", 2), ("reordered_steps", 0)):
        found = DEGRADATIONS[name].apply(Answer(text), 0.5, random.Random(3)).text
        assert len(read_workflow(found).steps) == len(own.steps) + touched
        assert found.startswith("Node:\n1: ")


def test_tool_calls_are_degraded_with_their_arguments() -> None:
    """Calls of one name are told apart; a merged or reworded call is none."""
    found = DEGRADATIONS["missing_random"].apply(CALLS, 0.5, random.Random(1))
    assert len(found.tool_calls) == 2
    assert set(found.tool_calls) < set(CALLS.tool_calls)
    found = DEGRADATIONS["duplicated_steps"].apply(CALLS, 0.1, random.Random(1))
    assert len(found.tool_calls) == 5
    found = DEGRADATIONS["added_steps"].apply(CALLS, 0.1, random.Random(1))
    assert [call for call in found.tool_calls if call in CALLS.tool_calls] == list(CALLS.tool_calls)
    assert [call.arguments for call in found.tool_calls if call not in CALLS.tool_calls] == ["{}"]
    for name in ("compressed_random", "reworded_steps"):
        with pytest.raises(NotDegradableError) as caught:
            DEGRADATIONS[name].apply(CALLS, 0.1, random.Random(1))
        assert caught.value.reason == "tool_calls"


@pytest.mark.parametrize(
    "part",
    [
        "(", "`", "a. ", '"', "**", "> ", "1. ", "[", "{", "<a>", " ", "\n\na", "because ", "a, ", "- ", "|-",
        "。",
    ],
)  # fmt: skip
def test_no_text_takes_long(part) -> None:
    """Twenty thousand characters of anything, and every degradation is done or refused."""
    answer = Answer(part * (20_000 // len(part)) + " x y z.")
    form_of(answer, None)
    for each in DEGRADATIONS.values():
        with contextlib.suppress(NotDegradableError):
            each.apply(answer, 0.3, random.Random(1))
