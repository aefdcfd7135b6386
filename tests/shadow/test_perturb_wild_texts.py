"""Perturbations of texts as people send them: tables in columns, and scripts with marks of their own."""

from __future__ import annotations

import random

import pytest

from evenkeel.shadow.perturbations import NotApplicable, by_name
from tests.shadow.pretended_rewriter import asked, variant


@pytest.mark.parametrize(
    "rows",
    [
        "red sofa\t12\t\nold desk\t9\tin the back",
        "one\t\tlast one\n\ttwo of them\t7",
        "red sofa   12  left\nold desk   9   sold",
    ],
)
def test_rows_in_columns_stay(rows: str) -> None:
    """A tab or a run of blanks more or less would move a value to another column."""
    text = f"Which of these sold best?\n\n{rows}\n\nPlease say why you think so."
    for name in ("whitespace", "spelling", "casing", "punctuation"):
        for seed in range(30):
            assert rows in variant(f"general.{name}", text, 0.9, seed)


@pytest.mark.parametrize(
    "text",
    [
        "พัสดุจะมาถึงเมื่อไร",
        "ເຄື່ອງຈະມາຮອດມື້ໃດ",
        "តើវានឹងមកដល់ពេលណា",
        "ပစ္စည်း ဘယ်တော့ ရောက်မလဲ",
        "དངོས་པོ་ནམ་འབྱོར་རམ",
        "प्रिंटर कब आएगा",
        "প্রিন্টার কবে আসবে",
        "پرنٹر کب پہنچے گا",
        "Տպիչը ուշանում է",
        "አታሚው መቼ ይደርሳል",
    ],
)
def test_no_full_stop_is_added_where_the_script_has_another_or_none(text: str) -> None:
    """Thai ends no sentence with a mark; Hindi, Urdu, Armenian and Amharic have marks of their own."""
    result = by_name(["general.punctuation"])[0].apply(asked(text), 1.0, random.Random(1))
    assert isinstance(result, NotApplicable)


@pytest.mark.parametrize(
    "text", ["Где мой заказ", "הזמנתי מדפסת", "وصلت الطابعة", "چاپگر نرسید", "주문했습니다", "Περιμένω"]
)
def test_a_full_stop_is_added_where_the_script_has_a_point(text: str) -> None:
    """Cyrillic, Hebrew, Arabic, Persian, Korean and Greek end a sentence with a point."""
    assert f"{text}." in {variant("general.punctuation", text, 1.0, seed) for seed in range(50)}


@pytest.mark.parametrize("text", ["ดีมาก!", "بہت خوب!", "Շատ լավ!"])
def test_no_full_stop_replaces_an_exclamation_mark_where_the_script_has_none(text: str) -> None:
    """The mark is left out or repeated."""
    made = {variant("general.punctuation", text, 1.0, seed) for seed in range(50)}
    assert made == {text[:-1], f"{text}!"}


def test_a_greek_question_mark_is_no_semicolon() -> None:
    """A comma in its place would ask nothing."""
    made = {variant("general.punctuation", "Πού είναι; Περιμένω, λοιπόν", 0.9, seed) for seed in range(50)}
    assert all("είναι; Περιμένω" in text for text in made)
