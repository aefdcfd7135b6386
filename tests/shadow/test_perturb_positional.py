"""Positional perturbations: what moves, what goes along, what stays, by rule and as a model lists it."""

import json
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import AS_BEFORE
from evenkeel.shadow.perturbations import NotApplicable
from evenkeel.shadow.perturbations.gate import faults_of
from evenkeel.shadow.perturbations.positional.moves import (
    LISTED,
    POSITIONAL,
    Context,
    MixedMoves,
    OutputInstructions,
    Reordering,
)
from evenkeel.shadow.perturbations.protocol import attempt
from evenkeel.shadow.prompt import Block, PromptView
from evenkeel.shadow.prompt.template import TemplateLearner, fixed_template
from tests.cases import cases
from tests.shadow.pretended_rewriter import view_of as chat_of

CASES = cases(__file__)

SEEDS = range(30)


def view_of(*messages, template=()):
    """A chat whose template is unknown, or known from its texts with placeholders."""
    classify = fixed_template(template) if template else TemplateLearner().classifier("")
    return chat_of(*messages, classify=classify)


def texts_of(view):
    """The strings that a body carries, read back from its bytes."""
    return [message["content"] for message in json.loads(view.body())["messages"]]


def variants(kind, view):
    """The user's text in every variant that thirty seeds make."""
    made = [kind.apply(view, 1.0, random.Random(seed)) for seed in SEEDS]
    assert all(isinstance(variant, PromptView) for variant in made), made[0]
    return {texts_of(variant)[-1] for variant in made}


def reason(kind, view):
    outcome = kind.apply(view, 1.0, random.Random(1))
    return outcome.reason


ROLE = "You work in a warehouse."
FACTS = "[1] Lamps are in store A.\n\n[2] Cables are in store B.\n\n[3] Store C is shut."
ASKED = "Question: Where are lamps?"
FORM = "Answer in one sentence."
PROMPT = view_of(("user", f"{ROLE}\n\n{FACTS}\n\n{ASKED}\n\n{FORM}"))


def test_documents_move_together():
    """Documents go behind all parts, never where the next part would read as the end of the last document."""
    assert variants(Context(), PROMPT) == {f"{ROLE}\n\n{ASKED}\n\n{FORM}\n\n{FACTS}"}


def test_output_instructions_move():
    """The instructions go to the beginning, or before another part; the documents stay as they are."""
    assert variants(OutputInstructions(), PROMPT) == {
        f"{FORM}\n\n{ROLE}\n\n{FACTS}\n\n{ASKED}",
        f"{ROLE}\n\n{FORM}\n\n{FACTS}\n\n{ASKED}",
    }


def test_documents_change_places_with_their_labels():
    """Every order but the original one comes up."""
    first, second, third = FACTS.split("\n\n")
    orders = (
        (first, third, second), (second, first, third), (second, third, first), (third, first, second),
        (third, second, first),
    )  # fmt: skip
    assert variants(Reordering(), PROMPT) == {
        f"{ROLE}\n\n" + "\n\n".join(order) + f"\n\n{ASKED}\n\n{FORM}" for order in orders
    }


BACK, AHEAD, SECTIONS = (CASES[name] for name in ("pointing back", "pointing ahead", "sections"))
PLACES = [
    *CASES["places"],
    *(("context", f"{ROLE}\n\n{FACTS}\n\n{said}\n\n{ASKED}", "bound") for said in BACK),
    *(("context", f"{said}\n\n{FACTS}\n\n{ASKED}", "bound") for said in AHEAD),
]


@pytest.mark.parametrize(("name", "text", "why"), PLACES)
def test_what_has_its_place_stays_there(name, text, why):
    """Nothing may move, and the reason says what is missing or holds it."""
    (kind,) = (kind for kind in POSITIONAL if kind.name == f"positional.{name}")
    given = text.format(asked=ASKED, sections=SECTIONS, facts=FACTS, form=FORM)
    assert reason(kind, view_of(("user", given))) == why


@pytest.mark.parametrize(
    "pointing", ["the previous document", "le document suivant", "el documento anterior"]
)
def test_documents_stay_where_a_system_message_counts_them(pointing):
    """The "previous" document depends on the order, and on where the documents stand."""
    view = view_of(("system", f"Compare with {pointing}."), ("user", f"{FACTS}\n\n{ASKED}\n\n{FORM}"))
    assert reason(Reordering(), view) == "nothing_to_reorder"
    assert reason(Context(), view) == "bound"


