"""Tone: by phrases and by a rewriter."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.languages import language_of
from evenkeel.shadow.perturbations import NotApplicable, attempt, by_name
from evenkeel.shadow.perturbations.protocol import NOTHING
from evenkeel.shadow.perturbations.tone import MANNERS, TONES, Tone
from evenkeel.shadow.prompt import Block, PromptView
from evenkeel.shadow.prompt.mail import is_greeted
from tests.cases import cases
from tests.shadow.pretended_rewriter import (
    BY_LANGUAGE,
    QUESTION,
    SYSTEM,
    asked,
    chat,
    finished,
    made,
    reason,
    survives,
    typed,
    unclassified,
    view_of,
)

CASES = cases(__file__)


@pytest.mark.parametrize("language", BY_LANGUAGE)
@pytest.mark.parametrize("tone", TONES)
def test_a_tone_by_rule_keeps_what_is_protected(language, tone):
    """Each tone in each language changes words, not marks alone, at any strength, and no protected span."""
    text = BY_LANGUAGE[language]
    for severity in (0.07, 0.5, 1.0):
        for seed in range(5):
            changed = made(Tone(tones=[tone]), chat(text), severity, seed)
            assert re.findall(r"\w+", changed.input_text) != re.findall(r"\w+", text)
            assert survives(text, changed.input_text), changed.input_text
            assert changed.segments[0].text == SYSTEM


def test_every_place_of_a_tone_by_hand():
    """Greeting, contraction and close all change at full strength."""
    changed = made(Tone(tones=["formal"]), chat("I can't open INC-7. Don't ask me why."), seed=0)
    text = "I cannot open INC-7. Do not ask me why."
    assert changed.input_text in {
        f"{opening}{' ' if opening[-1] == '.' else chr(10) * 2}{text} {closing}"
        for opening in MANNERS["en"]["formal"].openers
        for closing in MANNERS["en"]["formal"].closers
    }


@pytest.mark.parametrize("above", ["Question: ", "## Question\n", "-----\n"])
def test_a_greeting_goes_behind_a_label_or_a_rule(above):
    """An application writes the label, and the user what stands behind it."""
    changed = made(Tone(tones=["urgent"]), chat(f"{above}is the store in Graz open on Sundays?"), seed=0)
    assert re.match(rf"{above}\w.*\bis the store in Graz open", changed.input_text, re.DOTALL)


def test_no_close_is_put_before_another_sentence_of_its_line():
    """The sentence about the form of the answer is a part of its own, and the close would part the two."""
    text = "We compare two databases. Do we need a server at all? Keep it under 150 words."
    for seed in range(6):
        changed = made(Tone(tones=["polite"]), unclassified(("user", text)), seed=seed)
        assert changed.text.endswith(text)


def test_no_close_is_put_behind_what_may_be_a_text_to_work_on():
    """The last of several lines must ask; before a list a greeting gets its own lines."""
    text = "- The lamp upstairs is broken\n- Nobody repairs the heating"
    opening, _, rest = made(Tone(tones=["polite"]), chat(text)).input_text.partition("\n\n")
    assert (opening in MANNERS["en"]["polite"].openers, rest) == (True, text)


def test_only_the_first_and_the_last_text_are_greeted_and_closed():
    """Two texts of a user get one greeting and one close, and a document between them nothing."""
    blocks = (
        Block("input", "My neighbour wrote this letter to the town council. ", "text"),
        Block("input", "Doc: I cannot sleep because of the noise. ", "document"),
        Block("input", "I wonder what they are going to answer to that.", "text"),
    )
    view = view_of(("user", "".join(block.text for block in blocks)), classify=typed(*blocks))
    for seed in range(10):
        variant = made(Tone(tones=["casual"]), view, seed=seed)
        first, letter, last = (segment.text for segment in variant.segments)
        assert letter == blocks[1].text
        assert any(first.startswith(opening) for opening in MANNERS["en"]["casual"].openers)
        assert any(last.endswith(closing) for closing in MANNERS["en"]["casual"].closers)
        assert not any(opening in last for opening in MANNERS["en"]["casual"].openers)


_FRAGMENTS = st.sampled_from([
    "I can't ", "Please. ", "why is it ", "Why is it late? ", "\n", "\n\n", "- ", "`I need x` ",
    '"I want it." ', '{"i need": 1} ', "I need 5 kg! ", "http://a.b/i-want ", "don't_do ", "what is this. ",
    "```\nI want.\n", "Thanks. ", "1. ", "# ", "Help me! ", "e.g. ", "I’m here. ", "INC-7. ",
])  # fmt: skip


@given(
    st.lists(_FRAGMENTS, min_size=1, max_size=20).map("".join),
    st.sampled_from(TONES),
    st.floats(0.05, 1),
    st.integers(0, 5),
)
def test_a_tone_by_rule_keeps_what_is_protected_in_any_text(text, tone, severity, seed):
    """Code, data, quotations and list marks survive in any text, and something changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evenkeel.shadow.perturbations.tone.language_of", lambda _: "en")
        outcome = Tone(tones=[tone]).apply(chat(text), severity, random.Random(seed))
    if isinstance(outcome, NotApplicable):
        # A text with a salutation gets no other greeting, and there may be nothing else to change.
        assert not text.strip() or is_greeted(text)
        return
    assert outcome.input_text != text
    assert survives(text, outcome.input_text), outcome.input_text


