"""Which task a prompt sets, however it is laid out."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.metrics.tasks import Task, Turn, find_task, recognise, task_named
from evenkeel.simulate.tasks import TASKS
from tests.kit.prompts import EVERY
from tests.kit.public import DATA, LANGUAGES, chat_logs, questions, rephrased, tickets
from tests.kit.simulated_prompts import make_prompt


def asked(user, system=""):
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


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), st.text(max_size=200))))
def test_any_turns_give_a_task_or_none(turns):
    """Never an exception, never `chat`, and the same every time."""
    listed = [Turn(*turn) for turn in turns]
    found = recognise(listed)
    assert found is None or (isinstance(found, Task) and found is not Task.CHAT)
    assert recognise(listed) is found


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


CASE_TEMPLATES = (
    ("", "Give me a summary of this ticket for the weekly review.\n\n{ticket}\n\nNo more than five lines."),
    (
        "You assist the second level of an IT desk.",
        "Here is an incident that was closed yesterday:\n\n{ticket}\n\nSummarize it under Cause and Fix.",
    ),
    ("", "<ticket>\n{ticket}\n</ticket>\n\nCondense the ticket above into a hand-over note. Reply in YAML."),
    ("", "Fasse das folgende Ticket in drei Sätzen zusammen.\n\n{ticket}"),
    ("Resume los casos de soporte en español, sin inventar nada. Escribe un resumen del caso.", "{ticket}"),
    ("", "以下のチケットを要約してください:\n\n{ticket}"),
    ("Role: support analyst. Task: one-paragraph case summaries.", "<case>\n{ticket}\n</case>"),
    ("You produce summaries of customer cases.", "CASE DATA\n---------\n{ticket}\n\nLength: 60 words."),
    ("", "{ticket}\n\nTL;DR of this support ticket please, for Slack."),
    ("", "Please give a brief overview of the case: what happened, and what was done?\n\n{ticket}"),
    ("", "Maak een korte samenvatting van dit ticket:\n{ticket}"),
)
CHAT_TEMPLATES = (
    ("", "Summarise the chat below: what was asked, what was advised.\n\n{chat}"),
    (
        "You write minutes of support conversations.",
        "{chat}\n\nNow write a summary of the conversation as JSON.",
    ),
    ("", "<log>\n{chat}\n</log>\nGive a short recap of this discussion for people who missed it."),
    ("", "Fasse dieses Gespräch kurz zusammen:\n\n{chat}"),
    ("", "Résume la conversation suivante en quatre phrases.\n\n{chat}"),
    ("Resuma a conversa entre as pessoas e diga como terminou.", "{chat}"),
    ("", "Below is a log of our help channel. Produce a digest with decisions.\n\n{chat}"),
    ("", "{chat}\n=====\nWhat is the gist of this conversation?"),
    ("", "次のチャットを要約してください。\n\n{chat}"),
    ("", "Riassumi la conversazione qui sotto in tre punti.\n\n{chat}"),
    ("", "Samenvatting van het gesprek graag:\n\n{chat}"),
)
ANSWER_TEMPLATES = (
    (
        "Answer from the articles only and name the ones you used.",
        "Article 1\n{a}\n\nArticle 2\n{b}\n\nArticle 3\n{c}\n\nQuestion: {q}",
    ),
    ("", "<question>{q}</question>\n<doc id='a'>{a}</doc>\n<doc id='b'>{b}</doc>\n<doc id='c'>{c}</doc>"),
    ("", "Context:\n{a}\n{b}\n\nAnswer the question using nothing but the context above.\n\nQuestion: {q}"),
    ("", "[1] {a}\n[2] {b}\n[3] {c}\n\nBeantworte die Frage anhand der Dokumente.\n\nFrage: {q}"),
    ("", "Documento 1: {a}\n\nDocumento 2: {b}\n\nPregunta: {q}\n\nResponde solo con los documentos."),
    ("", "資料1: {a}\n資料2: {b}\n\n質問: {q}\n資料だけを使って回答してください。"),
    ("Answer with citations like [1].", "[1] {a}\n\n[2] {b}\n\n[3] {c}\n\n{q}"),
    ("", 'Knowledge base:\n<article id="KB-1">{a}</article>\n<article id="KB-2">{b}</article>\n\nQ: {q}'),
    ("", "DOCS\n[doc1] {a}\n[doc2] {b}\nEND DOCS\nQuestion: {q}"),
    ("", "<context>{a} {b}</context>\nUsing the context, answer this question.\n<query>{q}</query>"),
    ("", "Réponds à partir des documents.\nDocument 1 : {a}\nDocument 2 : {b}\nQuestion : {q}"),
)
SLOT_TEMPLATES = (
    (
        "Extract these fields from tickets:\n- product: its name\n- team: who works on it\n- error: its text",
        "{ticket}",
    ),
    (
        "",
        (
            "Identify the entities of this schema in the text.\n"
            '{"product": {"type": "string"}, "severity": {"type": "string", "enum": ["low", "high"]}, '
            '"person": {"type": "string"}}\n\nText: {ticket}'
        ),
    ),
    (
        "",
        "Fill the slots: name (string: who), size (choice [s, l]: guess), city (string: place)\n{ticket}",
    ),
    (
        "",
        (
            "<entry><item>name or null</item><since>date or null</since><size>number or null</size></entry>\n"
            "Complete the entry from this message:\n{ticket}"
        ),
    ),
    ("Extrahiere die Felder aus der Meldung.\n- produkt: Name\n- ort: Stadt\n- fehler: Wortlaut", "{ticket}"),
    (
        "",
        "Extrais ces champs du texte.\n- produit : nom\n- ville : lieu\n- erreur : libellé\n\n{ticket}",
    ),
    ("Populate this form from the text. Fields:\n* product - what\n* team - who\n* error - text", "{ticket}"),
    (
        "",
        (
            "```yaml\nitem: {type: string}\nteam: {type: string}\nsize: {type: string}\n```\n"
            "Fill the schema from this.\n{ticket}"
        ),
    ),
    ("", "Rellena los campos:\n- producto: nombre\n- equipo: nombre\n- error: texto\n\n{ticket}"),
)
PLAN_TEMPLATES = (
    ("", "Turn the task into a workflow.\nNode:\n1: <step>\nEdges: (START,1) ... (n,END)\n\n{task}"),
    (
        "You decompose tasks into subtasks with the available actions.",
        '{task}\nReply as {"steps": [], "depends_on": []}',
    ),
    (
        "",
        "{task}\n\nWrite the workflow. A line 'Nodes:' has the steps, a line 'Edges:' their order.",
    ),
)

OTHER_TEMPLATES = (
    ("", "Translate this ticket into French:\n{ticket}"),
    ("", "Classify the ticket as hardware or software.\n{ticket}"),
    ("", "Write a polite reply to this case:\n{ticket}"),
    ("", "Rewrite the following case in plain language, do not shorten it:\n{ticket}"),
    ("", "How would you improve this ticket?\n{ticket}"),
    (
        "",
        "Write a function that extracts fields:\n- number: int\n- text: str\n- team: str\n{ticket}",
    ),
    ("", "Design a database schema with fields for tickets such as this one:\n{ticket}"),
    ("", "Who is right in this chat?\n{chat}"),
    ("", "Translate the conversation into German.\n{chat}"),
    ("", "Continue this chat.\n{chat}"),
    ("", "Document 1: {a}\nDocument 2: {b}\nWhich of the two is longer?"),
    ("", "Paraphrase the two passages.\nPassage 1: {a}\nPassage 2: {b}"),
)
"""The same texts for something else."""

CHAT_LOG = "Ana: hello\nBob: hello, what is it?\nAna: my light is red\nBob: turn it off and on\nAna: thanks"


@pytest.mark.parametrize(
    ("task", "templates"),
    [
        (Task.CASE_SUMMARY, CASE_TEMPLATES),
        (Task.CHAT_SUMMARY, CHAT_TEMPLATES),
        (Task.QUESTION_ANSWERING, ANSWER_TEMPLATES),
        (Task.SLOT_FILLING, SLOT_TEMPLATES),
        (Task.WORKFLOW, PLAN_TEMPLATES),
        (None, OTHER_TEMPLATES),
    ],
)
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


def _filled(templates, rows):
    return [asked(fill(user, row), fill(system, row)) for system, user in templates for row in rows]


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
    wrapped = {
        Task.CASE_SUMMARY: _filled(CASE_TEMPLATES, rows),
        Task.CHAT_SUMMARY: _filled(CHAT_TEMPLATES, chats),
        Task.QUESTION_ANSWERING: _filled(ANSWER_TEMPLATES, documents),
        Task.SLOT_FILLING: _filled(SLOT_TEMPLATES, rows),
        Task.WORKFLOW: _filled(PLAN_TEMPLATES, plans),
        None: _filled(OTHER_TEMPLATES, [row | documents[0] | chats[0] for row in rows]),
    }
    plain = [asked(text) for language in LANGUAGES for text in questions(language)]
    plain += [asked(text) for text in [*rephrased()[::10], *cases[::30], *(row["chat"] for row in chats)]]
    return [(task, turns) for task, every in wrapped.items() for turns in every] + [
        (None, turns) for turns in plain
    ]


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
