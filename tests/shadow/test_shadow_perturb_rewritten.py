"""Tone, paraphrase, languages and compounds: what they ask for, and what they make of the texts."""

from __future__ import annotations

import csv
import gzip
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.pair import AS_BEFORE, Wanted
from shadow.languages import language_of
from shadow.perturbations import Draft, NotApplicable, RewriteTask, protected_spans
from shadow.perturbations.baseline import Identical
from shadow.perturbations.casing import Casing
from shadow.perturbations.compound import Compound, builtin_compounds
from shadow.perturbations.crosslingual import CrossLingual, crosslingual_pairs
from shadow.perturbations.language_tags import BUILTIN_TAGS, canonical_tag, english_request, native_request
from shadow.perturbations.multilingual import Multilingual, multilingual
from shadow.perturbations.paraphrase import Paraphrase
from shadow.perturbations.protocol import NOTHING
from shadow.perturbations.rewriting import pieces
from shadow.perturbations.spelling import Spelling
from shadow.perturbations.tone import TONES, Tone
from shadow.perturbations.tone_phrases import MANNERS
from shadow.perturbations.whitespace import Whitespace
from shadow.prompt import Block, PromptView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shadow.perturbations import Outcome, Perturbation
    from shadow.prompt import SlotText

DATA = Path(__file__).parents[3] / "shared" / "data"

SYSTEM = "You help customers of a furniture shop. Be friendly, and never promise a refund."
QUESTION = "I can't find the screws of table FJ-220, and I need to know why the top has 2 holes. What now?"
BY_LANGUAGE = {
    "en": QUESTION,
    "de": "Bei meinem Tisch FJ-220 fehlen die Schrauben. Warum hat die Platte 2 Löcher? Ich brauche Hilfe.",
    "es": "Necesito saber por qué la mesa FJ-220 tiene 2 agujeros. ¿Puede usted ayudarme con los tornillos?",
    "fr": "Je veux savoir pourquoi la table FJ-220 a 2 trous. Pouvez-vous m'aider avec les vis ?",
    "it": "Voglio sapere perché il piano del tavolo FJ-220 ha 2 buchi. Mi aiutate con le viti mancanti?",
    "ja": "テーブルFJ-220の穴が2つあるのはなぜですか。ねじがないので、どうすればよいか教えてください。",
    "nl": "Ik wil graag weten waarom het blad van tafel FJ-220 2 gaten heeft. Waar zijn de schroeven?",
    "pt": "Quero saber por que o tampo da mesa FJ-220 tem 2 furos. Preciso de ajuda com os parafusos.",
}


def view_of(*messages: tuple[str, str], classify: Any = None) -> PromptView:
    body = json.dumps({"messages": [{"role": role, "content": text} for role, text in messages]}).encode()
    return PromptView.parse(body, classify) if classify else PromptView.parse(body)


def chat(question: str = QUESTION) -> PromptView:
    return view_of(("system", SYSTEM), ("user", question))


@dataclass
class Pretended:
    """A rewriter that marks what it was given, so that one can see where it went."""

    tasks: list[RewriteTask]

    def texts(self, draft: Draft) -> list[str]:
        self.tasks += draft.tasks
        return [f"[{task.kind} {task.target}] {task.text}" for task in draft.tasks]


def finished(outcome: Outcome) -> tuple[Outcome, list[RewriteTask]]:
    """What comes of an outcome once the pretended rewriter has done its part, and what it was asked."""
    rewriter = Pretended([])
    while isinstance(outcome, Draft):
        outcome = outcome.finish(rewriter.texts(outcome))
    return outcome, rewriter.tasks


def made(kind: Perturbation, view: PromptView, severity: float = 1.0, seed: int = 1) -> PromptView:
    outcome, _ = finished(kind.apply(view, severity, random.Random(seed)))
    assert isinstance(outcome, PromptView), outcome
    return outcome


def reason(kind: Perturbation, view: PromptView) -> str:
    outcome, _ = finished(kind.apply(view, 1.0, random.Random(1)))
    assert isinstance(outcome, NotApplicable)
    return outcome.reason


