"""Words that a user typed are told from documents, tool results and instructions."""

from __future__ import annotations

import random

import pytest

from evenkeel.shadow.perturbations import NotApplicable, attempt, by_name
from evenkeel.shadow.prompt import PromptView
from tests.shadow.pretended_rewriter import unclassified

DOCUMENTS = "Doc 1: Lamps are in store A, and cables are in store B.\n\nDoc 2: Store C is closed on Sundays."
QUESTION = "Where do I find a new lamp for my desk, and who has the key?"


def typed(view: PromptView) -> list[str]:
    return [slot.text.strip() for slot in view.typed]


@pytest.mark.parametrize(("text", "own"), [
    (QUESTION, [QUESTION]),
    (f"You help in a shop. Answer from these.\n\n{DOCUMENTS}\n\n{QUESTION}", [QUESTION]),
    (f"{DOCUMENTS}\n\nUse only the documents above.\n\nQuestion: {QUESTION}", [f"Question: {QUESTION}"]),
    (
        'Classify the message. Use the format below.\n\n{"label": "a | b"}\n\nMessage: My lamp flickers.',
        ["Message: My lamp flickers."],
    ),
    ("Dokument 1: Lampen.\n\nFrage: Wo sind sie?\n\nAntworte in einem Satz.", ["Frage: Wo sind sie?"]),
    ("文書1: ランプです。\n\n質問: どこですか。\n\nJSONで回答してください。", ["質問: どこですか。"]),
    (f"The user has asked the following question:\n\n{QUESTION}\n\nAnswer in JSON.", [QUESTION]),
    ("You are given the following case:\nThe lamp is dark.\n\nSummarise it.\n\nAnswer in one sentence.", []),
    (f"Search results:\nLamps, 12 euros.\n\n{QUESTION}", [QUESTION]),
])  # fmt: skip
def test_a_users_words_are_told_from_an_applications(text, own) -> None:
    """Labels, questions and lead-ins show what a user typed before a template is known."""
    assert typed(unclassified(("user", text))) == own


@pytest.mark.parametrize(("text", "own"), [
    ("Sort.\n\nInput: good\nOutput: a\n\nInput: bad\nOutput: b\n\nInput: so so\nOutput:", "so so"),
    ("Q: One?\nA: 1\n\nQ: Two?\nA: 2\n\nQ: Three?\nA:", "Three?"),
    ("Review: good\nLabel: a\n\nReview: bad\nLabel: b\n\nReview: so so", "so so"),
    ("Texte : bon\nClasse : a\n\nTexte : moyen\nClasse :", "moyen"),
    ("dog => chien\ncat => chat\nbird =>", "bird"),
    ("Question: How far is it?\nAnswer:", "How far is it?"),
    ("入力: 良い\n出力: a\n\n入力: 悪い\n出力:", "悪い"),
])  # fmt: skip
def test_the_open_demonstration_is_typed(text, own) -> None:
    """The last input of a few-shot prompt is typed by a user, whatever its label."""
    assert typed(unclassified(("user", text))) == [own]


def test_of_a_long_message_only_a_labelled_or_the_last_paragraph_is_typed() -> None:
    """The rest is instructions and data, unless a template tells more."""
    rules = "You sort mail for a shop. " * 20
    data = "The lamp of the customer is dark, and a new one is on its way. " * 8
    for last in ("Please draft a short reply for her.", "What may I tell her?"):
        assert typed(unclassified(("user", f"{rules}\n\n{data}\n\n{last}"))) == [last]
    labelled = f"{rules}\n\nQuestion: What may I tell her?\n\n{data}"
    assert typed(unclassified(("user", labelled))) == ["Question: What may I tell her?"]
    assert typed(unclassified(("user", f"{rules}\n\n{data}"))) == []


def test_tool_results_and_instructions_are_not_typed() -> None:
    """The settings can ask for each of them; earlier answers and code stay."""
    view = unclassified(
        ("system", "Be brief and friendly, please."),
        ("user", QUESTION),
        ("assistant", "One moment."),
        ("tool", "The lamp is in stock, and costs twelve euros."),
        ("user", "And in red?"),
    )
    assert typed(view) == ["And in red?"]
    assert typed(view.changing(["tool_results"])) == ["The lamp is in stock, and costs twelve euros."]
    assert typed(view.changing(["instructions"])) == ["Be brief and friendly, please."]


BY_RULE = by_name(f"general.{kind}" for kind in ("whitespace", "punctuation", "casing", "spelling", "tone"))


@pytest.mark.parametrize("kind", BY_RULE, ids=lambda kind: kind.name)
def test_general_kinds_touch_only_what_a_user_typed(kind) -> None:
    """Documents stand in every variant as they were, unless `inputs` names them."""
    text = f"Answer from these documents.\n\n{DOCUMENTS}\n\n{QUESTION}\n\nAnswer in one sentence."
    view = unclassified(("user", text))
    for seed in range(20):
        variant = kind.apply(view, 0.5, random.Random(seed))
        assert isinstance(variant, PromptView)
        assert DOCUMENTS in variant.text
        assert variant.text.endswith("Answer in one sentence.")
    asked = [kind.apply(view.changing(["documents"]), 0.9, random.Random(seed)) for seed in range(20)]
    assert all(QUESTION in variant.text and variant.text != view.text for variant in asked)


TURNS = (
    ("system", "You help in a shop for lamps. Answer in one sentence."),
    ("user", "Hello, I bought a lamp from you last week."),
    ("assistant", "Hello! How can I help you with it?"),
    ("user", "It flickers, and it gets rather hot."),
    ("assistant", "That sounds like a loose bulb. Did you change it?"),
    ("user", "Yes, twice. Could it be the switch, or is the cable broken?"),
    ("assistant", "Both are possible. Please unplug it first."),
    ("user", "Done. What should I look at now, and do I need any tools?"),
)
EVERY = (*BY_RULE, *by_name(["format", "positional", "compound.typos", "compound.hurried"]))


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
def test_in_a_chat_the_last_message_of_the_user_changes(kind) -> None:
    """Earlier turns stay to the letter for any seed, and only kinds of templates touch the system."""
    view = unclassified(*TURNS)
    for seed in range(30):
        variant = attempt(kind, view, 0.13 if kind.graded else 1.0, random.Random(seed))
        if isinstance(variant, PromptView):
            texts = [message.text for message in variant.messages]
            assert texts[1:-1] == [text for _, text in TURNS[1:-1]]
            on_template = kind.rewording.category.on_template
            assert on_template or (texts[0] == TURNS[0][1] and texts[-1] != TURNS[-1][1])


def test_a_prompt_without_a_users_words_says_so() -> None:
    """The reason names the setting that helps."""
    (kind,) = by_name(["general.spelling"])
    outcome = kind.apply(
        unclassified(("user", f"You sum up.\n\n{DOCUMENTS}\n\nAnswer in one line.")), 0.5, random.Random(1)
    )
    assert isinstance(outcome, NotApplicable)
    assert outcome.reason == "no_input"
    assert "inputs" in outcome.detail
