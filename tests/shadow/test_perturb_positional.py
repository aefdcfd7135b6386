"""Positional perturbations: what moves, what goes along, what stays."""

from __future__ import annotations

import json
import random
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import AS_BEFORE
from evenkeel.shadow.perturbations import NotApplicable
from evenkeel.shadow.perturbations.positional import (
    POSITIONAL,
    Context,
    Mixed,
    OutputInstructions,
    Reordering,
)
from evenkeel.shadow.perturbations.positional.reordering import bullet_lists, order_matters
from evenkeel.shadow.prompt import Block, PromptView
from evenkeel.shadow.prompt.template import TemplateLearner

SEEDS = range(30)


def told(text, type_="instructions"):
    return Block("template", text, type_)


def given_text(text, type_="text"):
    return Block("input", text, type_)


def view_of(*slots):
    """A chat request; each slot is a role and its blocks."""
    messages = [{"role": role, "content": "".join(one.text for one in blocks)} for role, *blocks in slots]
    body = json.dumps({"messages": messages}).encode()
    return PromptView.parse(body, lambda _: [blocks for _, *blocks in slots])


def texts_of(view):
    """The strings that a body carries, read back from its bytes."""
    return [message["content"] for message in json.loads(view.body())["messages"]]


def variants(kind, view):
    """The user's text in every variant that thirty seeds make."""
    made = [kind.apply(view, 1.0, random.Random(seed)) for seed in SEEDS]
    assert all(isinstance(one, PromptView) for one in made), made[0]
    return {texts_of(one)[-1] for one in made}


def reason(kind, view):
    outcome = kind.apply(view, 1.0, random.Random(1))
    assert isinstance(outcome, NotApplicable)
    return outcome.reason


CASE = "The scanner in the loading bay reads every third code only. " * 5 + "\n\nA new cable changed nothing."
SUMMARY = view_of((
    "user",
    told("You write for engineers.\n\nHere is the case to be summed up:\n```\n"),
    given_text(CASE),
    told("\n```\n\nLeave names out.\n\n"),
    told('# Output\n\nAnswer in JSON:\n{"summary": <string>}\n', "output_instructions"),
))  # fmt: skip
LED_IN = f"Here is the case to be summed up:\n```\n{CASE}\n```"

QUESTION = view_of(
    ("system", told("You answer from documents only.")),
    (
        "user",
        told("These may help:\n\nDoc 1:\n"),
        given_text("Lamps are in store A.\n\nAsk for a key."),
        told("\n\nDoc 2:\n"),
        given_text("Cables are in store B."),
        told("\n\nDoc 3:\n"),
        given_text("Store C is closed."),
        told("\n\nQuestion: "),
        given_text("Where are lamps?"),
        told("\n\nCite each sentence as (doc_1).", "output_instructions"),
    ),
)
DOCUMENTS = (
    "Doc 1:\nLamps are in store A.\n\nAsk for a key.",
    "Doc 2:\nCables are in store B.",
    "Doc 3:\nStore C is closed.",
)


def test_context_takes_its_lead_in_and_fence_along():
    """It goes to the beginning or before the output instructions, and not under their heading."""
    rest = "You write for engineers.\n\nLeave names out."
    output = '# Output\n\nAnswer in JSON:\n{"summary": <string>}'
    assert variants(Context(), SUMMARY) == {
        f"{LED_IN}\n\n{rest}\n\n{output}\n",
        f"{rest}\n\n{LED_IN}\n\n{output}\n",
    }


def test_documents_move_together_with_what_announces_them():
    """All documents of a message are one context; the question stays where it is."""
    documents = "These may help:\n\n" + "\n\n".join(DOCUMENTS)
    question, citing = "Question: Where are lamps?", "Cite each sentence as (doc_1)."
    assert variants(Context(), QUESTION) == {
        f"{question}\n\n{documents}\n\n{citing}",
        f"{question}\n\n{citing}\n\n{documents}",
    }


def test_tags_around_all_documents_move_with_them():
    """The outer element stays closed, and around its documents."""
    view = view_of((
        "user",
        told('<documents>\n<document id="1">\n'),
        given_text("One."),
        told('\n</document>\n<document id="2">\n'),
        given_text("Two."),
        told("\n</document>\n</documents>\n\nHow do they differ?"),
    ))  # fmt: skip
    one, two = ('<document id="1">\nOne.\n</document>', '<document id="2">\nTwo.\n</document>')
    assert variants(Context(), view) == {f"How do they differ?\n\n<documents>\n{one}\n{two}\n</documents>"}
    assert reason(Reordering(), view) == "nothing_to_reorder"


