"""What the template learner takes for template and what for input, in odd traffic too."""

from __future__ import annotations

import json
import random

import pytest

from evenkeel.shadow.prompt.segments import SlotText, by_role
from evenkeel.shadow.prompt.template import TemplateLearner
from evenkeel.shadow.prompt.view import PromptView
from tests.shadow.garden_mail import (
    PEOPLE,
    PLANTS,
    PROMPT,
    filled,
    fingerprint_of,
    kinds_of,
    message_of,
    taught,
    user_slot,
)


def test_before_anything_is_known_the_role_decides() -> None:
    """A fresh learner says what `by_role` says, but with typed blocks, and knows no version."""
    learner = TemplateLearner()
    slots = [
        SlotText("system", "Be kind. Answer in one word.", 0),
        SlotText("user", "Which plant?", 1),
        SlotText("assistant", "Fern.", 2),
        SlotText("user", "", 3),
    ]
    blocks = learner.classifier("mail")(slots)
    assert [[block.kind for block in one] for one in blocks] == [
        ["template", "template"],
        ["input"],
        ["history"],
        ["input"],
    ]
    assert [block.type for block in blocks[0]] == ["instructions", "output_instructions"]
    assert [one[0].kind for one in by_role(slots)] == [one[0].kind for one in blocks]
    assert learner.version("mail", slots) is None
    assert learner.versions("mail") == ()


def test_template_and_input_within_one_message() -> None:
    """Labels and instructions are template, what stands between is input; types come from the blocks."""
    learner = taught()
    slots = user_slot(PROMPT.format(sender="Zoe", message="The hedge is on fire."))
    (blocks,) = learner.classifier("mail")(slots)
    assert [(block.kind, block.type, block.text) for block in blocks] == [
        ("template", "instructions", "You sort mail for a garden centre.\n\nSender: "),
        ("input", "text", "Zoe"),
        ("template", "instructions", "\nMessage: "),
        ("input", "text", "The hedge is on fire."),
        ("template", "instructions", "\n\nName the department that should read it and say why.\n"),
        ("template", "output_instructions", "Answer in one sentence."),
    ]


def test_the_classifier_serves_a_prompt_view() -> None:
    """A view of a body is cut by what was learned, and still gives the body's own bytes."""
    text = PROMPT.format(sender="Zoe", message="The hedge is on fire.")
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    view = PromptView.parse(body, taught().classifier("mail"))
    assert [segment.text for segment in view.segments if segment.kind == "input"] == [
        "Zoe",
        "The hedge is on fire.",
    ]
    assert view.body() == body


def test_pasted_template_is_input() -> None:
    """A user who quotes the whole prompt writes input, not a second template."""
    quoted = PROMPT.format(sender="me", message="nothing")
    (pieces,) = kinds_of(
        taught(), user_slot(PROMPT.format(sender="Zoe", message=f"What is this?\n{quoted}\nWell?"))
    )
    assert "".join(text for kind, text in pieces if kind == "input") == f"ZoeWhat is this?\n{quoted}\nWell?"


def test_fields_within_a_line() -> None:
    """Words around a field in the middle of a line are template, the field is not."""
    learner, rng = TemplateLearner(), random.Random(2)
    system = "You help {} with {} questions."
    for number in range(30):
        slots = [
            SlotText("system", system.format(rng.choice(PEOPLE), rng.choice(PLANTS)), 0),
            SlotText("user", message_of(rng), 1),
        ]
        learner.observe("mail", slots, str(number))
    slots = [SlotText("system", system.format("Zoe", "hedge"), 0), SlotText("user", "Help!", 1)]
    assert kinds_of(learner, slots) == [
        [
            ("template", "You help "),
            ("input", "Zoe"),
            ("template", " with "),
            ("input", "hedge"),
            ("template", " questions."),
        ],
        [("input", "Help!")],
    ]


def test_earlier_turns_are_never_template() -> None:
    """In a conversation only system messages and the last user message can carry template."""
    learner, rng = TemplateLearner(), random.Random(3)
    turns = [
        SlotText("system", "You know all plants and answer with care, never with haste.", 0),
        SlotText("user", "Good day to all of you at the garden centre!", 1),
        SlotText("assistant", "Good day! How can I help with your plants?", 2),
    ]
    for number in range(40):
        learner.observe("mail", [*turns, SlotText("user", message_of(rng), 3)], str(number))
    kinds = [[kind for kind, _ in one] for one in kinds_of(learner, [*turns, SlotText("user", "Ivy?", 3)])]
    assert kinds == [["template"], ["input"], ["history"], ["input"]]


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_frequent_user_messages_are_input(share: float) -> None:
    """Greetings and questions that come again and again are no template, and have no version."""
    learner, rng = TemplateLearner(), random.Random(4)
    frequent = ("hello", "thanks", "How do I water a fern in winter without drowning it?")
    for number in range(200):
        text = rng.choice(frequent) if rng.random() < share else message_of(rng)
        learner.observe("mail", user_slot(text), str(number))
    for text in frequent:
        assert {kind for kind, _ in kinds_of(learner, user_slot(text))[0]} == {"input"}
        assert learner.version("mail", user_slot(text)) is None


