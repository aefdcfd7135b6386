"""Blanks, punctuation and case: which places change, and into what."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.shadow.perturbations import NotApplicable, by_name
from evenkeel.shadow.prompt import PromptView
from tests.shadow.changed_texts import CASE, FRAGMENTS, SEVERITIES, variant, view_of


def test_severity_is_the_expected_share_of_changed_places() -> None:
    """Of 7 gaps and the end of the text, 8 places, severity 0.3 changes 2.4 on average; 0.01 changes 1."""
    text = "one two three four five six seven eight"
    doubled = []
    for seed in range(2000):
        words = re.split(r"(?<=\w)(\s+|$)", variant("general.whitespace", text, 0.3, seed))
        doubled.append(sum(len(gap) > 1 for gap in words[1:-2:2]) + (words[-2] != ""))
    # standard error of the mean: sqrt(0.24 / 2000) = 0.011
    assert sum(doubled) / len(doubled) == pytest.approx(2.4, abs=0.05)
    for seed in range(50):
        changed = variant("general.whitespace", text, 0.01, seed)
        assert changed.strip().split(" ").count("") in {0, 1, 2}
        assert len(re.findall(r"\s{2,}|\s\Z", changed)) == 1


@given(st.lists(FRAGMENTS, max_size=25).map("".join), st.sampled_from(SEVERITIES), st.integers(0, 99))
def test_whitespace_never_joins_or_splits_words_or_lines(text: str, severity: float, seed: int) -> None:
    """The words, the lines that hold them and their indentation are the same before and after."""
    result = by_name(["general.whitespace"])[0].apply(view_of(text), severity, random.Random(seed))
    if isinstance(result, NotApplicable):
        return
    changed = result.input_text
    assert changed.split() == text.split()

    def lines(of: str) -> list[tuple[str, list[str]]]:
        full = [line for line in of.splitlines() if line.strip()]
        return [(line[: len(line) - len(line.lstrip())], line.split()) for line in full]

    assert lines(changed) == lines(text)
    # A blank line never appears where lines followed each other.
    assert len(re.split(r"\n\s*\n", changed.strip())) == len(re.split(r"\n\s*\n", text.strip()))


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("a b", {"a  b ", "a  b  ", "a  b\n", "a   b ", "a   b  ", "a   b\n"}),
        ("end.  Next\n", {"end. Next \n", "end. Next  \n", "end. Next   \n"}),
        ("\n a\n", {"\n a \n", "\n a  \n", "\n a   \n"}),
        ("`a`\t`b` \n", {"`a`    `b`\n"}),
        (
            "\tx\r\n\r\n`y`\n\n",
            {
                f"\tx{end}\r\n\r\n\r\n`y`{after}\n\n\n"
                for end in (" ", "  ", "   ")
                for after in (" ", "  ", "   ")
            },
        ),
    ],
)
def test_whitespace_places(text: str, outcomes: set[str]) -> None:
    """Gaps grow, double blanks after a sentence shrink, tabs open up, line ends gain or lose blanks."""
    made = {variant("general.whitespace", text, 1.0, seed) for seed in range(200)}
    assert made == outcomes


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("Stop it.", {"Stop it", "Stop it..", "Stop it...", "Stop it!"}),
        ("Stop it", {"Stop it.", "Stop it!", "Stop it..", "Stop it..."}),
        (
            "Who is `x`, and why?",
            {"Who is `x`, and why", "Who is `x`, and why??", "Who is `x`, and why.", "Who is `x`, and why?!"},
        ),
        ("red, blue 7", {"red blue 7", "red,, blue 7", "red , blue 7", "red; blue 7"}),
        ("so - maybe 7", {"so – maybe 7", "so — maybe 7", "so -- maybe 7"}),
        ("Quoi ? 7", {"Quoi  7", "Quoi ?? 7", "Quoi . 7", "Quoi ?! 7"}),
        ("so; maybe 7", {"so, maybe 7", "so maybe 7"}),
        ("¿Qué 7", {"Qué 7"}),
        ("なぜ\uff1f次 7", {"なぜ次 7", "なぜ\uff1f\uff1f次 7", "なぜ。次 7"}),
        ("はい、そう 7", {"はいそう 7", "はい、、そう 7"}),
    ],
)
def test_punctuation_places(text: str, outcomes: set[str]) -> None:
    """Marks are dropped, doubled or replaced, each in the ways people do it."""
    assert {variant("general.punctuation", text, 1.0, seed) for seed in range(200)} == outcomes


def test_punctuation_leaves_words_numbers_and_markdown() -> None:
    """Apostrophes, compound hyphens, numbers, abbreviations, list markers and headings stay."""
    text = "# Head\n- don't use well-known 3,5 e.g. J. Smith's\n* a: b\n1. it 7"
    result = by_name(["general.punctuation"])[0].apply(view_of(text), 1.0, random.Random(1))
    assert isinstance(result, NotApplicable)


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("Hello", {"hello", "HELLO"}),
        ("hello", {"HELLO", "Hello"}),
        ("so I 7", {"so i 7"}),
        ("PLEASE 7", {"please 7"}),
        ("It 7", {"it 7"}),
        ("don't 7", {"DON'T 7", "Don't 7"}),
    ],
)
def test_casing_places(text: str, outcomes: set[str]) -> None:
    """Sentence starts and names lose their capitals, words gain some, shouting goes quiet."""
    assert {variant("general.casing", text, 1.0, seed) for seed in range(200)} == outcomes


def test_casing_leaves_acronyms_identifiers_and_short_words() -> None:
    """A lower-cased acronym or identifier could name another thing."""
    result = by_name(["general.casing"])[0].apply(
        view_of("the VPN of USA and iPhone or my_var at A B"), 1.0, random.Random(1)
    )
    assert isinstance(result, NotApplicable)


@given(st.integers(0, 500))
def test_casing_changes_nothing_but_case(seed: int) -> None:
    """Read without regard to case, a variant is the original."""
    assert variant("general.casing", CASE, 1.0, seed).casefold() == CASE.casefold()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Haben Sie die Frage?", "Sie"),
        ("Reports in May and March", "May"),
        ("Tell Ihnen 7", "Ihnen"),
    ],
)
def test_casing_keeps_capitals_that_carry_meaning(text: str, kept: str) -> None:
    """The polite German "Sie" would become "they", a month a verb."""
    assert all(kept in variant("general.casing", text, 1.0, seed) for seed in range(50))


def test_a_place_that_declines_is_replaced_by_another() -> None:
    """If every chosen word has no other case the first one that has is changed: a variant differs."""
    text = "ĸĸĸĸ " * 30 + "word"
    made = {variant("general.casing", text, 0.01, seed) for seed in range(30)}
    assert made <= {"ĸĸĸĸ " * 30 + "WORD", "ĸĸĸĸ " * 30 + "Word"}


def test_severity_counts_over_all_input_together() -> None:
    """Two user messages share the places: at a low severity only one of them changes."""
    view = view_of("Second message, here", {"role": "user", "content": "First message, here"})
    for seed in range(20):
        changed = by_name(["general.punctuation"])[0].apply(view, 0.01, random.Random(seed))
        assert isinstance(changed, PromptView)
        differing = [new for new, old in zip(changed.segments, view.segments, strict=True) if new != old]
        assert len(differing) == 1
