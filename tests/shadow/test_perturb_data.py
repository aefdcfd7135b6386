"""The text kinds on public texts: every file of the data, tickets and questions in eight languages."""

import random

import pytest

from evenkeel.shadow.perturbations import NotApplicable, by_name
from tests.kit.public import LANGUAGES, questions, tickets
from tests.shadow.pretended_rewriter import survives, view_of

KINDS = by_name([f"general.{kind}" for kind in ("whitespace", "punctuation", "casing", "spelling", "tone")])
SAMPLED = 50
MOST_CHARACTERS = 4_000
SHORTEST_CHARACTERS = 60
"""Shorter texts do not always show their language."""


def sample(texts, count):
    """A fixed sample, none longer than what a test can afford."""
    chosen = random.Random(20).sample(texts, min(count, len(texts)))
    return [text[:MOST_CHARACTERS] for text in chosen if text.strip()]


def applied(kind, text, severity, seed):
    """Return whether the kind applies; if so its variant differs and keeps every protected span, in order."""
    result = kind.apply(view_of(("user", text)), severity, random.Random(seed))
    if isinstance(result, NotApplicable):
        return False
    assert result.input_text != text
    assert survives(text, result.input_text), (kind.name, severity, text)
    return True


@pytest.mark.shared_data
@pytest.mark.parametrize("source", ["tickets", *LANGUAGES])
def test_protected_spans_survive_in_real_texts(source):
    """Each kind applies to most texts, and keeps every protected span of every sampled text."""
    found = tickets() if source == "tickets" else questions(source)
    texts = sample([text for text in found if len(text) > SHORTEST_CHARACTERS], SAMPLED)
    shares = {
        kind.name.removeprefix("general."): sum(
            applied(kind, text, (0.1, 0.5)[number % 2], number) for number, text in enumerate(texts)
        )
        / len(texts)
        for kind in KINDS
    }
    # A kind is left alone where the text asks about what it changes, and where nothing of its kind is
    # (Japanese has no case, few spaces, and other conversions of some words only).
    least = {"casing": 0.0, "spelling": 0.4} if source == "ja" else {}
    assert all(share >= least.get(name, 0.8) for name, share in shares.items()), shares