def survives(text: str, changed: str) -> bool:
    """Whether all protected spans of `text` stand in `changed`, in order."""
    at = 0
    for span in protected_spans(text):
        kept = text[span.start : span.end]
        at = changed.find(kept, at)
        if at < 0:
            return False
        at += len(kept)
    return True


# --- paraphrase -------------------------------------------------------------------------------


def test_a_paraphrase_asks_for_the_input_alone() -> None:
    """Instructions and history stay byte for byte; white space around the input stays as well."""
    view = view_of(
        ("system", SYSTEM), ("user", " First question, please.\n"), ("assistant", "Yes?"), ("user", QUESTION)
    )
    changed, tasks = finished(Paraphrase().apply(view, 1.0, random.Random(1)))
    assert tasks == [
        RewriteTask("paraphrase", "First question, please."),
        RewriteTask("paraphrase", QUESTION),
    ]
    assert [one.text for one in changed.segments] == [
        SYSTEM, " [paraphrase ] First question, please.\n", "Yes?", f"[paraphrase ] {QUESTION}",
    ]  # fmt: skip


def typed(*blocks: Block) -> Callable[[Sequence[SlotText]], Any]:
    """A classifier that cuts the only slot into these blocks."""
    return lambda slots: [blocks for _ in slots]


def test_documents_are_paraphrased_and_code_is_not() -> None:
    """Each piece of input is a task of its own, code apart."""
    blocks = (
        Block("template", "Read this and answer.\n", "instructions"),
        Block("input", "Doc 1: The shop closes early on Sundays.\n", "document"),
        Block("input", "for day in week: shop.close(day)\n", "code"),
        Block("input", "When does it close?", "text"),
    )
    view = view_of(("user", "".join(block.text for block in blocks)), classify=typed(*blocks))
    _, tasks = finished(Paraphrase().apply(view, 1.0, random.Random(1)))
    assert [task.text for task in tasks] == [
        "Doc 1: The shop closes early on Sundays.",
        "When does it close?",
    ]


@pytest.mark.parametrize("text", ["INC-48213", "`ls -l`", "https://shop.example/a", "42"])
def test_what_has_no_words_is_not_paraphrased(text) -> None:
    """Protected spans alone leave nothing to say differently."""
    assert reason(Paraphrase(), chat(text)) == "nothing_to_change"


def test_without_input_nothing_applies() -> None:
    """A prompt of instructions alone has no input to change."""
    view = view_of(("system", SYSTEM))
    for kind in (Paraphrase(), Tone(), Tone("rewriter"), Multilingual("de"), CrossLingual("de", "en")):
        assert reason(kind, view) == "no_input"


def test_a_rewriter_that_changes_nothing_gives_no_variant() -> None:
    """The original again is no variant; neither are too few texts."""
    draft = Paraphrase().apply(chat(), 1.0, random.Random(1))
    assert isinstance(draft, Draft)
    assert draft.finish([QUESTION]) == NotApplicable(
        "nothing_to_change", "there are no words that could be put differently"
    )
    with pytest.raises(ValueError, match="0 texts for 1 tasks"):
        draft.finish([])