@pytest.mark.parametrize(("text", "whole"), CASES["wholes"])
def test_what_belongs_together_stays_together(text, whole):
    view = view_of(("user", text))
    outcomes = [kind.apply(view, 1.0, random.Random(seed)) for kind in POSITIONAL for seed in SEEDS]
    made = [texts_of(outcome)[0] for outcome in outcomes if isinstance(outcome, PromptView)]
    assert made
    assert all(whole in text for text in made)


def test_a_heading_of_documents_stays_above_them():
    """A line such as Sources: is no document of its own: it stands before the first, whichever that is."""
    view = view_of(("user", f"{ROLE}\n\nSources:\n{FACTS}\n\n{ASKED}\n\n{FORM}"))
    for kind in POSITIONAL:
        assert all(text.partition("Sources:")[2].lstrip().startswith("[") for text in variants(kind, view))


def test_mixed_does_at_least_two_moves():
    """Documents in another order and a part elsewhere, or two parts elsewhere."""
    for text in variants(MixedMoves(), PROMPT):
        places = [text.index(part) for part in (*FACTS.split("\n\n"), ASKED, FORM)]
        reordered = places[:3] != sorted(places[:3])
        context = min(places[:3]) > places[3]
        output = places[4] < max(places)
        assert reordered + context + output >= 2, text


def test_demonstrations_change_places_and_the_open_one_stays():
    """The last pair is what is asked."""
    pairs = ("Input: a\nOutput: b", "Input: c\nOutput: d")
    last = "Input: e\nOutput:"
    view = view_of(("user", "Sort them.\n\n" + "\n\n".join((*pairs, last))))
    assert variants(Reordering(), view) == {"Sort them.\n\n" + "\n\n".join((*reversed(pairs), last))}


SHOTS = ("Ticket: No toner.\nUrgency: low", "Ticket: Nobody can log in.\nUrgency: high")


def test_examples_with_the_label_of_a_document_stay_under_their_heading():
    """The examples change places, and the text to classify is none of them."""
    asked = f"Now classify this ticket:\nIt burns.\n\n{FORM}"
    view = view_of(("user", "\n\n".join(("Examples:", *SHOTS, asked))))
    assert variants(Reordering(), view) == {"\n\n".join(("Examples:", *reversed(SHOTS), asked))}
    assert reason(Context(), view) == "no_context"


def test_sections_move_whole():
    """A section takes its heading along, and nothing comes under another one."""
    rules, documents, question = "# Rules\nBe brief.", f"# Documents\n{FACTS}", "# Question\nWhere are lamps?"
    made = variants(Context(), view_of(("user", f"{rules}\n\n{documents}\n\n{question}")))
    assert made == {
        "\n\n".join(order) for order in ((documents, rules, question), (rules, question, documents))
    }


def test_windows_line_ends_stay():
    """New neighbours are parted by the kind of line end that the prompt has."""
    view = view_of(("user", f"{ROLE}\r\n\r\n[1] a b\r\n\r\n[2] c d\r\n\r\n{ASKED}"))
    assert all("\n" not in text.replace("\r\n", "") for text in variants(Context(), view))


TEMPLATE = "You sort mail.\n\nRules:\n- Be brief.\n\nMail:\n{mail}\n\nName the team.\nReply in JSON."


def reply_of(*blocks):
    """A model's list of blocks."""
    keys = ("first", "last", "part")
    return json.dumps(
        {"blocks": [dict(zip(keys, block[:3], strict=True)) | dict(block[3:]) for block in blocks]}
    )


# Lines: 1 role, 2 blank, 3 and 4 rules, 5 blank, 6 label, 7 value, 8 blank, 9 order, 10 form
LISTING = reply_of(
    (1, 2, "other", ("fixed", True)),
    (3, 5, "other"),
    (6, 8, "context"),
    (9, 9, "question", ("after", [3])),
    (10, 10, "output"),
)


def by_model(kind, mail, reply=LISTING, seed=1):
    view = view_of(("user", TEMPLATE.format(mail=mail)), template=[TEMPLATE])
    draft = attempt(kind, view, 1.0, random.Random(seed))
    return draft, draft.finish([reply])


def test_a_model_lists_the_blocks_once_for_a_template():
    """The task is the same whatever fills the template, so that the rewriter's cache knows it."""
    (first, _), (other, _) = (by_model(LISTED[0], mail) for mail in ("Hello.\n\nThe lamp is dark.", "Bye."))
    assert first.tasks == other.tasks
    (task,) = first.tasks
    assert task.kind == "blocks"
    assert "Hello" not in task.text
    assert "7| {document 1}" in task.text
    assert task.text.endswith("10| Reply in JSON.")


