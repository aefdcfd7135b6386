"""The text kinds on public texts: tickets and questions in eight languages."""

from __future__ import annotations

import csv
import gzip
import json
import random
from pathlib import Path

import pytest

from shadow.perturbations import BUILTIN, NotApplicable, protected_spans
from shadow.prompt import PromptView

DATA = Path(__file__).parents[3] / "shared" / "data"
LANGUAGES = ("en", "de", "es", "fr", "it", "ja", "nl", "pt")
SAMPLED = 120


def tickets() -> list[str]:
    """All cells of the tickets that hold several words."""
    with gzip.open(DATA / "it_tickets" / "soba101_500_tickets.csv.gz", "rt", encoding="utf-8") as rows:
        return [cell for row in csv.reader(rows) for cell in row if cell.count(" ") > 3]


def questions(language: str) -> list[str]:
    """All turns of the questions in one language."""
    with gzip.open(DATA / "mt_bench" / f"{language}_question.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [turn for line in lines for turn in json.loads(line)["turns"]]


def texts_of(source: str) -> list[str]:
    """A fixed sample of the texts of a source."""
    every = [text for text in (tickets() if source == "tickets" else questions(source)) if text.strip()]
    return random.Random(20).sample(every, min(SAMPLED, len(every)))


@pytest.mark.service("shared-data")
@pytest.mark.parametrize("source", ["tickets", *LANGUAGES])
def test_protected_spans_survive_in_real_texts(source: str) -> None:
    """Each kind at each severity keeps every protected span of every sampled text, in order."""
    applied = dict.fromkeys((kind.name for kind in BUILTIN[1:]), 0)
    texts = texts_of(source)
    for number, text in enumerate(texts):
        view = PromptView.parse(json.dumps({"messages": [{"role": "user", "content": text}]}).encode())
        kept = [text[span.start : span.end] for span in protected_spans(text)]
        for kind in BUILTIN[1:]:
            for severity in (0.1, 0.5):
                result = kind.apply(view, severity, random.Random(number))
                if isinstance(result, NotApplicable):
                    continue
                applied[kind.name] += 1
                assert result.input_text != text
                at = 0
                for span in kept:
                    at = result.input_text.find(span, at)
                    assert at >= 0, (kind.name, severity, span, text, result.input_text)
                    at += len(span)
    # Enough is left to change: whitespace always, the others in most texts (Japanese has no case,
    # no letters to slip on and few spaces).
    assert applied["general.whitespace"] == 2 * len(texts)
    if source != "ja":
        assert min(applied.values()) >= 2 * 0.9 * len(texts), applied
