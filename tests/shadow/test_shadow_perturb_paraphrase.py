"""Paraphrase: what it asks for, and what it makes of the texts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.shadow.perturbations import Draft, NotApplicable, RewriteTask, protected_spans
from evenkeel.shadow.perturbations.crosslingual import CrossLingual
from evenkeel.shadow.perturbations.multilingual import Multilingual
from evenkeel.shadow.perturbations.paraphrase import Paraphrase
from evenkeel.shadow.perturbations.rewriting import pieces
from evenkeel.shadow.perturbations.tone import Tone
from evenkeel.shadow.prompt import Block
from tests.shadow.pretended_rewriter import QUESTION, SYSTEM, chat, finished, reason, typed, view_of


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
