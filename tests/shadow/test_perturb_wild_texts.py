"""Perturbations of texts as people send them: tables in columns, scripts with marks of their own, code."""

import random

import pytest

from evenkeel.shadow.perturbations import NotApplicable, by_name
from tests.cases import cases
from tests.shadow.pretended_rewriter import asked, variant

CASES = cases(__file__)


@pytest.mark.parametrize("rows", CASES["rows"])
def test_rows_in_columns_stay(rows):
    """A tab or a run of blanks more or less would move a value to another column."""
    text = f"Which of these sold best?\n\n{rows}\n\nPlease say why you think so."
    for name in ("whitespace", "spelling", "casing", "punctuation"):
        for seed in range(30):
            assert rows in variant(f"general.{name}", text, 0.9, seed)


@pytest.mark.parametrize("text", CASES["no full stop"])
def test_no_full_stop_is_added_where_the_script_has_another_or_none(text):
    """Thai ends no sentence with a mark; Hindi, Urdu, Armenian and Amharic have marks of their own."""
    result = by_name(["general.punctuation"])[0].apply(asked(text), 1.0, random.Random(1))
    assert isinstance(result, NotApplicable)


@pytest.mark.parametrize(
    "text", ["Где мой заказ", "הזמנתי מדפסת", "وصلت الطابعة", "چاپگر نرسید", "주문했습니다", "Περιμένω"]
)
def test_a_full_stop_is_added_where_the_script_has_a_point(text):
    """Cyrillic, Hebrew, Arabic, Persian, Korean and Greek end a sentence with a point."""
    assert f"{text}." in {variant("general.punctuation", text, 1.0, seed) for seed in range(50)}


@pytest.mark.parametrize("text", ["ดีมาก!", "بہت خوب!", "Շատ լավ!"])
def test_no_full_stop_replaces_an_exclamation_mark_where_the_script_has_none(text):
    """The mark is left out or repeated."""
    made = {variant("general.punctuation", text, 1.0, seed) for seed in range(50)}
    assert made == {text[:-1], f"{text}!"}


def test_a_greek_question_mark_is_no_semicolon():
    """A comma in its place would ask nothing."""
    made = {variant("general.punctuation", "Πού είναι; Περιμένω, λοιπόν", 0.9, seed) for seed in range(50)}
    assert all("είναι; Περιμένω" in text for text in made)


def lines_of(text):
    """The lines that are not blank, without blanks at their ends."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


@pytest.mark.parametrize("code", CASES["code"].values(), ids=CASES["code"])
@pytest.mark.parametrize("name", ["whitespace", "spelling", "casing", "punctuation", "tone"])
def test_code_without_a_fence_stays(code, name):
    """Words of calls, assignments, statements and commands are no words of a person's."""
    text = f"Why does this not work, and what should I change?\n\n{code}\n\nPlease explain it in a few words."
    for seed in range(20):
        made = variant(f"general.{name}", text, 0.9, seed)
        # Blanks at the ends of lines, and blank lines, mean nothing in code.
        assert lines_of(code) in lines_of(made)
        assert "\\ " not in made


@pytest.mark.parametrize(
    "call", ["show(first(items), last name)", "a.b(c)(d e).f(g h)", "print(total([{x: 1}]))"]
)
def test_a_call_within_a_sentence_stays(call):
    """Also one that holds further calls, or is a chain of them."""
    text = f"Then I call {call} at the very end, which does nothing."
    for seed in range(20):
        assert call in variant("general.casing", text, 0.9, seed)


@pytest.mark.parametrize("text", CASES["sentences"])
def test_sentences_that_look_a_little_like_code_are_changed(text):
    """Most of their words can be written another way."""
    made = {word for seed in range(60) for word in variant("general.casing", text, 0.5, seed).split()}
    words = [word for word in text.split() if len(word) >= 6 and word.isalpha() and word.islower()]
    changed = [word for word in words if {word.upper(), word.capitalize()} & made]
    assert len(changed) >= 0.8 * len(words)


def test_quoted_lines_stay():
    """What somebody else wrote is not the sender's to word otherwise."""
    quoted = "> did you try another bulb,\n> or another socket?"
    for name in ("whitespace", "spelling", "casing", "punctuation"):
        for seed in range(20):
            made = variant(f"general.{name}", f"see my answer below\n{quoted}\nyes, both of them", 0.9, seed)
            assert quoted in lines_of(made)
