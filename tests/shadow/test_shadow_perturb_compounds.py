"""Several kinds at once."""

from __future__ import annotations

import random
from typing import Any

import pytest

from evenkeel.core.pair import AS_BEFORE, Wanted
from evenkeel.shadow.perturbations import Draft, NotApplicable
from evenkeel.shadow.perturbations.casing import Casing
from evenkeel.shadow.perturbations.compound import COMPOUNDS, Compound
from evenkeel.shadow.perturbations.control import Control
from evenkeel.shadow.perturbations.crosslingual import CrossLingual
from evenkeel.shadow.perturbations.multilingual import Multilingual
from evenkeel.shadow.perturbations.paraphrase import Paraphrase
from evenkeel.shadow.perturbations.spelling import Spelling
from evenkeel.shadow.perturbations.tone import Tone
from evenkeel.shadow.perturbations.whitespace import Whitespace
from evenkeel.shadow.prompt import PromptView
from tests.shadow.pretended_rewriter import BY_LANGUAGE, QUESTION, SYSTEM, chat, finished, made


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
        ((Control(), Spelling()), "changes nothing"),
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


@pytest.mark.parametrize("kind", COMPOUNDS, ids=lambda kind: kind.name)
def test_the_builtin_compounds_apply(kind) -> None:
    """Each changes the question and keeps its instructions unless it translates them."""
    changed = made(kind, chat(), 0.5)
    assert changed.input_text != QUESTION
    assert (changed.segments[0].text == SYSTEM) is (kind.wanted.language is None)