def test_an_identical_resend_counts_once() -> None:
    """Neither a redelivered exchange nor the same prompt sent a hundred times teaches anything."""
    learner = TemplateLearner()
    slots = filled(random.Random(5))
    for number in range(100):
        learner.observe("mail", slots, str(number))
        learner.observe("mail", slots, "the same exchange")
    assert learner.version("mail", slots) is None
    assert {kind for kind, _ in kinds_of(learner, slots)[0]} == {"input"}


def test_a_recurring_article_is_input() -> None:
    """A document in 30 % of the requests stays input, whole lines and all."""
    prompt = (
        "Use the article to answer.\n\nArticle: {sender}\n\nQuestion: {message}\n\nQuote the article once."
    )
    article = "Ferns like shade.\nWater them every other day.\nNever put them beside a heater in winter."
    learner, rng = TemplateLearner(), random.Random(7)
    for number in range(100):
        text = article if rng.random() < 0.3 else message_of(rng) + "\n" + message_of(rng)
        learner.observe("mail", filled(rng, prompt, sender=text), str(number))
    (pieces,) = kinds_of(learner, filled(rng, prompt, sender=article, message="Why?"))
    assert pieces == [
        ("template", "Use the article to answer.\n\n"),
        ("template", "Article: "),
        ("input", article),
        ("template", "\n\nQuestion: "),
        ("input", "Why?"),
        ("template", "\n\nQuote the article once."),
    ]
    assert len(learner.versions("mail")) == 1


def test_a_field_with_few_values_is_input_and_no_version() -> None:
    """A field that is nearly always the same becomes input when it differs, without a new version."""
    learner, rng = TemplateLearner(), random.Random(8)
    names = set()
    for number in range(500):
        slots = filled(rng, sender="gold" if rng.random() < 0.9 else "silver")
        learner.observe("mail", slots, str(number))
        names.add(fingerprint_of(learner, slots))
    assert len(names - {None}) == 1
    for tier in ("gold", "silver"):
        assert ("input", tier) in kinds_of(learner, filled(rng, sender=tier))[0]


def test_a_date_that_changes_daily_is_input() -> None:
    """The day's date, the same in all requests of the day, is input and makes no version."""
    prompt = (
        "Today is {sender}. You sort mail for a garden centre.\n\nMessage: {message}\n\nName the department."
    )
    learner, rng = TemplateLearner(), random.Random(9)
    names = set()
    for number in range(120):
        slots = filled(rng, prompt, sender=f"{1 + number // 30} March 2026")
        learner.observe("mail", slots, str(number))
        names.add(fingerprint_of(learner, slots))
        if number >= 20:
            assert ("input", f"{1 + number // 30} March 2026") in kinds_of(learner, slots)[0]
    assert len(names - {None}) == 1


def test_an_optional_section_is_template() -> None:
    """A section that six in ten requests have is template where it is, and makes no second version."""
    learner, rng = TemplateLearner(), random.Random(10)
    prompt = PROMPT.replace("Name the", "{section}Name the")
    names = set()
    for number in range(150):
        section = f"Earlier letters:\n{message_of(rng)}\n\n" if rng.random() < 0.6 else ""
        slots = filled(rng, prompt, section=section)
        learner.observe("mail", slots, str(number))
        names.add(fingerprint_of(learner, slots))
    (pieces,) = kinds_of(learner, filled(rng, prompt, section="Earlier letters:\nThe hedge burned.\n\n"))
    assert ("template", "Earlier letters:\n") in pieces
    assert ("input", "The hedge burned.") in pieces
    assert len(names - {None}) == 1


def test_long_texts_are_read_at_their_ends() -> None:
    """Template around a document of 200 KB is found, and the document is input."""
    learner, rng = TemplateLearner(), random.Random(19)
    long = " ".join(message_of(rng) for _ in range(4_000))
    for number in range(14):
        start = rng.randrange(10_000)
        learner.observe("mail", filled(rng, message=long[start : start + 200_000]), str(number))
    (pieces,) = kinds_of(learner, filled(rng, message=long[:200_000]))
    assert ("input", long[:200_000]) in pieces
    assert pieces[-1] == ("template", "Answer in one sentence.")


@pytest.mark.parametrize(
    "text", ["", "\x02\x03", "\x00cut", "\n\n\n", "a" * 50_000, "\ud800", "Sender: Message: "]
)
def test_odd_texts_are_survived(text: str) -> None:
    """No text breaks the learner, and whatever it says joins to the text."""
    learner, rng = taught(), random.Random(20)
    for number in range(10):
        for slots in (user_slot(text), filled(rng, message=text), filled(rng, sender=text)):
            learner.observe("mail", slots, f"{number} {len(slots[0].text)}")
            blocks = learner.classifier("mail")(slots)
            assert ["".join(block.text for block in one) for one in blocks] == [slots[0].text]
    learner.observe("mail", [])
    assert learner.classifier("mail")([]) == []
    assert learner.version("mail", []) is None


def test_a_token_is_never_cut() -> None:
    """Every request says "INC-", but the ticket is one word: a change must find all of it or nothing."""
    learner = TemplateLearner()
    for number in range(30):
        ticket = f"INC-{4711 + 37 * number}"
        slots = [SlotText("user", f"Summarise ticket {ticket} for the next shift, please.", 0)]
        learner.observe("default", slots, str(number))
    ((*blocks,),) = learner.classifier("default")(slots)
    assert [(block.kind, block.text) for block in blocks] == [
        ("template", "Summarise ticket "),
        ("input", ticket),
        ("template", " for the next shift, please."),
    ]