def test_a_short_input_is_context_where_there_is_no_other():
    """Lines with values move as one block; a name inside a sentence is no context."""
    view = view_of((
        "user",
        told("You help "),
        given_text("Ada"),
        told(" with tickets.\n\nIssue: "),
        given_text("no sound"),
        told("\nTier: "),
        given_text("gold"),
        told("\n\nName the team."),
    ))  # fmt: skip
    assert variants(Context(), view) == {
        "Issue: no sound\nTier: gold\n\nYou help Ada with tickets.\n\nName the team.",
        "You help Ada with tickets.\n\nName the team.\n\nIssue: no sound\nTier: gold",
    }


def test_context_is_named_missing_or_stuck():
    """Nothing typed, nothing beside it, history: each has its reason."""
    assert reason(Context(), view_of(("user", given_text("Why is the sky blue? " * 30)))) == "no_context"
    assert reason(Context(), view_of(("system", told("Be kind.")))) == "no_context"
    lone = view_of(("system", told("Sum up.")), ("user", given_text("Doc 1: a\n", "document")))
    assert reason(Context(), lone) == "nowhere_to_move"
    past = view_of(
        ("tool", Block("history", "Doc 1: a\n\n", "document"), Block("history", "Doc 2: b\n\nSo?"))
    )
    assert {reason(kind, past) for kind in POSITIONAL} == {
        "no_context", "no_output_instructions", "nothing_to_reorder", "too_few_changes",
    }  # fmt: skip


def test_code_in_a_users_words_stays():
    """Without a template nobody knows which code belongs to which sentence."""
    code = given_text("```\nf(1)\n```\n", "code")
    view = view_of(("user", given_text("It fails at:\n"), code, given_text("and not with 2.")))
    assert reason(Context(), view) == "no_context"


def test_output_instructions_go_to_the_other_end_with_their_heading():
    """Alone in the prompt, a user message offers just its beginning when they stand at the end."""
    view = view_of(
        ("user", told("Sort it.\n\nOutput Structure\n\n"), told("JSON, please.", "output_instructions"))
    )
    assert variants(OutputInstructions(), view) == {"Output Structure\n\nJSON, please.\n\nSort it."}
    first = view_of(
        ("user", told("JSON, please.\n\n", "output_instructions"), told("Sort it:\n"), given_text("b, a"))
    )
    assert variants(OutputInstructions(), first) == {"Sort it:\nb, a\n\nJSON, please."}


def test_output_instructions_change_between_system_and_user_message():
    """From the user message they may go to the end of the system message, and the other way round."""
    made = [OutputInstructions().apply(QUESTION, 1.0, random.Random(seed)) for seed in SEEDS]
    systems = {texts_of(one)[0] for one in made}
    assert systems == {
        "You answer from documents only.",
        "You answer from documents only.\n\nCite each sentence as (doc_1).",
    }
    back = view_of(
        ("system", told("Be kind.\n\n"), told("Use XML.", "output_instructions")),
        ("user", given_text("First question")),
        ("assistant", Block("history", "An answer")),
        ("user", given_text("And now?\n")),
    )
    made = [texts_of(OutputInstructions().apply(back, 1.0, random.Random(seed))) for seed in SEEDS]
    assert ["Be kind.", "First question", "An answer", "And now?\n\nUse XML.\n"] in made
    assert ["Use XML.\n\nBe kind.", "First question", "An answer", "And now?\n"] in made
    assert {tuple(one[1:3]) for one in made} == {("First question", "An answer")}


def test_output_instructions_never_leave_a_message_empty():
    """If they are all a message holds, they stay."""
    view = view_of(("system", told("Use XML.", "output_instructions")), ("user", given_text("Hello")))
    assert reason(OutputInstructions(), view) == "nowhere_to_move"
    assert reason(OutputInstructions(), view_of(("user", given_text("Hello")))) == "no_output_instructions"


