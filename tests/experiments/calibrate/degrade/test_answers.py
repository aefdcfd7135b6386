"""Answers of every form: which form it is, all variants of it, and workflows in the text they came from."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.degrade import (
    BUILTIN,
    Degraded,
    NotDegradableError,
    as_written,
    degradation,
    degradations,
    degrade,
    form_of,
)
from evenkeel.experiments.calibrate.degrade.writing import write_like
from evenkeel.experiments.calibrate.score_table import DEGRADED, FailureMode
from evenkeel.metrics.workflow.reading import read_answer, read_workflow
from evenkeel.metrics.workflow.workflow import workflow

NODES = """Here you are:

Node:
1: Open the valve.
2: Check the meter.
3: Check the pump.
4: Close the valve.
Edge: (START,1) (1,2) (1,3) (2,4) (3,4) (4,END)

Good luck!"""
CHART = """The plan:

```mermaid
flowchart LR
  a["Open the valve"] --> b["Check the \\"meter\\""]
  b --> c["Close the valve"] --> d["Write it down"]
```
"""
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
        (CHART, None, "workflow"), (PLAN, None, "data"), (PLAN, "workflow", "workflow"),
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


def test_every_form_has_one_default_for_every_mode() -> None:
    """Six each, in the order of the modes; names are unique, and every one is found by its name."""
    for form in ("workflow", "prose", "list", "data"):
        assert [each.mode for each in degradations(form)] == list(DEGRADED)
        assert all(each.form == form for each in degradations(form))
    assert len({each.name for each in BUILTIN}) == len(BUILTIN)
    assert all(degradation(each.name) is each for each in BUILTIN)
    assert degradation("missing_last").mode is FailureMode.MISSING
    with pytest.raises(KeyError, match="missing_sentences"):
        degradation("broken")


def test_expected_scores() -> None:
    """1 for rewording, 1 − severity for all that loses or adds something."""
    for each in BUILTIN:
        assert each.expected(0.3) == (1.0 if each.mode is FailureMode.REWORDED else 0.7)


def test_all_variants_of_an_answer() -> None:
    """Each mode at each severity, a failure where there is none; other fields of the answer stay."""
    answer = Answer(PROSE, model="m-1", finish_reason="stop")
    found = degrade(answer, "g1")
    assert [(each.mode, each.severity) for each in found] == [
        (m, s) for m in DEGRADED for s in (0.1, 0.3, 0.5)
    ]
    for each in found:
        assert isinstance(each, Degraded)
        assert isinstance(each.answer, Answer), each
        assert (each.answer.model, each.answer.finish_reason) == ("m-1", "stop")
        assert each.answer.text != PROSE
    german = degrade(Answer("Der Tank ist voll. Das war alles."), "g1")
    reworded = [each.answer for each in german if each.mode is FailureMode.REWORDED]
    assert [failure.reason for failure in reworded] == ["not_reworded"] * 3
    assert "reworded_sentences at 0.1" in reworded[0].detail
    assert degrade(Answer(""), "g1").reason == "empty"
    last = degrade(answer, "g1", severities=(0.5,), chosen=[degradation("missing_last_sentences")])
    assert [each.answer.text for each in last] == ["The pump starts at six. It runs for two hours."]


def test_the_golden_seeds_its_variants() -> None:
    """The same id the same bytes, in another process too; another id other choices."""
    text = " ".join(f"Sentence number {n} is here." for n in range(40))
    found = degrade(Answer(text), "g1")
    assert found == degrade(Answer(text), "g1")
    assert found != degrade(Answer(text), "g2")
    code = (
        "import sys; from evenkeel.experiments.calibrate.degrade import degrade\n"
        "from evenkeel.core.pair import Answer\n"
        "print('\\n'.join(each.answer.text for each in degrade(Answer(sys.argv[1]), 'g1')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, text], capture_output=True, check=True, text=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert ran.stdout == "\n".join(each.answer.text for each in found) + "\n"


@given(st.text(max_size=60) | st.sampled_from([NODES, CHART, PLAN, LIST, PROSE]), st.sampled_from(BUILTIN),
       st.sampled_from([0.1, 0.5, 1.0]))  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_nothing_but_its_own_error_is_raised(text, each, severity) -> None:
    """Whatever the answer, also if it has another form than the degradation's."""
    with contextlib.suppress(NotDegradableError):
        assert isinstance(each.apply(Answer(text), severity, random.Random(1)), Answer)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (NODES, ("Here you are:\n\nNode:\n", "\n\nGood luck!")),
        (CHART, ("The plan:\n\n```mermaid\nflowchart TD\n", "\n```\n")),
        (PLAN, ('{\n  "steps": [', "]\n}")),
        (f"So:\n```json\n{PLAN}\n```", ('So:\n```json\n{\n  "steps"', "}\n```")),
        ("name: plan\nsteps:\n- Open it\n- Check it\n- Close it\n- Note it down", ("steps:\n- id: ", "")),
        (LIST + "\n\nBye.", ("Steps:\n\n- ", "\n\nBye.")),
        (LIST.replace("- ", "1. "), ("Steps:\n\n1. ", "")),
    ],
)
def test_workflows_keep_the_form_of_their_text(text, kept) -> None:
    """What is read back is the degraded workflow; words around a fence or Node: stay."""
    own = read_workflow(text)
    for name, touched in (("missing_last", -2), ("duplicated_steps", 2), ("reordered_steps", 0)):
        found = degradation(name).apply(Answer(text), 0.5, random.Random(3)).text
        assert len(read_workflow(found).steps) == len(own.steps) + touched
        assert found.startswith(kept[0])
        assert found.endswith(kept[1])


