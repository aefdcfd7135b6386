"""Variants of the corpus and of public prompts keep what stands together, and what asks for their format."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from evenkeel.shadow.perturbations import NotApplicable, by_name
from evenkeel.shadow.prompt.references import points
from tests.cases import cases
from tests.kit.public import DATA, shared_prompts
from tests.kit.references import broken_format, unbound
from tests.shadow.pretended_rewriter import unclassified

CASES = cases(__file__)

CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "corpus" / "prompts.jsonl").read_text("utf-8").splitlines()
]
KINDS = by_name(["positional", "format"])
SEEDS = 3
"""Seeds for kinds that draw; a format is asked for in one way."""


def broken(messages, bonds=()):
    """Return what any positional or format variant of a prompt breaks."""
    view = unclassified(*((message["role"], message["content"]) for message in messages))
    before = [message.text for message in view.messages]
    found = []
    for kind in KINDS:
        for seed in range(1 if kind.wanted.format else SEEDS):
            variant = kind.apply(view, 1.0, random.Random(seed))
            if isinstance(variant, NotApplicable):
                break
            after = [message.text for message in variant.messages]
            if kind.wanted.format is None:
                assert sorted(lines_of(before)) == sorted(lines_of(after))
                found += unbound(before, after, bonds)
            else:
                found += broken_format(before, after, kind.wanted.format)
    return found


def lines_of(texts):
    """The lines that are not blank."""
    return [line.strip() for text in texts for line in text.split("\n") if line.strip()]


@pytest.mark.parametrize("prompt", CORPUS, ids=[prompt["id"] for prompt in CORPUS])
def test_no_variant_of_the_corpus_breaks_a_reference(prompt):
    """Sixty prompts in nine languages whose blocks point at each other."""
    messages = prompt.get("messages") or [{"role": "user", "content": prompt["prompt"]}]
    assert broken(messages, [tuple(bond) for bond in prompt["blocks_bound"]]) == []


@pytest.mark.skipif(not DATA.exists(), reason="the public data is not here")
def test_no_variant_of_public_prompts_breaks_a_reference():
    """Two hundred prompts of seven data sets."""
    prompts = shared_prompts()
    assert len(prompts) >= 200
    assert {name: found for name, messages in prompts.items() if (found := broken(messages))} == {}


@pytest.mark.parametrize("text", CASES["texts"])
def test_words_that_point_in_nine_languages(text):
    """Back, ahead, or at what was named elsewhere: by rule nothing moves beside such words."""
    assert points(text)