def test_documents_change_places_with_their_labels():
    """Every order but the original one comes up; each label keeps its text, all else its place."""
    head, tail = "These may help:\n\n", "\n\nQuestion: Where are lamps?\n\nCite each sentence as (doc_1)."
    made = variants(Reordering(), QUESTION)
    one, two, three = DOCUMENTS
    orders = ((one, three, two), (two, one, three), (two, three, one), (three, one, two), (three, two, one))
    assert made == {head + "\n\n".join(order) + tail for order in orders}


def test_list_items_change_places():
    """Items of one level move with what is indented under them; blank lines stay where they were."""
    view = view_of(
        ("user", told("Rules for you:\n- Be brief.\n  - Really.\n- Be kind.\n\n- Be exact.\n\nGo on."))
    )
    items = ("- Be brief.\n  - Really.", "- Be kind.", "- Be exact.")
    made = variants(Reordering(), view)
    assert len(made) == 5
    for text in made:
        body = text.removeprefix("Rules for you:\n").removesuffix("\n\nGo on.")
        assert sorted(re.split(r"\n(?=-)|\n\n(?=-)", body)) == sorted(items)
        assert body.count("\n\n") == 1


@pytest.mark.parametrize("text", [
    "Do this:\n1. Open it.\n2. Close it.\n",
    "Do this:\n- Open it.\n- Then close it.\n",
    "Steps:\n- Open it.\n- Close it.\n",
    "Notes:\n- 2024-03-01 opened\n- 2024-03-02 closed\n",
    "Notes:\n- 10:15 opened\n- 10:20 closed\n",
    "Talk:\n- Agent: Hello\n- Guest: Hello\n- Agent: How are you?\n",
    "Hinweise:\n- Öffne es.\n- Danach schließe es.\n",
    "Regeln:\n- Lies den Text.\n- Use the previous rule again.\n",
])  # fmt: skip
def test_order_that_matters_is_kept(text):
    """Steps, numbered lists, logs and talks are not touched."""
    assert reason(Reordering(), view_of(("user", told(text)))) in ("order_matters", "nothing_to_reorder")


def test_reasons_of_reordering():
    """Nothing there, nothing that may move, nothing that would differ."""
    assert reason(Reordering(), view_of(("user", told("Sum up.")))) == "nothing_to_reorder"
    assert reason(Reordering(), view_of(("user", told("- a\n- a\n")))) == "nothing_to_reorder"
    assert reason(Reordering(), view_of(("user", told("- First a\n- Next b\n")))) == "order_matters"
    log = view_of(("user", *(given_text(f"Update {n}:\n2024-01-0{n} ok\n\n", "document") for n in (1, 2))))
    assert reason(Reordering(), log) == "order_matters"


def test_a_conditional_then_is_no_order():
    """A "then" behind an "if" says nothing of the items around it."""
    assert not order_matters(["- If it rains, then stay.", "- Be kind."])
    assert order_matters(["- Open it and then wait.", "- Be kind."])
    assert not order_matters(["- Name: Ada", "- Team: blue"])
    assert order_matters(["- a", "- b"], "Do these in order:")


def test_an_item_that_goes_on_elsewhere_keeps_its_list():
    """A value filled into the last item, or a line that may belong to it, ends at an unknown place."""
    glued = view_of(
        ("user", told("- Name: "), given_text("Ada"), told("\n- Be kind.\n- Be brief for "), given_text("Bo"))
    )
    assert reason(Reordering(), glued) == "nothing_to_reorder"
    assert bullet_lists("- one\n- two\ngoes on here\n") == []
    assert bullet_lists("```\n- one\n- two\n```\n") == []
    assert [one.texts for one in bullet_lists("- one\n- two\n\nText.")] == [("- one", "- two")]


def test_mixed_does_at_least_two_changes():
    """What stands where always changes, and the documents' order in most variants too."""
    reordered = 0
    for seed in SEEDS:
        system, user = texts_of(Mixed().apply(QUESTION, 1.0, random.Random(seed)))
        starts = [user.index(one) for one in DOCUMENTS]
        parts = (min(starts), user.index("Question"), user.find("Cite"))
        assert "Cite" in system or parts != tuple(sorted(parts)), user
        reordered += starts != sorted(starts)
    assert 15 <= reordered < 30
    assert reason(Mixed(), view_of(("user", told("- a\n- b\n")))) == "too_few_changes"


