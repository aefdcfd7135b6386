"""Variants of the corpus and of public prompts keep what stands together, and what asks for their format."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evenkeel.shadow.perturbations import NotApplicable, by_name
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.references import points
from tests.kit.public import DATA, shared_prompts
from tests.kit.references import broken_format, unbound
from tests.shadow.pretended_rewriter import unclassified

if TYPE_CHECKING:
    from collections.abc import Sequence

CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "corpus" / "prompts.jsonl").read_text("utf-8").splitlines()
]
KINDS = by_name(["positional", "format"])
SEEDS = 3
"""Seeds for kinds that draw; a format is asked for in one way."""


def broken(messages: Sequence[dict[str, str]], bonds: Sequence[tuple[str, str, str]] = ()) -> list[str]:
    """Return what any positional or format variant of a prompt breaks."""
    view = unclassified(*((message["role"], message["content"]) for message in messages))
    before = [message.text for message in view.messages]
    found: list[str] = []
    for kind in KINDS:
        for seed in range(1 if kind.wanted.format else SEEDS):
            variant = kind.apply(view, 1.0, random.Random(seed))
            if isinstance(variant, NotApplicable):
                break
            assert isinstance(variant, PromptView)
            after = [message.text for message in variant.messages]
            if kind.wanted.format is None:
                assert sorted(lines_of(before)) == sorted(lines_of(after))
                found += unbound(before, after, bonds)
            else:
                found += broken_format(before, after, kind.wanted.format)
    return found


def lines_of(texts: Sequence[str]) -> list[str]:
    """The lines that are not blank."""
    return [line.strip() for text in texts for line in text.split("\n") if line.strip()]


@pytest.mark.parametrize("prompt", CORPUS, ids=[prompt["id"] for prompt in CORPUS])
def test_no_variant_of_the_corpus_breaks_a_reference(prompt) -> None:
    """Sixty prompts in nine languages whose blocks point at each other."""
    messages = prompt.get("messages") or [{"role": "user", "content": prompt["prompt"]}]
    assert broken(messages, [tuple(bond) for bond in prompt["blocks_bound"]]) == []


@pytest.mark.skipif(not DATA.exists(), reason="the public data is not here")
def test_no_variant_of_public_prompts_breaks_a_reference() -> None:
    """Two hundred prompts of seven data sets."""
    prompts = shared_prompts()
    assert len(prompts) >= 200
    assert {name: found for name, messages in prompts.items() if (found := broken(messages))} == {}


@pytest.mark.parametrize(("before", "after"), [
    ('Return JSON:\n{"a": 1}', "Return HTML:\n<p>a</p>"),
    ('Return JSON:\n{"a": "x | y"}', "Return XML:\n<a>x</a>"),
    ('Return JSON:\n{"a": 1, "b": 2}', "Return XML:\n<a>1</a>"),
])  # fmt: skip
def test_the_checker_finds_what_a_format_lost(before, after) -> None:
    """The wanted format, fields and choices."""
    assert broken_format([before], [after], "xml")


@pytest.mark.parametrize("text", [
    "Using the preceding context, answer the question.", "Usando il contesto precedente, rispondi.",
    "Usando el contexto anterior, responde.", "Avec le contexte précédent, réponds à la question.",
    "Nutze den vorherigen Kontext.", "Nutze folgenden Kontext.", "Gebruik de voorgaande context.",
    "Com o contexto anterior, responda.", "前述の文脈を使う。", "Use the following context.",
    "Usa il contesto seguente.", "Usa el contexto siguiente.", "Utilise le contexte suivant.",
    "根据上述内容回答。", "Gebruik de volgende tekst.",
    "Use o contexto seguinte.", "次の文書を使う。", "请根据以下内容回答。",
    "Sum it up.", "Mix these.", "Fasse diesen Text zusammen.", "Résume ce texte.", "voir l'extrait suivant",
])  # fmt: skip
def test_words_that_point_in_nine_languages(text) -> None:
    """Back, ahead, or at what was named elsewhere: by rule nothing moves beside such words."""
    assert points(text)
