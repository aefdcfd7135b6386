"""The text kinds on public texts: every file of the data, tickets and questions in eight languages."""

from __future__ import annotations

import json
import random

import pytest

from evenkeel.shadow.perturbations import NotApplicable, by_name
from evenkeel.shadow.prompt import PromptView
from tests.kit.public import LANGUAGES, data_files, questions, texts_of, tickets
from tests.shadow.pretended_rewriter import survives

KINDS = by_name(["general.whitespace", "general.punctuation", "general.casing", "general.spelling"])
SAMPLED = 60
SAMPLED_A_FILE = 5
MOST_CHARACTERS = 20_000


def view_of(text: str) -> PromptView:
    """A chat request with one user message."""
    return PromptView.parse(json.dumps({"messages": [{"role": "user", "content": text}]}).encode())


def sample(texts: list[str], count: int) -> list[str]:
    """A fixed sample, none longer than what a test can afford."""
    chosen = random.Random(20).sample(texts, min(count, len(texts)))
    return [text[:MOST_CHARACTERS] for text in chosen if text.strip()]


@pytest.mark.shared_data
@pytest.mark.parametrize("source", ["tickets", *LANGUAGES])
def test_protected_spans_survive_in_real_texts(source: str) -> None:
    """Each kind at each severity keeps every protected span of every sampled text, in order."""
    applied = dict.fromkeys((kind.name for kind in KINDS), 0)
    texts = sample(tickets() if source == "tickets" else questions(source), SAMPLED)
    for number, text in enumerate(texts):
        view = view_of(text)
        for kind in KINDS:
            for severity in (0.1, 0.5):
                result = kind.apply(view, severity, random.Random(number))
                if isinstance(result, NotApplicable):
                    continue
                applied[kind.name] += 1
                assert isinstance(result, PromptView)
                assert result.input_text != text
                assert survives(text, result.input_text), (kind.name, severity, text)
    # Enough is left to change: whitespace but where the text asks about wording, the others in most texts
    # (Japanese has no case, few spaces, and other conversions of some words only).
    assert applied["general.whitespace"] >= 2 * 0.9 * len(texts)
    if source != "ja":
        assert min(applied.values()) >= 2 * 0.8 * len(texts), applied
    else:
        assert applied["general.spelling"] >= 2 * 0.4 * len(texts), applied


@pytest.mark.shared_data
def test_protected_spans_survive_in_a_sample_of_every_file() -> None:
    """Logs, code, JSON answers, mathematics, plans, verdicts of judges: no file's texts lose a span."""
    files = data_files()
    assert len(files) > 80
    for path in files:
        for number, text in enumerate(sample(texts_of(path), SAMPLED_A_FILE)):
            view = view_of(text)
            for kind in KINDS:
                result = kind.apply(view, (0.2, 0.6, 1.0)[number % 3], random.Random(number))
                if isinstance(result, NotApplicable):
                    continue
                assert isinstance(result, PromptView)
                assert result.input_text != text
                assert survives(text, result.input_text), (path.name, kind.name, text)