def test_windows_line_ends_stay():
    """New neighbours are parted by the kind of line end that the prompt has."""
    view = view_of(("user", given_text("Doc 1: a\r\n\r\n", "document"), given_text("Task: define a.")))
    assert variants(Context(), view) == {"Task: define a.\r\n\r\nDoc 1: a"}


@pytest.mark.parametrize("kind", POSITIONAL, ids=lambda one: one.name)
def test_the_contract_of_each_kind(kind):
    """A name in the category, no grades, and an answer in the form of before."""
    assert kind.name.startswith("positional.")
    assert not kind.graded
    assert kind.wanted == AS_BEFORE
    assert kind.requires == frozenset()


_PARAGRAPHS = (
    "Be brief.",
    "Rules:\n- a one\n- a two\n- a three",
    "Here is what to read:",
    "# Case",
    "Doc 7:",
    "```",
    "Notes",
    "“",
)
_template_types = st.sampled_from(["instructions", "output_instructions", "examples", "document", "code"])
_block = st.one_of(
    st.builds(told, st.sampled_from(_PARAGRAPHS), _template_types),
    st.builds(
        given_text,
        st.sampled_from(["Ada", "Doc 2:\nalpha", "x " * 150, "- k\n- l", "```\ncode\n```"]),
        st.sampled_from(["text", "document", "list", "code"]),
    ),
)  # fmt: skip
_gaps = st.sampled_from(["\n\n", "\n", " ", "", "\n\n\n", "\r\n\r\n"])


@st.composite
def prompts(draw):
    """One to three messages of any blocks with any blanks between."""
    slots = []
    for role in draw(st.sampled_from([("user",), ("system", "user"), ("system", "user", "user")])):
        blocks = draw(st.lists(st.tuples(_block, _gaps), min_size=1, max_size=7))
        slots.append((role, *(Block(one.kind, one.text + gap, one.type) for one, gap in blocks)))
    return view_of(*slots)


@given(prompts(), st.sampled_from(POSITIONAL), st.integers(0, 99))
def test_any_prompt_keeps_all_its_words(view, kind, seed):
    """A variant differs, holds every line once, leaves no message empty and glues nothing together."""
    outcome = kind.apply(view, 1.0, random.Random(seed))
    if isinstance(outcome, NotApplicable):
        return
    before, after = texts_of(view), texts_of(outcome)
    assert before != after
    assert [one.text for one in outcome.slots] == before
    assert all(text.strip() for text in after)
    assert Counter(_lines(before)) == Counter(_lines(after))
    assert _whole(view) == _whole(outcome)
    assert outcome == kind.apply(view, 1.0, random.Random(seed))


def _whole(view):
    """What is in one piece before and after."""
    inputs = [one for one in view.segments if one.kind == "input"]
    return Counter((one.type, one.text.strip()) for one in inputs if one.type in ("document", "code"))


def _lines(texts):
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]


def typed_by_rules(text):
    """A user's message of whose template nothing is known."""
    body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    return PromptView.parse(body, TemplateLearner().classifier(""))


FACTS = "[1] Lamps are in store A.\n\n[2] Cables are in store B."


@pytest.mark.parametrize("pointing", [
    "Using only the context above, answer the question.",
    "Answer from the documents listed above.",
    "Antworte nur anhand der obigen Dokumente.",
    "Responde solo con los documentos anteriores.",
    "Répondez uniquement d'après les documents ci-dessus.",
    "Rispondi solo in base ai documenti di cui sopra.",
    "Antwoord alleen op basis van bovenstaande documenten.",
    "Responda apenas com base nos documentos acima.",
    "上記の文書だけを使ってください。",
])  # fmt: skip
def test_context_never_moves_behind_words_that_point_back_at_it(pointing):
    """In nine languages: what is said to stand above stays above."""
    view = typed_by_rules(f"{FACTS}\n\n{pointing}\n\nQuestion: Where are lamps?")
    assert reason(Context(), view) == "bound"


@pytest.mark.parametrize("pointing", [
    "Answer from the documents below.",
    "Beantworte die Frage nur anhand der untenstehenden Dokumente.",
    "Répondez d'après les documents ci-dessous.",
    "Responde con los documentos siguientes.",
    "下記の文書だけを使って答えてください。",
])  # fmt: skip
def test_context_never_moves_before_words_that_point_ahead_at_it(pointing):
    """It may still go further down, behind the question."""
    view = typed_by_rules(f"{pointing}\n\n{FACTS}\n\nQuestion: Where are lamps?")
    assert variants(Context(), view) == {f"{pointing}\n\nQuestion: Where are lamps?\n\n{FACTS}"}


