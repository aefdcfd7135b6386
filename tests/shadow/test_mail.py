"""Mails as users' messages: what their senders typed is told from headers, quotes and signatures."""

import json
import random

import pytest

from evenkeel.shadow.perturbations import attempt, by_name
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.mail import typed_in_mail
from evenkeel.shadow.prompt.template import TemplateLearner
from tests.cases import cases
from tests.kit.hostile import Subject, grown_too_fast

CASES = cases(__file__)
HEAD, BODY, CLOSING, QUOTE = CASES["parts"].values()
LETTER = BODY + "I have always been happy with your shop before. " * 8 + "\n\n"
COMPLAINTS = "thanks, but the lamp is still dark, and its cable warm. " * 12


def written(text):
    """A text with the parts of a mail in the places of their names."""
    return text.format(**CASES["parts"], letter=LETTER, complaints=COMPLAINTS)


def parts(text, system="You are a support agent."):
    """The sources and texts of the segments of a user's first message on a route."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    view = PromptView.parse(json.dumps({"messages": messages}).encode(), TemplateLearner().classifier(""))
    return [(segment.source, segment.text) for segment in view.segments if segment.role == "user"]


def typed(text):
    """The words of a message that a user typed, as far as the prompt tells."""
    return "".join(words for source, words in parts(text) if source == "typed")


@pytest.mark.parametrize("mail", CASES["mails"])
def test_the_body_of_a_mail_is_typed_and_the_rest_is_left_alone(mail):
    """Of a mail by itself headers, quotes and a marked signature have no source that is ever changed."""
    before, body, behind = map(written, mail)
    text = before + body + behind
    assert typed(text) == body
    others = [words for source, words in parts(text) if source != "typed"]
    assert "".join(others) == before + behind
    assert all(source in ("typed", None) for source, _ in parts(text))


@pytest.mark.parametrize("asked", ["Write a reply.", "What is the deadline?", "Summarise the e-mail above."])
def test_what_is_asked_below_a_mail_is_all_that_is_typed(asked):
    """It may be the sender's or the user's own; the words above it are not known to be the user's."""
    assert typed(HEAD + BODY + CLOSING + "\n" + asked) == asked


def test_answers_between_quoted_lines_are_typed():
    """Only the quoted lines and who wrote them are left out."""
    answers = "Early in May, please.\n\n"
    text = "Hello Priya,\n\nsee my answers below.\n\n" + QUOTE + f"\n{answers}> How many?\n\nTwo of us.\n"
    assert typed(text) == f"Hello Priya,\n\nsee my answers below.\n\n{answers}Two of us.\n"


@pytest.mark.parametrize("text", [*map(written, CASES["no mails"]), "\n" + QUOTE.replace("wrote", "said")])
def test_a_mail_that_an_application_or_a_user_asks_about_is_no_mail_by_itself(text):
    """Its words are a document's, so other rules tell what was typed."""
    assert typed_in_mail(text) is None
    assert "flickers" not in typed(text) or text == LETTER


def test_a_long_prompt_that_says_who_the_model_is_holds_no_typed_beginning():
    """The sentence "You are …" is an application's, although it orders something."""
    assert typed("You are a friendly clerk. " * 30 + "\n\nThe shop opens at nine.") == ""


def test_a_learned_template_keeps_what_it_holds_of_a_mail():
    """Words that all mails of a route share are template; of the rest only the body is typed."""
    learner = TemplateLearner()
    footer = "\n\n[Mail received by the gateway of the shop, category lamps, unread, not urgent]"
    rng = random.Random(1)
    for number in range(40):
        words = " ".join(rng.choice("lamp cable shop bulb dark warm blue red".split()) for _ in range(40))
        text = f"From: A{number}\nSubject: S{number}\n\nHello,\n\n{words}.\n\nRegards\nAnn{number}{footer}"
        body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
        view = PromptView.parse(body)
        learner.observe("", view.slots)
    view = view.classified(learner.classifier(""))
    assert [segment.text.strip() for segment in view.typed] == [words, "Ann39"]
    assert (
        "".join(segment.text for segment in view.segments if segment.kind == "template").count("gateway") == 1
    )


def test_every_input_perturbation_of_a_mail_keeps_its_frame():
    """Headers and quote stand in each variant to the letter."""
    text = f"{HEAD}{BODY}{CLOSING}\n{QUOTE}"
    body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    view = PromptView.parse(body, TemplateLearner().classifier(""))
    for kind in by_name([f"general.{name}" for name in ("whitespace", "spelling", "casing", "punctuation")]):
        for seed in range(20):
            changed = attempt(kind, view, 0.9, random.Random(seed))
            assert changed.slots == view.slots
            assert changed.text != view.text
            assert changed.text.removeprefix("user: ").startswith(HEAD)
            assert changed.text.endswith(f"\n{QUOTE}")


def test_a_letter_gets_no_second_greeting():
    """What opens with "Hello Priya," is not opened with "Good day" as well."""
    view = PromptView.parse(json.dumps({"messages": [{"role": "user", "content": BODY}]}).encode())
    for seed in range(40):
        changed = attempt(by_name(["general.tone"])[0], view, 1.0, random.Random(seed))
        if isinstance(changed, PromptView):
            assert changed.input_text.partition("\n")[0].endswith("Priya,"), changed.input_text


@pytest.mark.parametrize(
    "line", ["> a\n", "Kind regards\n", "-- \n", "From: a\n", "Hi,\n", "On 2 wrote:\n", "\n", "a "]
)
def test_a_hostile_text_is_read_in_time(line):
    """Twice the text takes at most two and a half times the work."""
    subject = Subject("mail", lambda text: HEAD + line * (len(text) // len(line)), typed_in_mail)
    assert grown_too_fast(subject, "one long word", 200_000) == ""