@given(
    st.lists(st.sampled_from(["A line. ", "\n\n", "\n", " \n \n", "```\na\n\nb\n```", "\t"]), max_size=40),
    st.integers(5, 60),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_pieces_join_to_the_text(parts, longest) -> None:
    """Cutting loses nothing and never cuts code; white space is a piece of its own."""
    text = "".join(parts)
    cut = pieces(text, longest)
    assert "".join(cut) == text
    for piece in cut:
        assert not piece.strip() or piece == piece.strip()
    for span in protected_spans(text):
        assert any(text[span.start : span.end].strip() in piece for piece in cut)


def test_long_texts_are_cut_at_blank_lines() -> None:
    """Three paragraphs of 30 with room for 70: two go together, the third alone."""
    text = "\n\n".join(("a" * 30, "b" * 30, "c" * 30))
    assert pieces(text, 70) == [f"{'a' * 30}\n\n{'b' * 30}", "\n\n", "c" * 30]
    assert pieces(text, 20) == ["a" * 30, "\n\n", "b" * 30, "\n\n", "c" * 30]


# --- tone -------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", BY_LANGUAGE)
@pytest.mark.parametrize("tone", TONES)
def test_a_tone_by_rule_keeps_what_is_protected(language, tone) -> None:
    """In each language each tone changes the text at every strength, and no protected span."""
    text = BY_LANGUAGE[language]
    for severity in (0.1, 0.5, 1.0):
        for seed in range(5):
            changed = made(Tone(tones=[tone]), chat(text), severity, seed)
            assert changed.input_text != text
            assert survives(text, changed.input_text), changed.input_text
            assert changed.segments[0].text == SYSTEM


def test_every_place_of_a_tone_by_hand() -> None:
    """At full strength: greeting, contraction, mark, close."""
    changed = made(Tone(tones=["formal"]), chat("Hi, I can't open INC-7. Don't ask me why."), seed=0)
    greeting, close = MANNERS["en"]["formal"].openers, MANNERS["en"]["formal"].closers
    assert changed.input_text in {
        f"{one}{' ' if one[-1] == '.' else chr(10) * 2}Hello, I cannot open INC-7. Do not ask me why. {other}"
        for one in greeting
        for other in close
    }


def test_a_close_after_a_list_stands_alone() -> None:
    """No closing words are put into a list item or behind code; before one, a greeting gets its own lines."""
    text = "- The lamp upstairs is broken\n- Nobody repairs the heating"
    changed = made(Tone(tones=["polite"]), chat(text)).input_text
    lines = changed.split("\n\n")
    assert lines[1] == text
    assert lines[0] in MANNERS["en"]["polite"].openers
    assert lines[2] in MANNERS["en"]["polite"].closers


def test_only_the_first_and_the_last_text_are_greeted_and_closed() -> None:
    """Two texts of a user get one greeting and one close, and a document between them nothing."""
    blocks = (
        Block("input", "My neighbour wrote this letter to the town council. ", "text"),
        Block("input", "Doc: I cannot sleep because of the noise. ", "document"),
        Block("input", "I wonder what they are going to answer to that.", "text"),
    )
    view = view_of(("user", "".join(block.text for block in blocks)), classify=typed(*blocks))
    for seed in range(10):
        first, letter, last = (one.text for one in made(Tone(tones=["casual"]), view, seed=seed).segments)
        assert letter == blocks[1].text
        assert any(first.startswith(one) for one in MANNERS["en"]["casual"].openers)
        assert any(last.endswith(one) for one in MANNERS["en"]["casual"].closers)
        assert not any(one in last for one in MANNERS["en"]["casual"].openers)


def test_a_mild_tone_changes_less() -> None:
    """The share of places grows with severity: at 0.1 fewer words differ than at 1."""
    text = "I can't come. I don't know. It won't work. You shouldn't ask. They haven't called. We aren't in."

    def differing(severity: float) -> int:
        return sum(
            len(
                set(made(Tone(tones=["formal"]), chat(text), severity, seed).input_text.split())
                - set(text.split())
            )
            for seed in range(20)
        )

    assert differing(0.1) < differing(0.5) < differing(1.0)


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
@settings(max_examples=200, deadline=None)
def test_a_tone_by_rule_keeps_what_is_protected_in_any_text(text, tone, severity, seed) -> None:
    """Whatever stands beside code, data, quotations and list marks: they survive, and something changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shadow.perturbations.tone.language_of", lambda _: "en")
        outcome = Tone(tones=[tone]).apply(chat(text), severity, random.Random(seed))
    if not text.strip():
        assert isinstance(outcome, NotApplicable)
        return
    assert outcome.input_text != text
    assert survives(text, outcome.input_text), outcome.input_text


def test_a_tone_needs_a_language_it_knows() -> None:
    """Identifiable by its words, and with phrases of its own."""
    assert reason(Tone(), chat("Asdf qwer zxcv")) == "language_unknown"
    finnish = "Pöydän ruuvit puuttuvat, enkä tiedä miten se kootaan ilman niitä."
    assert reason(Tone(), chat(finnish)) == "language_unsupported"


def test_a_tone_by_the_rewriter_asks_for_the_tone_that_was_picked() -> None:
    """The generator picks one of the five; the versions differ from those by rule."""
    kind = Tone("rewriter")
    picked = set()
    for seed in range(40):
        _, (task,) = finished(kind.apply(chat(), 1.0, random.Random(seed)))
        assert (task.kind, task.text) == ("tone", QUESTION)
        picked.add(task.target)
    assert picked == set(TONES)
    assert (kind.requires, kind.graded, kind.version) == (frozenset({"rewriter"}), False, 2)
    assert (Tone().requires, Tone().graded, Tone().version) == (NOTHING, True, 1)


@pytest.mark.parametrize("tones", [(), ("rude",)])
def test_unknown_tones_are_an_error(tones) -> None:
    """A tone that nobody can write is refused at once."""
    with pytest.raises(ValueError, match="known are formal, casual"):
        Tone(tones=tones)


def test_phrases_are_in_their_language_and_hold_no_numerals() -> None:
    """Each language has all tones; openers and closers together are identified as that language."""
    for language, manners in MANNERS.items():
        assert tuple(manners) == TONES
        said = " ".join(one for manner in manners.values() for one in (*manner.openers, *manner.closers))
        assert language_of(said) == language
        assert not any(map(str.isdigit, said))


@pytest.mark.service("shared-data")
@pytest.mark.parametrize("source", ["tickets", *BY_LANGUAGE])
def test_tone_by_rule_on_real_texts(source) -> None:
    """Applies to nine in ten real texts of each language and keeps every protected span of each."""
    if source == "tickets":
        with gzip.open(DATA / "it_tickets" / "soba101_500_tickets.csv.gz", "rt", encoding="utf-8") as rows:
            texts = [cell for row in csv.reader(rows) for cell in row if len(cell) > 60]
    else:
        with gzip.open(DATA / "mt_bench" / f"{source}_question.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts = [turn for line in lines for turn in json.loads(line)["turns"] if len(turn) > 60]
    texts = random.Random(20).sample(texts, min(80, len(texts)))
    applied = 0
    for number, text in enumerate(texts):
        outcome = Tone().apply(view_of(("user", text)), 0.5, random.Random(number))
        if isinstance(outcome, NotApplicable):
            assert outcome.reason in {"language_unknown", "language_unsupported"}
            continue
        applied += 1
        assert outcome.input_text != text
        assert survives(text, outcome.input_text), (text, outcome.input_text)
    assert applied >= 0.9 * len(texts), f"{applied} of {len(texts)}"


# --- languages --------------------------------------------------------------------------------


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


# --- compounds --------------------------------------------------------------------------------


def test_a_compound_applies_its_parts_in_order() -> None:
    """Paraphrase, then spelling of the paraphrase: the draft is chained."""
    kind = Compound("both", (Paraphrase(), Whitespace()))
    outcome = kind.apply(chat(), 1.0, random.Random(3))
    assert isinstance(outcome, Draft)
    text = "Where might the screws of table FJ-220 be, and what are the 2 holes for?"
    last = outcome.finish([text])
    assert isinstance(last, PromptView)
    assert last.input_text != text
    assert last.input_text.split() == text.split()


def test_two_drafts_are_chained() -> None:
    """A compound of two kinds that need the rewriter asks twice, the second time about the first's text."""
    first = Compound("twice", (Paraphrase(), Tone("rewriter"))).apply(chat(), 1.0, random.Random(3))
    assert isinstance(first, Draft)
    second = first.finish(["The screws are missing."])
    assert isinstance(second, Draft)
    assert second.tasks[0].text == "The screws are missing."
    last = second.finish(["Where on earth are the screws?"])
    assert isinstance(last, PromptView)
    assert last.input_text == "Where on earth are the screws?"


def test_a_part_chooses_the_same_whatever_the_others_draw() -> None:
    """The seeds of the parts are drawn before any part is applied."""
    seeds = random.Random(9)
    alone = made(Casing(), chat(), 0.5, seeds.getrandbits(53))
    both = Compound("both", (Casing(), Whitespace())).apply(chat(), 0.5, random.Random(9))
    assert isinstance(both, PromptView)
    assert both.input_text.split() == alone.input_text.split()


def test_a_compound_is_what_its_parts_are() -> None:
    """Needs, wishes and versions are merged."""
    kind = Compound("x", (Multilingual("es"), Spelling(), Paraphrase()))
    assert kind.name == "compound.x"
    assert kind.requires == {"rewriter", "judge"}
    assert kind.wanted == Wanted(language="es")
    assert kind.graded
    assert kind.version == 1 + Spelling().version + 1
    plain = Compound("y", (Paraphrase(), Tone("rewriter")))
    assert (plain.wanted, plain.graded) == (AS_BEFORE, False)


def test_a_part_that_does_not_apply_ends_it() -> None:
    """The reason is the part's, and the part is named."""
    outcome, _ = finished(
        Compound("x", (Whitespace(), Multilingual("de"))).apply(
            chat(BY_LANGUAGE["de"]), 1.0, random.Random(1)
        )
    )
    assert outcome == NotApplicable("part_already_in_language", "multilingual.de: the input is in de already")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((Spelling(),), "two or more"),
        ((Spelling(), Spelling()), "'general.spelling' twice"),
        ((Identical(), Spelling()), "changes nothing"),
        ((Multilingual("es"), Multilingual("de")), "more than one language of the answer: es, de"),
        ((Multilingual("es"), CrossLingual("de", "fr")), "more than one language"),
    ],
)  # fmt: skip
def test_parts_that_exclude_each_other_are_refused(parts, message) -> None:
    """Too few, repeated, idle or contradicting parts are an error when the compound is made."""
    with pytest.raises(ValueError, match=message):
        Compound("x", parts)