def test_a_question_behind_documents_is_no_document():
    """It stays a part of its own, behind them, and no document takes it along."""
    view = typed_by_rules(f"Answer briefly.\n\n{FACTS}\n\nWhere are lamps?")
    question = "Where are lamps?"
    assert variants(Context(), view) == {f"{FACTS}\n\nAnswer briefly.\n\n{question}"}
    first, second = FACTS.split("\n\n")
    assert variants(Reordering(), view) == {f"Answer briefly.\n\n{second}\n\n{first}\n\n{question}"}


def test_nothing_moves_where_a_document_would_swallow_what_follows():
    """Prose without a mark of its own would read as the end of the last document."""
    view = typed_by_rules("The warehouse has three stores.\n\n" + FACTS + "\n\nQuestion: Where are lamps?")
    assert variants(Context(), view) == {
        f"The warehouse has three stores.\n\nQuestion: Where are lamps?\n\n{FACTS}"
    }


def test_sections_move_whole_and_nothing_comes_under_another_heading():
    """A section takes its heading along; what stands before the first heading stays first."""
    parts = ("# Rules\nBe brief.", f"# Documents\n{FACTS}", "# Question\nWhere are lamps?")
    rules, documents, question = parts
    assert variants(Context(), typed_by_rules("\n\n".join(parts))) == {
        "\n\n".join(order) for order in ((documents, rules, question), (rules, question, documents))
    }
    preface = "You help in a warehouse."
    made = variants(Context(), typed_by_rules("\n\n".join((preface, *parts))))
    assert all(text.startswith(preface) for text in made)


def test_a_list_stays_with_the_line_that_introduces_it():
    """An order of the whole moves the line and its list, or neither."""
    text = "Extract these entities:\n- name\n- city\n\nText: Ada of Leeds.\n\nReturn only JSON."
    assert variants(OutputInstructions(), typed_by_rules(text)) == {
        "Return only JSON.\n\nExtract these entities:\n- name\n- city\n\nText: Ada of Leeds."
    }


@pytest.mark.parametrize("said", [
    "If two rules clash, the second rule counts.", "Bei Streit gilt die letzte Regel.",
    "最後の項目を優先してください。",
])  # fmt: skip
def test_lists_whose_items_are_named_by_their_place_stay(said):
    """What is called the second rule would be another one."""
    assert reason(Reordering(), typed_by_rules(f"Rules:\n- Be brief.\n- Be kind.\n\n{said}")) == "bound"


@pytest.mark.parametrize("items", [
    "- red;\n- green; and\n- blue.",
    "- If it rains, stay.\n- Otherwise, go.",
    "- Lies es.\n- Ansonsten frag nach.",
])  # fmt: skip
def test_items_that_go_on_with_one_another_stay(items):
    """One sentence over several items, or an item that begins where the last one ended."""
    assert reason(Reordering(), typed_by_rules(f"Mind this:\n{items}\n")) == "order_matters"


@pytest.mark.parametrize("form", [
    "Use the format below.\n\nname: full name\ndate: of birth\ncity: of birth",
    "Fill this in.\nname: <text>\ndate: <date>\ncity: <text>",
    "The rules are numbered:\n\n[1] Be brief.\n\n[2] Be kind.",
    "Mind this:\n- Be brief.\n- An agenda as given here:\n\n1. Welcome\n2. Vote",
])  # fmt: skip
def test_forms_and_numbered_parts_keep_their_order(form):
    """The answer has the order of a form, people cite the numbers of rules, and a lead-in stays last."""
    assert reason(Reordering(), typed_by_rules(form)) in {"nothing_to_reorder", "order_matters"}


def test_the_indentation_of_what_follows_stays():
    """Code behind a part that moves is code as before."""
    view = view_of((
        "user",
        given_text("Doc 1: a\n\n", "document"),
        told("Explain it.\n\n"),
        told("    def f():\n        pass", "code"),
    ))  # fmt: skip
    assert all("\n    def f():\n        pass" in text for text in variants(Context(), view))