def test_a_tone_needs_a_language_it_knows():
    """Identifiable by its words, and with phrases of its own."""
    assert reason(Tone(), chat("Asdf qwer zxcv")) == "language_unknown"
    finnish = "Pöydän ruuvit puuttuvat, enkä tiedä miten se kootaan ilman niitä."
    assert reason(Tone(), chat(finnish)) == "language_unsupported"


def test_a_tone_by_the_rewriter_asks_for_the_tone_that_was_picked():
    """The generator picks one of the five; the versions differ from those by rule."""
    kind = Tone("rewriter")
    picked = set()
    for seed in range(40):
        _, (task,) = finished(kind.apply(chat(), 1.0, random.Random(seed)))
        assert (task.kind, task.text) == ("tone", QUESTION)
        picked.add(task.target)
    assert picked == set(TONES)
    assert (kind.requires, kind.graded, kind.version) == (frozenset({"rewriter"}), False, 7)
    assert (Tone().requires, Tone().graded, Tone().version) == (NOTHING, True, 18)


@pytest.mark.parametrize("tones", [(), ("rude",)])
def test_unknown_tones_are_an_error(tones):
    """A tone that nobody can write is refused at once."""
    with pytest.raises(ValueError, match="known are formal, casual"):
        Tone(tones=tones)


def test_phrases_are_in_their_language_and_hold_no_numerals():
    """Each language has all tones; openers and closers together are identified as that language."""
    for language, manners in MANNERS.items():
        assert tuple(manners) == TONES
        said = " ".join(" ".join((*manner.openers, *manner.closers)) for manner in manners.values())
        assert language_of(said) == language
        assert not any(map(str.isdigit, said))


def test_a_text_to_be_proofread_gets_a_greeting_at_most():
    """Its phrases stay, and no close is taken for its end; as the whole input it is left alone."""
    text = "Please proofread: Dear Mr Smith, I don't know what you're invoice is about."
    for seed in range(60):
        outcome = Tone().apply(view_of(("user", text)), 1.0, random.Random(seed))
        assert isinstance(outcome, NotApplicable) or outcome.input_text.endswith(text)
        alone = view_of(("system", "Correct the spelling of the text."), ("user", "I don't no whats up."))
        assert Tone().apply(alone, 1.0, random.Random(seed)).reason == "about_wording"


@pytest.mark.parametrize("asked", [
    "Rate the urgency of this ticket.", "Welche Stimmung hat dieser Text?", "Classify the sentiment:",
    "Is the customer angry?", "El cliente está molesto?",
])  # fmt: skip
def test_a_prompt_about_the_tone_of_a_text_keeps_it(asked):
    """Another tone would have another answer, whoever asks."""
    told = view_of(("system", asked), ("user", QUESTION))
    typed = view_of(("user", f"{asked} {QUESTION}"))
    for kind in (Tone(), Tone("rewriter")):
        assert kind.apply(told, 1.0, random.Random(1)).reason == "about_manner"
        assert kind.apply(typed, 1.0, random.Random(1)).reason == "about_manner"


def test_the_tone_of_the_answer_is_another_matter():
    """An application that asks for polite answers is asked in any tone."""
    view = view_of(("system", "Reply in a friendly and polite tone."), ("user", QUESTION))
    assert isinstance(Tone().apply(view, 1.0, random.Random(1)), PromptView)


def test_no_tone_is_given_to_a_text_that_instructions_work_on():
    """Thanks behind a note would be summed up; what is said to an assistant is addressed to somebody."""
    note = "Mrs Keller slept well. Blood pressure is stable, and the wound looks clean."
    assert reason(Tone(), view_of(("system", "Sum up the note."), ("user", note))) == "text_to_work_on"
    said = view_of(("system", "Sum up the note."), ("user", f"{note} I gave her nothing."))
    assert isinstance(attempt(Tone(), said, 1.0, random.Random(1)), PromptView)
    told = view_of(("system", "You are a nurse."), ("user", note))
    assert isinstance(attempt(Tone(), told, 1.0, random.Random(1)), PromptView)


@pytest.mark.parametrize("text", CASES["greeted"])
def test_a_greeted_text_gets_no_other_greeting(text):
    """In any script."""
    for seed in range(20):
        outcome = Tone().apply(asked(text), 1.0, random.Random(seed))
        assert isinstance(outcome, NotApplicable) or outcome.input_text.startswith(text[:4])


@pytest.mark.parametrize(("name", "text", "end"), CASES["completed"])
def test_nothing_follows_words_that_the_answer_completes(name, text, end):
    """Closing words or another mark would stand in the answer's place."""
    (kind,) = by_name([name])
    for seed in range(40):
        result = kind.apply(asked(text), 1.0, random.Random(seed))
        assert isinstance(result, NotApplicable) or result.input_text.endswith(end)


@pytest.mark.parametrize("text", CASES["scripts"])
def test_three_general_kinds_apply_in_other_scripts(text):
    """Blanks, marks and tone; the first two leave every letter as it was."""
    view = chat(text)
    letters = "".join(filter(str.isalpha, view.text))
    for seed in range(20):
        for kind in by_name(["general.whitespace", "general.punctuation"]):
            variant = attempt(kind, view, 0.13, random.Random(seed))
            assert isinstance(variant, PromptView), (kind.name, variant)
            assert "".join(filter(str.isalpha, variant.text)) == letters
        assert isinstance(attempt(Tone(), view, 0.13, random.Random(seed)), PromptView)
