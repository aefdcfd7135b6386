"""Other languages: what is asked for, and in which language the answer is wanted."""

import random

import pytest

from evenkeel.core.languages import (
    BUILTIN_TAGS,
    base_tag,
    canonical_tag,
    english_request,
    native_request,
)
from evenkeel.core.pair import AnswerForm
from evenkeel.shadow.perturbations import RewriteTask
from evenkeel.shadow.perturbations.catalogue import catalogue
from evenkeel.shadow.perturbations.translation import CrossLingual, Multilingual
from evenkeel.shadow.prompt import Block
from evenkeel.shadow.prompt.template import TemplateLearner
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
    typed,
    view_of,
)

CASES = cases(__file__)

GERMAN_SYSTEM = "Du hilfst den Kunden eines Möbelhauses. Sei freundlich und versprich nie eine Rückzahlung."
AROUND = CASES["around"]
SUBJECTS = CASES["subjects"]
"""Enough different requests for a template to be learned."""


@pytest.mark.parametrize("tag", BUILTIN_TAGS)
def test_a_multilingual_variant_is_translated_and_asks_in_its_language(tag):
    """Instructions and input are translated, history is not, and the last words ask for the language."""
    view = view_of(
        ("system", SYSTEM), ("user", QUESTION), ("assistant", "Which table?"), ("user", "The blue one.")
    )
    kind = Multilingual(tag)
    changed, tasks = finished(kind.apply(view, 1.0, random.Random(1)))
    assert [(task.kind, task.target) for task in tasks] == [("translation", tag)] * 3
    assert [task.text for task in tasks] == [SYSTEM, QUESTION, "The blue one."]
    assert changed.segments[2].text == "Which table?"
    assert changed.text.endswith(f"\n\n{native_request(tag)}")
    assert native_request(tag) != english_request(tag)
    assert kind.name == f"multilingual.{tag}"
    assert kind.wanted == AnswerForm(language=tag)
    assert kind.requires == {"rewriter", "judge"}


def test_other_tags_are_asked_for_in_english():
    """Any BCP 47 tag will do; what is none is an error."""
    changed = made(Multilingual("PL"), chat())
    assert changed.text.endswith("\n\nWrite the whole answer in Polish.")
    assert Multilingual("zh-hant-tw").name == "multilingual.zh-Hant-TW"
    for wrong in ("", "english!", "d", "de_AT"):
        with pytest.raises(ValueError, match="is not a language tag"):
            canonical_tag(wrong)


@pytest.mark.parametrize(("tag", "language"), [("de", "de"), ("fr-CA", "fr"), ("pt-BR", "pt"), ("ja", "ja")])
def test_a_prompt_is_not_translated_into_its_own_language(tag, language):
    """Regions count as the same language."""
    assert reason(Multilingual(tag), chat(BY_LANGUAGE[language])) == "already_in_language"


def test_a_language_is_known_by_another_tag_of_it():
    """People write "nb" for what is identified as "no"."""
    text = "Hvordan tilbakestiller jeg passordet mitt når kontoen min er låst og skriveren ikke virker?"
    assert reason(Multilingual("nb"), chat(text)) == "already_in_language"


@pytest.mark.parametrize("text", CASES["translations"])
def test_a_prompt_that_asks_for_a_translation_is_left_alone(text):
    """Another language would be another task."""
    assert reason(Multilingual("sv"), chat(text)) == "translation_wanted"
    assert reason(CrossLingual("en", "de"), chat(text)) == "translation_wanted"


@pytest.mark.parametrize("wish", CASES["wishes"])
def test_a_prescribed_language_is_not_contradicted(wish):
    """A prompt that names the language of its answer is not asked for another."""
    assert reason(CrossLingual("en", "de"), chat(wish)) == "language_prescribed"
    assert reason(Multilingual("sv"), chat(wish)) == "language_prescribed"


def test_configured_languages_get_crosslingual_kinds():
    """Every ordered pair with a known language has one, the language itself included."""
    names = {kind.name for kind in catalogue(languages=["ko"])}
    assert {
        "multilingual.ko",
        "crosslingual.ko_to_en",
        "crosslingual.pt-BR_to_ko",
        "crosslingual.ko_to_ko",
    } <= names
    assert sum(name.startswith("crosslingual.") for name in names) == 99


@pytest.mark.parametrize("text", [
    "Der Kunde schreibt, dass die Lieferung in Deutschland ankam.",
    "La fabrique en France répond vite et livre partout.", "日本語の説明書が見つかりません。",
])  # fmt: skip
def test_to_speak_of_a_country_prescribes_no_language(text):
    made(Multilingual("sv"), chat(text))


