"""Words that a user typed are told from documents, tool results and instructions."""

import random

import pytest

from evenkeel.shadow.perturbations import attempt, by_name
from evenkeel.shadow.prompt import PromptView
from tests.cases import cases
from tests.shadow.pretended_rewriter import unclassified

CASES = cases(__file__)

DOCUMENTS = "Doc 1: Lamps are in store A, and cables are in store B.\n\nDoc 2: Store C is closed on Sundays."
QUESTION = "Where do I find a new lamp for my desk, and who has the key?"


def typed(view):
    return [slot.text.strip() for slot in view.typed]


@pytest.mark.parametrize(("text", "own"), CASES["own words"])
def test_a_users_words_are_told_from_an_applications(text, own):
    """Labels, questions and lead-ins show what a user typed before a template is known."""
    assert typed(unclassified(("user", text))) == own


@pytest.mark.parametrize(("text", "own"), CASES["own parts"])
def test_the_open_demonstration_is_typed(text, own):
    """The last input of a few-shot prompt is typed by a user, whatever its label."""
    assert typed(unclassified(("user", text))) == [own]


def test_of_a_long_message_only_a_labelled_or_the_last_paragraph_is_typed():
    """The rest is instructions and data, unless a template tells more."""
    rules = "You sort mail for a shop. " * 20
    data = "The lamp of the customer is dark, and a new one is on its way. " * 8
    for last in ("Please draft a short reply for her.", "What may I tell her?"):
        assert typed(unclassified(("user", f"{rules}\n\n{data}\n\n{last}"))) == [last]
    labelled = f"{rules}\n\nQuestion: What may I tell her?\n\n{data}"
    assert typed(unclassified(("user", labelled))) == ["Question: What may I tell her?"]
    assert typed(unclassified(("user", f"{rules}\n\n{data}"))) == []


def test_tool_results_and_instructions_are_not_typed():
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


TURNS = CASES["turns"]
EVERY = (*BY_RULE, *by_name(["format", "positional", "compound.typos", "compound.hurried"]))


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
def test_in_a_chat_the_last_message_of_the_user_changes(kind):
    """Earlier turns stay to the letter for any seed, and only kinds of templates touch the system."""
    view = unclassified(*TURNS)
    for seed in range(30):
        variant = attempt(kind, view, 0.13 if kind.graded else 1.0, random.Random(seed))
        if isinstance(variant, PromptView):
            texts = [message.text for message in variant.messages]
            assert texts[1:-1] == [text for _, text in TURNS[1:-1]]
            on_template = kind.rewording.category.on_template
            assert on_template or (texts[0] == TURNS[0][1] and texts[-1] != TURNS[-1][1])


def test_a_prompt_without_a_users_words_says_so():
    """The reason names the setting that helps."""
    (kind,) = by_name(["general.spelling"])
    outcome = kind.apply(
        unclassified(("user", f"You sum up.\n\n{DOCUMENTS}\n\nAnswer in one line.")), 0.5, random.Random(1)
    )
    assert outcome.reason == "no_input"
    assert "inputs" in outcome.detail


@pytest.mark.parametrize(
    ("text", "pasted"),
    [
        (
            "Explain clause 7 to me.\n\n7. In no event shall the Provider be liable for any damages.",
            "7. In no",
        ),
        (
            "write a reply saying no to this email\n\nHi Jo, would you be up for a talk? It is in May.",
            "Hi Jo",
        ),
        (
            "Which of these sentences sounds better?\n1. Give me the report soon.\n2. Send it please.",
            "1. Give",
        ),
        ("Grade my essay opening from 1 to 10.\n\nTrains have always meant some freedom to me.", "Trains"),
        ("Answer A: It is 8,849 m high.\nAnswer B: It is very high.\n\nWhich answer is better?", "Answer B:"),
        ("rewrite in plain english\n\nNotwithstanding the foregoing, the Licensee may leave.", "Notwith"),
        ("Return these as XML:\n\nDune, Frank Herbert, 1965\nSolaris, Stanislaw Lem, 1961", "Dune"),
        ("Customer: My parcel is damaged.\nAgent: I am sorry.\n\nWrite the next reply of the agent.", "Cust"),
        ("Who lost the key?\n(a) the professor\n(b) the student\n\nGive the letter.", "(a) the"),
        ("Keep the tone, but shorten this:\n\nHello everyone,\n\nthe drill is at ten.", "Hello every"),
        ("Keep the tone, but shorten this:\n\nHello everyone,\n\nwhen is the drill?", "when is"),
        ("翻译成英文:\n\n真是缘分。", "真是"),
        ("Rank these from mild to hot: mustard, jalapeno, red pepper", "mustard"),
        ("Which is heavier, a mouse, a cat or an elephant?", "mouse, a cat or an elephant"),
        ("Put these by sweetness - baklava, panna cotta, cheesecake", "baklava"),
        (
            "Subject: Offer\n\nHi Mr. Tanaka,\n\nis June all right?\n\n---\nAnswer this mail, please.",
            "is June",
        ),
        ("Can you shorten this text?\n\nDear Ms Moser, could we meet at ten?", "Dear Ms"),
        ("Say no to Jo.\n\nFrom: Jo\nSubject: Talk\n\nHi,\n\ncan you come?\n\nIs May all right?", "Is May"),
        ("The build broke. What is wrong?\n\n> Task :compile FAILED\nthe inferred type is Long", "> Task"),
        ("Was muss ich tun?\n\n§ 4 Die Kündigung bedarf der Schriftform, auch im Juni.", "§ 4"),
    ],
)
def test_a_pasted_text_stays_and_the_request_beside_it_changes(text, pasted):
    """The request is what could have been typed differently."""
    for kind in BY_RULE:
        for seed in range(10):
            variant = attempt(kind, unclassified(("user", text)), 0.9, random.Random(seed))
            if isinstance(variant, PromptView):
                assert text[text.index(pasted) :].split("\n\n")[0] in variant.text


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (
            "It fails on port 80:\n\nserver {\n  listen 80;\n  root /srv;\n}\n\nWhat should I change?",
            "What should",
        ),
        ("It fails on line 2:\n\n```\nx = 1\n```\n\nWhat should I change?", "What should"),
        (
            "Convert this file into another form.\n\na:\n  b: 1\n  c:\n    - 2\n  d:\n    - 3",
            "Convert this file",
        ),
        (
            "Hi Petra,\n\nthanks for the call today, it was helpful.\n\nBest wishes from all of us\nJonas",
            "for the call",
        ),
    ],
)
def test_a_request_around_data_and_a_mail_without_a_request_can_change(text, own):
    """A colon leads in to the next paragraph, also if that is code; a greeted text is the user's own."""
    view = unclassified(("user", text))
    variants = [by_name(["general.spelling"])[0].apply(view, 1.0, random.Random(seed)) for seed in range(5)]
    assert any(own not in variant.text for variant in variants)


def test_what_a_writer_tells_before_a_question_can_change():
    """A first paragraph in the first person is no pasted text."""
    text = "I was in Denmark last week and my card was refused twice.\n\nIs it blocked? What should be done?"
    view = unclassified(("user", text))
    changed = [by_name(["general.spelling"])[0].apply(view, 0.9, random.Random(seed)) for seed in range(5)]
    assert all("\n\n" in variant.text and "card was refused" not in variant.text for variant in changed)
