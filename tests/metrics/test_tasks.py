"""Which task a prompt sets, however it is laid out."""

import gzip
import json
import re
from collections import Counter

import pytest

from evenkeel.metrics.tasks import Task, Turn, find_task, recognise, task_named
from evenkeel.simulate.tasks import TASKS
from tests.cases import cases
from tests.kit.prompts import EVERY
from tests.kit.public import DATA, LANGUAGES, chat_logs, questions, rephrased, tickets
from tests.kit.simulated_prompts import make_prompt

CASES = cases(__file__)


def asked(user, system=""):
    """A prompt of one user message."""
    return [*([Turn("system", system)] if system else []), Turn("user", user)]


@pytest.mark.parametrize("prompt", CASES["plain questions"])
def test_plain_questions_are_no_task(prompt):
    """Words or shapes of a task alone, without the other, leave a prompt chat."""
    assert recognise(asked(prompt)) is None


CASE = "Subject: printer\nDescription: it prints only every second page\nResolution: cable replaced"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_prompts_of_the_simulation_are_recognised(task):
    """Every prompt that the simulated application makes is of the task it is made for."""
    name = task.name
    for seed in range(6):
        turns = [Turn(message["role"], message["content"]) for message in make_prompt(name, seed)]
        assert recognise(turns) == name


def test_prompts_of_the_benchmarks_are_recognised():
    """Layouts of the benchmarks differ from those of the simulation."""
    for prompt in EVERY:
        messages = json.loads(prompt.body)["messages"]
        assert recognise(Turn(message["role"], message["content"]) for message in messages) == prompt.task


def test_a_conversation_is_of_the_task_of_its_last_question():
    """The user asks something else after the summary, and what the assistant said is no instruction."""
    summary = asked(f"Summarise the support case:\n{CASE}")
    assert recognise(summary) is Task.CASE_SUMMARY
    assert recognise([*summary, Turn("assistant", "A cable was broken."), Turn("user", "Thanks!")]) is None
    told = [Turn("assistant", f"Summarise the support case:\n{CASE}"), Turn("user", "No, why should I?")]
    assert recognise(told) is None


def test_two_tasks_in_one_prompt_are_none():
    both = f"Summarise the case.\n{CASE}\nAlso fill the slots:\n- page: number\n- cable: type\n- team: who"
    assert recognise(asked(both)) is None


def test_tools_of_an_agent_are_no_form():
    """Schemas of functions that may be called do not make slot filling."""
    system = (
        "You can use the following tools. Fill in their fields from what the user says.\n"
        '{"properties": {"city": {"type": "string"}, "day": {"type": "string"}, "unit": {"type": "string"}}}'
    )
    assert recognise(asked("Will it rain in Bergen tomorrow?", system)) is None


def test_instructions_behind_a_long_input_are_read():
    """Both ends of a prompt count, however long the middle is."""
    long = "\n".join(f"Ana: line {number}\nBob: yes" for number in range(20_000))
    assert recognise(asked(f"{long}\n\nSummarise the chat above.")) is Task.CHAT_SUMMARY


def test_names_are_read_leniently_from_applications_and_strictly_from_settings():
    """An unknown header is chat; an unknown setting is an error that names the nearest task."""
    assert find_task("Case-Summary") is Task.CASE_SUMMARY
    assert find_task("triage") is find_task(None) is Task.CHAT
    assert task_named("slot filling") is Task.SLOT_FILLING
    with pytest.raises(ValueError, match="no task 'case_sumary'; did you mean \"case_summary\""):
        task_named("case_sumary")
    with pytest.raises(ValueError, match="there are case_summary, chat, chat_summary"):
        task_named("zzz")


def fill(template, fields):
    """The template with its `{fields}` replaced."""
    return re.sub(r"\{([a-z]+)\}", lambda found: fields[found[1]], template)


TEMPLATES = CASES["templates"]
CHAT_LOG = "Ana: hello\nBob: hello, what is it?\nAna: my light is red\nBob: turn it off and on\nAna: thanks"


@pytest.mark.parametrize(("task", "templates"), TEMPLATES.items())
def test_tasks_are_told_in_several_layouts_and_languages(task, templates):
    """Layouts in eight languages, filled with a few words."""
    fields = {
        "ticket": CASE,
        "chat": CHAT_LOG,
        "q": "Which cable fits?",
        "a": "Cable A fits all.",
        "b": "B is short.",
        "c": "C is long.",
        "task": "Task: bake bread\nThe action list you can take: ['knead', 'bake']",
    }
    told = [recognise(asked(fill(user, fields), fill(system, fields))) for system, user in templates]
    assert told == [task] * len(templates)


def _prompts():
    """Public texts in the layouts above, and public questions as they are."""
    cases = tickets()
    rows = [{"ticket": ticket} for ticket in cases[::150]]
    chats = [
        {"chat": "\n".join(log.splitlines()[start : start + 40])} for log in chat_logs() for start in (100,)
    ]
    documents = [
        {"a": cases[at], "b": cases[at + 1], "c": cases[at + 2], "q": "What was done in the end?"}
        for at in range(0, 60, 6)
    ]
    with gzip.open(DATA / "worfbench" / "worfbench_gold.jsonl.gz", "rt", encoding="utf-8") as lines:
        plans = [{"task": str(json.loads(line)["task"])} for line in lines][::80]
    filling = {
        Task.CASE_SUMMARY: rows,
        Task.CHAT_SUMMARY: chats,
        Task.QUESTION_ANSWERING: documents,
        Task.SLOT_FILLING: rows,
        Task.WORKFLOW: plans,
        None: [row | documents[0] | chats[0] for row in rows],
    }
    plain = [asked(text) for language in LANGUAGES for text in questions(language)]
    plain += [asked(text) for text in [*rephrased()[::10], *cases[::30], *(row["chat"] for row in chats)]]
    found = [(None, turns) for turns in plain]
    for task, filled_with in filling.items():
        for system, user in TEMPLATES[task]:
            found += [(task, asked(fill(user, row), fill(system, row))) for row in filled_with]
    return found


@pytest.mark.shared_data
def test_precision_on_public_texts():
    """Ninety-five in 100 prompts that are told to be of a task are, and no public question is of any."""
    told = Counter()
    for task, turns in _prompts():
        told[str(task), str(recognise(turns))] += 1
    for task in Task:
        claimed = sum(count for (_, found), count in told.items() if found == task)
        meant = sum(count for (wanted, _), count in told.items() if wanted == task)
        if task is Task.CHAT:
            assert claimed == 0
            continue
        right = told[str(task), str(task)]
        assert right / claimed >= 0.95, (task, told)
        assert right / meant >= 0.8, (task, told)
    assert {found for (wanted, found), _ in told.items() if wanted == "None"} == {"None"}
