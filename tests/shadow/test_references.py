"""Variants of the corpus and of public prompts keep what stands together, and what asks for their format."""

import json
import random
import re
from pathlib import Path

import pytest

from evenkeel.shadow.perturbations import NotApplicable, by_name
from evenkeel.shadow.prompt.references import points
from tests.cases import cases
from tests.kit.public import DATA, shared_prompts
from tests.shadow.pretended_rewriter import unclassified

_NAMED = {
    "json": r"json", "yaml": r"ya?ml", "xml": r"xml", "html": r"html", "markdown": r"markdown",
    "free": r"prose|flie(?:ß|ss)text|texto corrido|texte suivi|testo discorsivo|lopende tekst|文章|普通文字",
}  # fmt: skip
_QUOTED_KEY = re.compile(r"[\"']([^\"'\n]{1,60})[\"']\s*:")
_SCHEMA_WORDS = frozenset(
    "$schema type properties required description items enum title additionalProperties".split()
)
"""Keys of a JSON Schema, which are none of the answer."""
_CHOICES = re.compile(r"[\w-]+(?:\s?\|\s?[\w-]+)+")
_REFUSED = re.compile(
    r"\b(?:no|not|without|never|avoid|kein\w*|ohne|sin|sans|senza|geen|zonder|sem|instead of|code)\b",
    re.IGNORECASE,
)


def broken_format(before, after, target):
    """Say what a variant that asks for another format breaks; empty if nothing.

    Args:
        before: The messages of the original.
        after: Those of the variant.
        target: The format asked for: "json", "yaml", "xml", "html", "markdown" or "free".
    """
    old, new = "\n".join(before), "\n".join(after)
    faults = []
    if not re.search(_NAMED[target], new, re.IGNORECASE):
        faults.append(f"{target} is not asked for")
    kept = set(old.split("\n"))
    said = [line for line in new.split("\n") if line not in kept]
    for other, name in _NAMED.items():
        if other in (target, "free"):
            continue
        left = [
            line
            for line in said
            if re.search(rf"\b{name}\b", line, re.IGNORECASE) and not _REFUSED.search(line)
        ]
        faults += [f"{other} is still asked for: {line[:60]!r}" for line in left]
    changed = "\n".join(line for line in old.split("\n") if line not in set(new.split("\n")))
    plain = re.sub(r"[\W_]+", " ", new).lower()
    schema = _SCHEMA_WORDS if '"properties"' in changed else frozenset()
    faults += [
        f"the field {key!r} is gone"
        for key in _QUOTED_KEY.findall(changed)
        if key not in schema and re.sub(r"[\W_]+", " ", key).strip().lower() not in plain
    ]
    spaced = re.sub(r"\s+", "", new)
    faults += [
        f"the choice {choice!r} is gone"
        for choice in _CHOICES.findall(changed)
        if re.sub(r"\s+", "", choice) not in spaced
    ]
    return faults


def unbound(before, after, bonds):
    """Which of the relations stated with a prompt a variant breaks.

    Args:
        before: The messages of the original.
        after: Those of the variant.
        bonds: Anchor, what is bound to it, and where that stands: "follows" and "precedes" mean directly,
            "after" and "before" anywhere.
    """
    old, new = "\n\n".join(before), "\n\n".join(after)
    faults = []
    for anchor, bound, relation in bonds:
        first, second = (anchor, bound) if relation in {"follows", "after"} else (bound, anchor)
        kept = new.find(first) < new.find(second)
        if kept and relation in {"follows", "precedes"}:
            # Items of the same list may stand between
            block = next(paragraph for paragraph in re.split(r"\n\s*\n", old) if second in paragraph)
            kept = all(
                line in block or line in _between(old, first, second)
                for line in _between(new, first, second).split("\n")
            )
        if not kept:
            faults.append(f"{bound[:40]!r} no longer {relation} {anchor[:40]!r}")
    return faults


def _between(text, first, second):
    start = text.find(first) + len(first)
    return text[start : text.find(second, start)]


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
