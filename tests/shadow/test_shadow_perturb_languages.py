"""Other languages: what is asked for, and in which language the answer is wanted."""

from __future__ import annotations

import random

import pytest

from metrics.pair import Wanted
from shadow.perturbations import RewriteTask
from shadow.perturbations.crosslingual import CrossLingual, crosslingual_pairs
from shadow.perturbations.language_tags import BUILTIN_TAGS, canonical_tag, english_request, native_request
from shadow.perturbations.multilingual import Multilingual, multilingual
from shadow.prompt import Block, PromptView
from tests.shadow.pretended_rewriter import (
    BY_LANGUAGE,
    QUESTION,
    SYSTEM,
    chat,
    finished,
    made,
    reason,
    typed,
    view_of,
)


@pytest.mark.parametrize("tag", BUILTIN_TAGS)
def test_a_multilingual_variant_is_translated_and_asks_in_its_language(tag) -> None:
    """Instructions and input are translated, history is not, and the last words ask for the language."""
    view = view_of(
        ("system", SYSTEM), ("user", QUESTION), ("assistant", "Which table?"), ("user", "The blue one.")
    )
    kind = Multilingual(tag)
    changed, tasks = finished(kind.apply(view, 1.0, random.Random(1)))
    assert [(task.kind, task.target) for task in tasks] == [("translation", tag)] * 3
    assert [task.text for task in tasks] == [SYSTEM, QUESTION, "The blue one."]
    assert changed.segments[2].text == "Which table?"
    assert changed.segments[3].text.endswith(f"\n\n{native_request(tag)}")
    assert native_request(tag) != english_request(tag)
    assert kind.name == f"multilingual.{tag}"
    assert kind.wanted == Wanted(language=tag)
    assert kind.requires == {"rewriter", "judge"}


def test_other_tags_are_asked_for_in_english() -> None:
    """Any BCP 47 tag will do; what is none is an error."""
    changed = made(Multilingual("PL"), chat())
    assert changed.input_text.endswith("\n\nWrite the whole answer in Polish.")
    assert Multilingual("zh-hant-tw").name == "multilingual.zh-Hant-TW"
    assert [kind.name for kind in multilingual(["sv", "da"])] == ["multilingual.sv", "multilingual.da"]
    for wrong in ("", "english!", "d", "de_AT"):
        with pytest.raises(ValueError, match="is not a language tag"):
            canonical_tag(wrong)


@pytest.mark.parametrize(("tag", "language"), [("de", "de"), ("fr-CA", "fr"), ("pt-BR", "pt"), ("ja", "ja")])
def test_a_prompt_is_not_translated_into_its_own_language(tag, language) -> None:
    """Regions count as the same language."""
    assert reason(Multilingual(tag), chat(BY_LANGUAGE[language])) == "already_in_language"


@pytest.mark.parametrize(
    "text",
    [
        f"{QUESTION} Answer in English.",
        f"{QUESTION} Please write your reply in formal French.",
        "Translate this sentence into Spanish: The weather is fine today.",
    ],
)  # fmt: skip
def test_a_prompt_that_prescribes_a_language_is_left_alone(text) -> None:
    """Asking for another language would contradict the prompt."""
    assert reason(Multilingual("de"), chat(text)) == "language_prescribed"
    assert reason(CrossLingual("en", "de"), chat(text)) == "language_prescribed"


def test_crosslingual_translates_the_input_and_asks_in_english() -> None:
    """Instructions stay; the answer's language is another one."""
    kind = CrossLingual("es", "ja")
    changed, tasks = finished(kind.apply(chat(), 1.0, random.Random(1)))
    assert tasks == [RewriteTask("translation", QUESTION, "es")]
    assert changed.segments[0].text == SYSTEM
    assert changed.segments[1].text.endswith("\n\nWrite the whole answer in Japanese.")
    assert (kind.name, kind.wanted) == ("crosslingual.es_to_ja", Wanted(language="ja"))
    assert kind.requires == {"rewriter", "judge"}


@pytest.mark.parametrize(("source", "language"), [("en", "en"), ("de", "de"), ("fr-CA", "fr")])
def test_input_in_its_language_needs_no_rewriter(source, language) -> None:
    """What is in the input's language already stays; only the request is new."""
    text = BY_LANGUAGE[language]
    outcome = CrossLingual(source, "it").apply(chat(text), 1.0, random.Random(1))
    assert isinstance(outcome, PromptView)
    assert outcome.input_text == f"{text}\n\nWrite the whole answer in Italian."


def test_without_a_users_message_there_is_nowhere_to_ask() -> None:
    """Input that stands in no message of a user (a tool's, a system's) cannot carry the request."""
    block = Block("input", QUESTION, "text")
    view = view_of(("system", QUESTION), classify=typed(block))
    assert reason(CrossLingual("en", "de"), view) == "no_input"


def test_from_english_only_a_judge_is_needed() -> None:
    """English input is the usual case, and stays."""
    assert CrossLingual("en", "de").requires == {"judge"}


def test_instructions_must_be_english() -> None:
    """A prompt with German instructions is not tried; short ones of unknown language are."""
    german = "Du hilfst den Kunden eines Möbelhauses. Sei freundlich und versprich nie eine Rückzahlung."
    assert reason(CrossLingual("es", "de"), view_of(("system", german), ("user", QUESTION))) == (
        "instructions_not_english"
    )
    made(CrossLingual("es", "de"), view_of(("system", "FAQ bot"), ("user", QUESTION)))


def test_every_pair_of_languages_but_english_with_itself() -> None:
    """Nine languages give 80 ordered pairs, each once."""
    names = [kind.name for kind in crosslingual_pairs()]
    assert len(names) == len(set(names)) == 80
    assert "crosslingual.en_to_en" not in names
    assert {"crosslingual.es_to_es", "crosslingual.en_to_pt-BR", "crosslingual.fr-CA_to_fr"} < set(names)
    with pytest.raises(ValueError, match="changes nothing"):
        CrossLingual("en", "en")