def test_a_list_that_branches_is_written_as_nodes_and_edges() -> None:
    """An order that a list cannot show is not lost."""
    branching = workflow(["a step", "one side", "other side"], [(0, 1), (0, 2)])
    assert write_like(branching, LIST).startswith("Steps:\n\nNode:\n1: a step")
    assert read_workflow(write_like(branching, LIST)) == branching


def test_tool_calls_are_degraded_with_their_arguments() -> None:
    """Calls of one name are told apart; a merged or reworded call is none."""
    found = degradation("missing_last").apply(CALLS, 0.5, random.Random(1))
    assert found.tool_calls == CALLS.tool_calls[:2]
    found = degradation("duplicated_steps").apply(CALLS, 0.1, random.Random(1))
    assert len(found.tool_calls) == 5
    found = degradation("added_steps").apply(CALLS, 0.1, random.Random(1))
    assert [call for call in found.tool_calls if call in CALLS.tool_calls] == list(CALLS.tool_calls)
    assert [call.arguments for call in found.tool_calls if call not in CALLS.tool_calls] == ["{}"]
    for name in ("compressed_random", "reworded_steps"):
        with pytest.raises(NotDegradableError) as caught:
            degradation(name).apply(CALLS, 0.1, random.Random(1))
        assert caught.value.reason == "tool_calls"


def test_an_answer_as_its_variants_are_written() -> None:
    """The same workflow and the same data in the layout of a variant; texts and calls as they are."""
    for text, task in ((NODES, None), (CHART, None), (PLAN, "workflow"), (LIST, "workflow")):
        found = as_written(Answer(text), task)
        assert read_answer(found) == read_workflow(text).arranged()
    assert as_written(Answer('{"a":\n1}')).text == '{"a":1}'
    assert as_written(Answer(PROSE)).text == PROSE
    assert as_written(CALLS) == CALLS
    assert as_written(Answer("")).reason == "empty"
    assert as_written(Answer('{"a": 1, "b": [1, 2,}')).reason == "not_valid"


@pytest.mark.parametrize(
    "part",
    [
        "(",
        "`",
        "a. ",
        '"',
        "**",
        "> ",
        "1. ",
        "[",
        "{",
        "<a>",
        " ",
        "\n\na",
        "because ",
        "a, ",
        "- ",
        "|-",
        "。",
    ],
)
def test_no_text_takes_long(part) -> None:
    """Twenty thousand characters of anything, and every degradation is done or refused."""
    answer = Answer(part * (20_000 // len(part)) + " x y z.")
    form_of(answer, None)
    for each in BUILTIN:
        with contextlib.suppress(NotDegradableError):
            each.apply(answer, 0.3, random.Random(1))