def test_what_a_model_says_is_free_moves():
    """The mail goes up, the form anywhere; what the order needs stays before it, and the role stays first."""
    mail = "Hello.\n\nThe lamp is dark."
    for kind in (LISTED[0], LISTED[1], LISTED[3]):
        for seed in SEEDS:
            _, variant = by_model(kind, mail, seed=seed)
            assert isinstance(variant, PromptView)
            (text,) = texts_of(variant)
            assert text.startswith("You sort mail.\n\n")
            assert f"Mail:\n{mail}" in text
            assert text.index("Mail:") < text.index("Name the team.")
            assert text != TEMPLATE.format(mail=mail)


@pytest.mark.parametrize(("reply", "fault"), [
    ("no list", "no JSON object"),
    (reply_of((1, 9, "other")), "end with line 9 of 10"),
    (reply_of((1, 4, "other"), (6, 10, "output")), "must begin with line 5"),
    (reply_of((1, 11, "other")), "must begin with line 1"),
    (reply_of((1, 10, "chorus")), "unknown part"),
    (reply_of((1, 5, "other", ("after", [2])), (6, 10, "output")), "numbers of blocks before it"),
])  # fmt: skip
def test_a_list_that_does_not_tile_the_text_is_refused(reply, fault):
    """The list goes back to the model with the reason; if none is right, the rules decide."""
    draft, outcome = by_model(LISTED[0], "Hello.", reply)
    (found,) = faults_of(draft.tasks[0], reply)
    assert fault in found.detail
    assert isinstance(outcome, (PromptView, NotApplicable))


@pytest.mark.parametrize("kind", [*POSITIONAL, *LISTED], ids=lambda kind: f"{kind.name} {kind.by}")
def test_the_contract_of_each_kind(kind):
    """A name in the category, no grades, and an answer in the form of before; versions tell who chose."""
    assert kind.name.startswith("positional.")
    assert not kind.graded
    assert kind.wanted == AS_BEFORE
    assert kind.version % 2 == (kind.by == "rewriter")


APPLICATIONS = CASES["applications"]


def test_most_prompts_with_context_order_and_form_have_a_variant():
    """Rules alone give at least one variant."""
    applicable = 0
    for text in APPLICATIONS:
        view = view_of(("user", text))
        made = [attempt(kind, view, 1.0, random.Random(1)) for kind in POSITIONAL]
        applicable += any(isinstance(variant, PromptView) for variant in made)
    assert applicable >= 0.4 * len(APPLICATIONS)


_PIECES = st.sampled_from([
    "Be brief.", "Rules:\n- a one\n- a two", "Here is what to read:", "# Case", "Doc 7:\nalpha", "[2] z",
    "Doc 8: beta", "```\ncode\n```", "Notes", "“", "[1] x y", "Question: why?", "Answer in JSON.",
    "Input: a\nOutput: b", "Sources:", "Input: c\nOutput:", "<text>\nabc\n</text>", "x " * 150,
    "Use the text above.", "Ada",
])  # fmt: skip
_GAPS = st.sampled_from(["\n\n", "\n", " ", "\n\n\n", "\r\n\r\n"])


@given(
    st.lists(st.tuples(_PIECES, _GAPS), min_size=1, max_size=8),
    st.sampled_from(POSITIONAL),
    st.integers(0, 99),
    st.booleans(),
)
def test_any_prompt_keeps_all_its_words(pieces, kind, seed, known):
    """A variant differs, holds every line once, leaves no message empty and is the same each time."""
    text = "".join(piece + gap for piece, gap in pieces)
    body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    blocks = [
        Block("template" if place % 2 else "input", piece + gap) for place, (piece, gap) in enumerate(pieces)
    ]
    # A view reads "\r\n" as "\n".
    known = known and "\r" not in text
    view = PromptView.parse(body, (lambda _: [blocks]) if known else TemplateLearner().classifier(""))
    outcome = kind.apply(view, 1.0, random.Random(seed))
    if isinstance(outcome, NotApplicable):
        return
    assert isinstance(outcome, PromptView)
    (after,) = texts_of(outcome)
    assert after != text
    assert Counter(_lines(text)) == Counter(_lines(after))
    assert outcome == kind.apply(view, 1.0, random.Random(seed))


def _lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]
