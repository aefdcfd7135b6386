"""The corpus keeps the shape that its README promises."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
LANGUAGES = ("en", "de", "es", "fr", "it", "ja", "nl", "pt", "zh")
GENRES = {"prose", "chat", "json", "code", "workflow", "math", "short"}
PAIRS_AT_LEAST = 520
REQUIRED = {"id", "language", "genre", "reference", "candidate", "equal", "kind", "reason"}
OPTIONAL = {"prompt", "task"}


def _records(name: str) -> list[dict[str, Any]]:
    """All records of one file, in its order."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def pairs() -> list[dict[str, Any]]:
    """The labelled pairs."""
    return _records("pairs.jsonl")


def test_pairs_have_their_fields(pairs):
    """Each pair has the fields of the README, and no others."""
    for pair in pairs:
        assert REQUIRED <= set(pair) <= REQUIRED | OPTIONAL, pair["id"]
        assert pair["language"] in LANGUAGES, pair["id"]
        assert pair["genre"] in GENRES, pair["id"]
        assert isinstance(pair["equal"], bool), pair["id"]
        assert pair["reason"].endswith("."), pair["id"]
        assert all(pair[field].strip() for field in set(pair) - {"equal"}), pair["id"]


def test_ids_are_unique_and_name_the_language(pairs):
    """An id starts with the language of its pair and occurs once."""
    assert max(Counter(pair["id"] for pair in pairs).values()) == 1
    assert all(pair["id"].startswith(pair["language"] + "-") for pair in pairs)


def test_no_pair_occurs_twice(pairs):
    """No two pairs share both texts, in either direction, and no pair is twice the same text."""
    texts = Counter(frozenset((pair["reference"], pair["candidate"])) for pair in pairs)
    assert max(texts.values()) == 1
    assert all(len(text) == 2 for text in texts)


def test_pairs_are_balanced(pairs):
    """The corpus has enough pairs, about half of them equal."""
    assert len(pairs) >= PAIRS_AT_LEAST
    assert 0.4 <= sum(pair["equal"] for pair in pairs) / len(pairs) <= 0.6


def test_every_language_and_genre_is_covered(pairs):
    """Each language has at least 35 pairs of both labels and every genre; English has most."""
    languages = Counter(pair["language"] for pair in pairs)
    assert languages.most_common(1)[0][0] == "en"
    for language in LANGUAGES:
        mine = [pair for pair in pairs if pair["language"] == language]
        assert len(mine) >= 35, language
        assert 0.35 <= sum(pair["equal"] for pair in mine) / len(mine) <= 0.65, language
        assert {pair["genre"] for pair in mine} == GENRES, language


def test_a_third_of_the_pairs_is_long(pairs):
    """At least 30 % of the pairs have two texts of 700 to 3,000 characters, of both labels."""
    long = [pair for pair in pairs if min(len(pair["reference"]), len(pair["candidate"])) >= 700]
    assert len(long) / len(pairs) >= 0.3
    assert 0.35 <= sum(pair["equal"] for pair in long) / len(long) <= 0.65
    assert max(len(pair[side]) for pair in pairs for side in ("reference", "candidate")) <= 3000


def test_a_long_text_is_used_at_most_three_times(pairs):
    """No long reference carries more than three pairs, so that no text dominates a figure."""
    uses = Counter(pair["reference"] for pair in pairs if len(pair["reference"]) >= 700)
    assert max(uses.values()) <= 3


@pytest.fixture(scope="module")
def prompts() -> list[dict[str, Any]]:
    """The prompts whose blocks point at each other."""
    return _records("prompts.jsonl")


def _text(prompt: dict[str, Any]) -> str:
    """The whole text of a prompt, its messages joined by an empty line."""
    if "prompt" in prompt:
        return prompt["prompt"]
    return "\n\n".join(message["content"] for message in prompt["messages"])


def test_prompts_have_their_fields(prompts):
    """Each prompt has a note, at least one relation, and either messages or one text."""
    assert len(prompts) >= 60
    assert max(Counter(prompt["id"] for prompt in prompts).values()) == 1
    assert {prompt["language"] for prompt in prompts} == set(LANGUAGES)
    for prompt in prompts:
        common = {"id", "language", "blocks_bound", "note"}
        assert set(prompt) in (common | {"prompt"}, common | {"messages"}), prompt["id"]
        assert prompt["blocks_bound"], prompt["id"]
        assert prompt["note"].strip(), prompt["id"]
        for message in prompt.get("messages", []):
            assert set(message) == {"role", "content"}, prompt["id"]


def test_relations_hold_in_the_prompt_itself(prompts):
    """Both pieces of a relation occur once, in the order that the relation names."""
    for prompt in prompts:
        text = _text(prompt)
        for anchor, bound, relation in prompt["blocks_bound"]:
            assert text.count(anchor) == text.count(bound) == 1, (prompt["id"], anchor, bound)
            first, second = (anchor, bound) if relation in {"follows", "after"} else (bound, anchor)
            assert relation in {"follows", "precedes", "after", "before"}, prompt["id"]
            assert text.index(first) < text.index(second), (prompt["id"], anchor, bound)
            if relation in {"follows", "precedes"}:
                between = text[text.index(first) + len(first) : text.index(second)]
                assert between.count("\n\n") <= 1, (prompt["id"], anchor, bound)