def test_crosslingual_translates_the_input_and_asks_in_english():
    """Instructions stay; the answer's language is another one."""
    kind = CrossLingual("es", "ja")
    changed, tasks = finished(kind.apply(chat(), 1.0, random.Random(1)))
    assert tasks == [RewriteTask("translation", QUESTION, "es")]
    assert changed.segments[0].text == SYSTEM
    assert changed.text.endswith("\n\nWrite the whole answer in Japanese.")
    assert (kind.name, kind.wanted) == ("crosslingual.es_to_ja", AnswerForm(language="ja"))
    assert kind.requires == {"rewriter", "judge"}
    # English input is the usual case, and stays.
    assert CrossLingual("en", "de").requires == {"judge"}


@pytest.mark.parametrize(("source", "language"), [("en", "en"), ("de", "de"), ("fr-CA", "fr")])
def test_input_in_its_language_needs_no_rewriter(source, language):
    """Input in its language stays; only the request is new."""
    text = BY_LANGUAGE[language]
    outcome = CrossLingual(source, "it").apply(chat(text), 1.0, random.Random(1))
    assert outcome.text.endswith(f"{text}\n\nWrite the whole answer in Italian.")


@pytest.mark.parametrize(("source", "request_"), CASES["requests"])
def test_without_instructions_the_request_is_in_the_language_of_the_prompt(source, request_):
    """The whole prompt is in that language then, so an English sentence would mix two."""
    text = BY_LANGUAGE[base_tag(source)]
    changed = made(CrossLingual(source, "ja"), asked(text))
    assert changed.text == f"user: {text}\n\n{request_}"


@pytest.mark.parametrize(("source", "target"), [("fr", "fr"), ("fr-CA", "fr"), ("fr", "fr-CA")])
def test_a_prompt_in_the_language_wanted_is_asked_nothing_new(source, target):
    """Instructions in another language are a reason to ask."""
    kind, text = CrossLingual(source, target), BY_LANGUAGE["fr"]
    assert reason(kind, asked(text)) == "already_in_language"
    french = "Tu es conseiller client. Sois bref et aimable avec les clients."
    assert reason(kind, view_of(("system", french), ("user", text))) == "already_in_language"
    assert made(kind, chat(text)).text.endswith(english_request(target))


def test_without_a_users_message_there_is_nowhere_to_ask():
    """Input that stands in no message of a user (a tool's, a system's) cannot carry the request."""
    block = Block("input", QUESTION, "text")
    view = view_of(("system", QUESTION), classify=typed(block))
    assert reason(CrossLingual("en", "de"), view) == "no_user_slot"


def test_other_instructions_are_translated_into_english():
    """Instructions first, then the input; labels and few words of no clear language count as English."""

    def translated(system):
        view = view_of(("system", system), ("user", QUESTION))
        return finished(CrossLingual("es", "de").apply(view, 1.0, random.Random(1)))

    changed, tasks = translated(GERMAN_SYSTEM)
    assert tasks == [
        RewriteTask("translation", GERMAN_SYSTEM, "en"),
        RewriteTask("translation", QUESTION, "es"),
    ]
    assert changed.text.endswith(f"[translation es] {QUESTION}\n\nWrite the whole answer in German.")
    labels = 'Ticket:\nPlan: Pro\nRegion: EU\nResult: {"intent": string, "confidence": number}'
    for system in ("FAQ bot", labels):
        assert translated(system)[1] == [RewriteTask("translation", QUESTION, "es")]


def test_documents_of_the_application_are_no_instructions():
    """English instructions around a fixed German document stay, and so does the document."""
    blocks = (
        Block("template", f"{SYSTEM}\n", "instructions"),
        Block("template", f"{GERMAN_SYSTEM} {BY_LANGUAGE['de']}\n" * 3, "document"),
        Block("input", QUESTION, "text"),
    )
    view = view_of(("user", "".join(block.text for block in blocks)), classify=typed(*blocks))
    _, tasks = finished(CrossLingual("fr", "de").apply(view, 1.0, random.Random(1)))
    assert tasks == [RewriteTask("translation", QUESTION, "fr")]


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "it", "ja", "nl", "pt"])
def test_kinds_of_languages_apply_before_and_after_a_template_is_learned(language):
    """Instructions may be in any language, known to be instructions or not."""
    learner = TemplateLearner()
    before, after = AROUND[language]
    for number, subject in enumerate(SUBJECTS):
        unknown = asked(f"{before}\n\n{BY_LANGUAGE[language]} {subject} {number}\n\n{after}")
        learner.observe("route", unknown.slots)
    known = unknown.classified(learner.classifier("route"))
    assert {segment.kind for segment in unknown.segments} == {"input"}
    assert {segment.kind for segment in known.segments} == {"template", "input"}
    for kind in (CrossLingual("en", "fr"), CrossLingual("ja", "en"), Multilingual("sv")):
        made(kind, unknown)
        made(kind, known)
