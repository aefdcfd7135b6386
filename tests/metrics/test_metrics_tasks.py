"""Tasks by name, and told from prompts by rule."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.prompts import EVERY
from evenkeel.metrics.tasks import Task, Turn, find_task, recognise, task_named
from evenkeel.simulate.tasks import TASKS, make_prompt


def asked(user: str, system: str = "") -> list[Turn]:
    """A prompt of one user message."""
    return [*([Turn("system", system)] if system else []), Turn("user", user)]


CHAT = (
    "Who was the first person on the moon?",
    "Summarise the plot of Hamlet in three sentences.",
    "Summarize this newspaper article about a fraud case:\n\nThe trial began on Monday in Leeds.",
    "Summarise the book for me. Title: The Long Winter. Description: a family waits for the train.",
    "Write a dialogue of waiter and guest.\nWaiter: Good evening!\nGuest: Hi.\nWaiter: And?\nGuest: No.",
    "How do I write a good summary of a support case?",
    "What is the difference between a ticket, an incident and a case?",
    "Fill in the blanks: The ___ is blue, and the grass is ___.",
    "Extract the square root of 144 and explain each step.",
    "Explain nodes and edges of a graph, and what a workflow engine does with them.",
    "Write a workflow for making tea.",
    'Explain: {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "null"}}}',
    "Translate: Doc 1: Guten Tag. Doc 2: Auf Wiedersehen.",
    "Question: which is larger, 3.9 or 3.11? Think step by step.",
    "Please answer my questions about these sources of energy: wind, sun and water.",
    "My conversation with the bank went badly. Can you help me write a letter to them?",
    "Summarise our conversation so far.",
    "- eggs: 2\n- flour: 300 g\n- milk: half a litre\nWhat can I cook with this?",
    "",
)


@pytest.mark.parametrize("prompt", CHAT)
def test_plain_questions_are_no_task(prompt: str) -> None:
    """Words or shapes of a task alone, without the other, leave a prompt chat."""
    assert recognise(asked(prompt)) is None


CASE = "Subject: printer\nDescription: it prints only every second page\nResolution: cable replaced"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_prompts_of_the_simulation_are_recognised(task: object) -> None:
    """Every prompt that the simulated application makes is of the task it is made for."""
    name = task.name
    for seed in range(20):
        turns = [Turn(message["role"], message["content"]) for message in make_prompt(name, seed)]
        assert recognise(turns) == name


def test_prompts_of_the_benchmarks_are_recognised() -> None:
    """So is every prompt of the benchmarks, whose layouts differ."""
    for prompt in EVERY:
        messages = json.loads(prompt.body)["messages"]
        assert recognise(Turn(one["role"], one["content"]) for one in messages) == prompt.task


def test_a_conversation_is_of_the_task_of_its_last_question() -> None:
    """After the summary the user asks something else, and what the assistant said is no instruction."""
    summary = asked(f"Summarise the support case:\n{CASE}")
    assert recognise(summary) is Task.CASE_SUMMARY
    assert recognise([*summary, Turn("assistant", "A cable was broken."), Turn("user", "Thanks!")]) is None
    told = [Turn("assistant", f"Summarise the support case:\n{CASE}"), Turn("user", "No, why should I?")]
    assert recognise(told) is None


def test_two_tasks_in_one_prompt_are_none() -> None:
    """Whatever is asked for twice is not plain."""
    both = f"Summarise the case.\n{CASE}\nAlso fill the slots:\n- page: number\n- cable: type\n- team: who"
    assert recognise(asked(both)) is None


def test_tools_of_an_agent_are_no_form() -> None:
    """Schemas of functions that may be called do not make slot filling."""
    system = (
        "You can use the following tools. Fill in their fields from what the user says.\n"
        '{"properties": {"city": {"type": "string"}, "day": {"type": "string"}, "unit": {"type": "string"}}}'
    )
    assert recognise(asked("Will it rain in Bergen tomorrow?", system)) is None


def test_instructions_behind_a_long_input_are_read() -> None:
    """Both ends of a prompt count, however long the middle is."""
    long = "\n".join(f"Ana: line {number}\nBob: yes" for number in range(20_000))
    assert recognise(asked(f"{long}\n\nSummarise the chat above.")) is Task.CHAT_SUMMARY


@pytest.mark.parametrize(
    "piece",
    [
        "a:",
        "[1] ",
        "<doc ",
        "- a",
        "A: b\n",
        "or null ",
        "[10:00] <",
        '"steps":',
        "case:\n",
        "\n# ",
        "{",
        "x",
    ],
)
def test_hostile_prompts_take_no_unusual_time(piece: str) -> None:
    """A hundred thousand characters of any one pattern are read within two seconds."""
    text = (
        f"summarise the chat case extract fields answer documents workflow {piece * (100_000 // len(piece))}"
    )
    start = time.process_time()
    recognise(asked(text))
    assert time.process_time() - start < 2


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), st.text(max_size=200))))
def test_any_turns_give_a_task_or_none(turns: list[tuple[str, str]]) -> None:
    """Never an exception, never `chat`, and the same every time."""
    listed = [Turn(*turn) for turn in turns]
    found = recognise(listed)
    assert found is None or (isinstance(found, Task) and found is not Task.CHAT)
    assert recognise(listed) is found


def test_names_are_read_leniently_from_applications_and_strictly_from_settings() -> None:
    """An unknown header is chat; an unknown setting is an error that names the nearest task."""
    assert find_task("Case-Summary") is Task.CASE_SUMMARY
    assert find_task("triage") is find_task(None) is Task.CHAT
    assert task_named("slot filling") is Task.SLOT_FILLING
    with pytest.raises(ValueError, match="no task 'case_sumary'; did you mean \"case_summary\""):
        task_named("case_sumary")
    with pytest.raises(ValueError, match="there are case_summary, chat, chat_summary"):
        task_named("zzz")