def test_two_formats_are_refused() -> None:
    """An answer cannot be JSON and YAML at once."""

    class Format(Whitespace):
        def __init__(self, wanted: Any) -> None:
            self.name = f"format.{wanted}"
            self.wanted = Wanted(format=wanted)

    with pytest.raises(ValueError, match="more than one format of the answer: json, yaml"):
        Compound("x", (Format("json"), Format("yaml")))


@pytest.mark.parametrize("kind", builtin_compounds(), ids=lambda kind: kind.name)
def test_the_builtin_compounds_apply(kind) -> None:
    """Each changes the question and keeps its instructions unless it translates them."""
    changed = made(kind, chat(), 0.5)
    assert changed.input_text != QUESTION
    assert (changed.segments[0].text == SYSTEM) is (kind.wanted.language is None)


# --- all --------------------------------------------------------------------------------------

KINDS: tuple[Perturbation, ...] = (
    Paraphrase(),
    Tone(),
    Tone("rewriter"),
    Multilingual("fr-CA"),
    CrossLingual("de", "ja"),
    *builtin_compounds(),
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name}-{kind.version}")
def test_the_same_seed_gives_the_same_bytes(kind) -> None:
    """View, severity, seed and the rewriter's texts decide every byte; graded kinds differ by seed."""
    bodies = {seed: made(kind, chat(), 0.5, seed).body() for seed in range(6)}
    assert all(made(kind, chat(), 0.5, seed).body() == body for seed, body in bodies.items())
    assert len(set(bodies.values())) > 1 or not (kind.graded or isinstance(kind, Tone))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.graded], ids=lambda kind: kind.name)
@pytest.mark.parametrize("severity", [-0.1, 1.1])
def test_a_severity_out_of_range_is_an_error(kind, severity) -> None:
    """As for every graded kind."""
    with pytest.raises(ValueError, match="is not between 0 and 1"):
        finished(kind.apply(chat(), severity, random.Random(1)))
