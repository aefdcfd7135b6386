"""Paraphrases, compounds, and what holds for every perturbation that asks a rewriter."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import AS_BEFORE, AnswerForm
from evenkeel.shadow.perturbations import NotApplicable, RewriteTask, protected_spans
from evenkeel.shadow.perturbations.casing import Casing
from evenkeel.shadow.perturbations.compound import COMPOUNDS, Compound
from evenkeel.shadow.perturbations.paraphrase import Paraphrase
from evenkeel.shadow.perturbations.rewriting import pieces
from evenkeel.shadow.perturbations.spelling import Spelling
from evenkeel.shadow.perturbations.tone import Tone
from evenkeel.shadow.perturbations.translation import CrossLingual, Multilingual
from evenkeel.shadow.perturbations.whitespace import Whitespace
from evenkeel.shadow.prompt import Block
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


def test_only_what_a_user_typed_is_paraphrased_unless_more_is_asked_for():
    """Documents are left alone, and changed where `inputs` names them; code never is."""
    blocks = (
        Block("template", "Read this and answer.\n", "instructions"),
        Block("input", "Doc 1: The shop closes early on Sundays.\n", "document"),
        Block("input", "for day in week: shop.close(day)\n", "code"),
        Block("input", "When does it close?", "text"),
    )
    view = view_of(("user", "".join(block.text for block in blocks)), classify=typed(*blocks))
    _, tasks = finished(Paraphrase().apply(view, 1.0, random.Random(1)))
    assert tasks == [RewriteTask("paraphrase", "When does it close?")]
    view = view.changing(["typed", "documents"])
    _, tasks = finished(Paraphrase().apply(view, 1.0, random.Random(1)))
    assert [task.text for task in tasks] == [
        "Doc 1: The shop closes early on Sundays.",
        "When does it close?",
    ]


@pytest.mark.parametrize("text", ["INC-48213", "`ls -l`", "https://shop.example/a", "42"])
def test_what_has_no_words_is_not_paraphrased(text):
    """Protected spans alone leave nothing to say differently."""
    assert reason(Paraphrase(), chat(text)) == "nothing_to_change"


def test_a_rewriter_that_changes_nothing_gives_no_variant():
    """The original again is no variant; neither are too few texts."""
    draft = Paraphrase().apply(chat(), 1.0, random.Random(1))
    assert draft.finish([QUESTION]) == NotApplicable("nothing_to_change")
    with pytest.raises(ValueError, match="0 texts for 1 tasks"):
        draft.finish([])


@given(
    st.lists(st.sampled_from(["A line. ", "\n\n", "\n", " \n \n", "```\na\n\nb\n```", "\t"]), max_size=40),
    st.integers(5, 60),
)  # fmt: skip
def test_pieces_join_to_the_text(parts, longest):
    """Cutting loses nothing and never cuts code; white space is a piece of its own."""
    text = "".join(parts)
    cut = pieces(text, longest)
    assert "".join(cut) == text
    for piece in cut:
        assert not piece.strip() or piece == piece.strip()
    for span in protected_spans(text):
        assert any(text[span.start : span.end].strip() in piece for piece in cut)


def test_long_texts_are_cut_at_blank_lines():
    """Three paragraphs of 30 with room for 70: two go together, the third alone."""
    text = "\n\n".join(("a" * 30, "b" * 30, "c" * 30))
    assert pieces(text, 70) == [f"{'a' * 30}\n\n{'b' * 30}", "\n\n", "c" * 30]
    assert pieces(text, 20) == ["a" * 30, "\n\n", "b" * 30, "\n\n", "c" * 30]


KINDS = (
    Paraphrase(),
    Tone(),
    Tone("rewriter"),
    Multilingual("fr-CA"),
    CrossLingual("de", "ja"),
    *COMPOUNDS,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name}-{kind.version}")
def test_the_same_seed_gives_the_same_bytes(kind):
    """View, severity, seed and the rewriter's texts decide every byte; graded kinds differ by seed.

    Each changes the question and keeps its instructions unless it translates them.
    """
    variants = {seed: made(kind, chat(), 0.5, seed) for seed in range(6)}
    for variant in variants.values():
        assert variant.input_text != QUESTION
        keeps = kind.wanted.language is None or isinstance(kind, CrossLingual)
        assert (variant.segments[0].text == SYSTEM) is keeps
    bodies = {seed: variant.body() for seed, variant in variants.items()}
    assert all(made(kind, chat(), 0.5, seed).body() == body for seed, body in bodies.items())
    assert len(set(bodies.values())) > 1 or not (kind.graded or isinstance(kind, Tone))


def test_a_compound_applies_its_parts_in_order():
    """Paraphrase, its tone, then blanks in that: each draft asks about the text of the one before."""
    kind = Compound("all", (Paraphrase(), Tone("rewriter"), Whitespace()))
    first = kind.apply(chat(), 1.0, random.Random(3))
    second = first.finish(["The screws are missing."])
    assert second.tasks[0].text == "The screws are missing."
    text = "Where on earth are the screws of table FJ-220, and what are the 2 holes for?"
    last = second.finish([text])
    assert last.input_text != text
    assert last.input_text.split() == text.split()


def test_a_part_chooses_the_same_whatever_the_others_draw():
    """The seeds of the parts are drawn before any part is applied."""
    seeds = random.Random(9)
    alone = made(Casing(), chat(), 0.5, seeds.getrandbits(53))
    both = Compound("both", (Casing(), Whitespace())).apply(chat(), 0.5, random.Random(9))
    assert both.input_text.split() == alone.input_text.split()


def test_a_compound_is_what_its_parts_are():
    """Needs, wishes and versions are merged."""
    kind = Compound("x", (Multilingual("es"), Spelling(), Paraphrase()))
    assert kind.name == "compound.x"
    assert kind.requires == {"rewriter", "judge"}
    assert kind.wanted == AnswerForm(language="es")
    assert kind.graded
    assert kind.version == sum(part.version for part in kind.parts)
    plain = Compound("y", (Paraphrase(), Tone("rewriter")))
    assert (plain.wanted, plain.graded) == (AS_BEFORE, False)


def test_a_part_that_does_not_apply_ends_it():
    """The reason is the part's, and the part is named."""
    outcome, _ = finished(
        Compound("x", (Whitespace(), Multilingual("de"))).apply(
            chat(BY_LANGUAGE["de"]), 1.0, random.Random(1)
        )
    )
    assert outcome == NotApplicable("part_already_in_language", "multilingual.de: already_in_language")
