"""Whitespace, punctuation, casing and spelling: on input only, around protected spans."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.shadow.perturbations import NotApplicable, by_name
from evenkeel.shadow.perturbations.spelling import SLIPS, real_words
from tests.cases import cases
from tests.shadow.pretended_rewriter import asked, survives, unclassified, variant

CASES = cases(__file__)

SEVERITIES = (0.1, 0.3, 0.5, 1.0)

CASE = CASES["case"]


FRAGMENTS = st.sampled_from([
    "word ", "Please ", "stop. ", "why? ", "\n", "\n\n", " - ", ", and ", "`a b` ", '"as is" ', '{"a": 1} ',
    "<b>hi</b> ", "$4.50 ", "3.5 kg ", "http://a.b/c. ", "a@b.co, ", "x_y ", "aBc ", "été ", "。",
    "東京都", "it's ", "MEGAPHONE ", "\t", "  ", "- item\n", "## Head\n", "¿Qué ", "Straße ",
    "İstanbul ", "\u0149n ", "\r\n",
])  # fmt: skip


TEXT_KINDS = by_name(["general.whitespace", "general.punctuation", "general.casing", "general.spelling"])


@given(
    st.lists(FRAGMENTS, min_size=1, max_size=25).map("".join),
    st.sampled_from(TEXT_KINDS),
    st.sampled_from(SEVERITIES),
    st.integers(0, 2**53),
)
def test_any_text_keeps_its_protected_spans_and_changes(text, perturbation, severity, seed):
    """A variant of any text differs, keeps the spans and can be repeated, or a reason says why not."""
    result = perturbation.apply(asked(text), severity, random.Random(seed))
    assert result == perturbation.apply(asked(text), severity, random.Random(seed))
    if isinstance(result, NotApplicable):
        assert result.reason == ("nothing_to_change" if text.strip() else "no_input")
    else:
        assert result.input_text != text
        assert survives(text, result.input_text)
        assert len(result.input_text.split()) >= 1


@pytest.mark.parametrize(("name", "text"), CASES["nothing eligible"])
def test_with_nothing_eligible_a_kind_does_not_apply(name, text):
    """The reason says that every place is protected or out of the kind's reach."""
    result = by_name([name])[0].apply(asked(text), 1.0, random.Random(1))
    assert result.reason == "nothing_to_change"


@pytest.mark.parametrize("perturbation", TEXT_KINDS, ids=lambda kind: kind.name)
def test_severity_zero_changes_nothing_and_out_of_range_is_an_error(perturbation):
    """Severity is a share: 0 leaves nothing to do and numbers beyond [0, 1] are refused."""
    assert isinstance(perturbation.apply(asked(CASE), 0.0, random.Random(1)), NotApplicable)
    for wrong in (-0.1, 1.1):
        with pytest.raises(ValueError, match="not between 0 and 1"):
            perturbation.apply(asked(CASE), wrong, random.Random(1))


def test_severity_is_the_expected_share_of_changed_places():
    """Severity 0.3 changes 2.4 of 8 places on average, 7 gaps and the end; 0.01 changes 1."""
    text = "one two three four five six seven eight"
    doubled = []
    for seed in range(500):
        words = re.split(r"(?<=\w)(\s+|$)", variant("general.whitespace", text, 0.3, seed))
        doubled.append(sum(len(gap) > 1 for gap in words[1:-2:2]) + (words[-2] != ""))
    # variance: 8 × 0.3 × 0.7 = 1.68; standard error of the mean: sqrt(1.68 / 500) = 0.058
    assert sum(doubled) / len(doubled) == pytest.approx(2.4, abs=0.15)
    for seed in range(50):
        changed = variant("general.whitespace", text, 0.01, seed)
        assert changed.strip().split(" ").count("") in {0, 1, 2}
        assert len(re.findall(r"\s{2,}|\s\Z", changed)) == 1


@given(st.lists(FRAGMENTS, max_size=25).map("".join), st.sampled_from(SEVERITIES), st.integers(0, 99))
def test_whitespace_never_joins_or_splits_words_or_lines(text, severity, seed):
    """The words, the lines that hold them and their indentation are the same before and after."""
    result = by_name(["general.whitespace"])[0].apply(asked(text), severity, random.Random(seed))
    if isinstance(result, NotApplicable):
        return
    changed = result.input_text
    assert changed.split() == text.split()

    def lines(of):
        full = [line for line in of.splitlines() if line.strip()]
        return [(line[: len(line) - len(line.lstrip())], line.split()) for line in full]

    assert lines(changed) == lines(text)
    # A blank line never appears where lines followed each other.
    assert len(re.split(r"\n\s*\n", changed.strip())) == len(re.split(r"\n\s*\n", text.strip()))


@pytest.mark.parametrize(("kind", "text", "outcomes"), CASES["outcomes"])
def test_every_place_is_changed_in_the_ways_people_do_it(kind, text, outcomes):
    """Two hundred seeds at full severity make each of these variants, and no other."""
    assert {variant(f"general.{kind}", text, 1.0, seed) for seed in range(200)} == set(outcomes)


def test_casing_changes_nothing_but_case():
    """Read without regard to case, a variant is the original."""
    made = {variant("general.casing", CASE, 1.0, seed) for seed in range(20)}
    assert {text.casefold() for text in made} == {CASE.casefold()}


@pytest.mark.parametrize(("kind", "text", "kept"), CASES["kept"])
def test_words_whose_spelling_carries_meaning_are_kept(kind, text, kept):
    for seed in range(50):
        changed = variant(f"general.{kind}", text, 1.0, seed)
        assert all(words in changed for words in kept), changed


def test_a_place_that_declines_is_replaced_by_another():
    """The first word that has another case is changed where no chosen word has: a variant differs."""
    text = "ĸĸĸĸ " * 30 + "word"
    made = {variant("general.casing", text, 0.01, seed) for seed in range(30)}
    assert made <= {"ĸĸĸĸ " * 30 + "WORD", "ĸĸĸĸ " * 30 + "Word"}


def test_spelling_slips_are_of_the_four_kinds():
    """A slip is a neighbouring key, a swap, an omission or a doubling, and each of them occurs."""
    made = {variant("general.spelling", "carting", 1.0, seed) for seed in range(1000)}
    swaps = {"carting".replace(pair, pair[::-1]) for pair in ("ar", "rt", "ti", "in")}
    omissions = {"crting", "cating", "caring", "cartng", "cartig"}
    doublings = {"caarting", "carrting", "cartting", "cartiing", "cartinng"}
    near = {"a": "qwsz", "r": "edft", "t": "rfgy", "i": "ujko", "n": "bhjm"}
    neighbours = {"carting".replace(letter, key) for letter, keys in near.items() for key in keys}
    assert made == (swaps | omissions | doublings | neighbours) - real_words("en")


def words_of(language):
    """All words that 400 seeds make of the sentence in that language."""
    made = " ".join(variant("general.spelling", CASES["orders"][language], 1.0, seed) for seed in range(400))
    return set(re.findall(r"[^\W\d_]+'?", made))


@pytest.mark.parametrize(("language", "slips", "never"), CASES["slips of languages"])
def test_spelling_slips_are_those_of_the_language(language, slips, never):
    """Known slips, forgotten marks and neighbouring keys of a language occur; marks that matter stay."""
    made = words_of(language)
    assert set(slips) <= made
    assert not set(never) & made


def test_spelling_in_japanese_chooses_another_conversion():
    """Kanji and kana change places and marks go, as a slip in a syllable would make another word."""
    text = "サーバーのログを確認して、原因を説明してください。例えば設定の誤りなどです。"
    assert {variant("general.spelling", text, 0.5, seed) for seed in range(60)} >= {
        "サーバのログを確認して、原因を説明して下さい。例えば設定の誤りなどです。",
        "サーバのログを確認して、原因を説明してください。たとえば設定の誤りなどです。",
        "サーバーのログを確認して、原因を説明して下さい。たとえば設定の誤りなどです。",
    }


def test_spelling_keeps_short_words_recognisable():
    """A word of fewer than six letters loses no letter and gets no other: "joes" is no "jokes"."""
    made = " ".join(variant("general.spelling", "jokes calm", 1.0, seed) for seed in range(200)).split()
    slips = {"jkoes", "joeks", "jokkes", "jookes", "jokees", "caalm", "callm"}
    assert set(made) == {"jokes", "calm", *slips}


@pytest.mark.parametrize("language", sorted(SLIPS))
def test_slip_tables_hold_together(language):
    """Forty known slips and more, each with the right first letter, wrong, and no other word."""
    slips = SLIPS[language]
    assert len(slips.misspelled) >= 40
    for right, wrong in slips.misspelled.items():
        assert right[0] == wrong[0]
        assert right != wrong
        assert wrong not in slips.misspelled
        assert wrong not in real_words(language)
        assert right == right.lower()
    assert all(len(letter) == 1 and typed for letter, typed in slips.bare.items())


@pytest.mark.parametrize("question", CASES["questions about wording"])
@pytest.mark.parametrize("kind", ["whitespace", "punctuation", "casing", "spelling"])
def test_a_question_about_wording_keeps_its_own(kind, question):
    """A slip, a capital, a mark or a blank would change what is asked."""
    (perturbation,) = by_name((f"general.{kind}",))
    result = perturbation.apply(asked(question), 1.0, random.Random(1))
    assert result.reason in {"about_wording", "nothing_to_change"}


@pytest.mark.parametrize("order", CASES["orders to repeat"])
def test_words_that_an_application_repeats_are_kept(order):
    """The instructions show that every letter counts; an order about the answer does not."""
    (casing,) = by_name(["general.casing"])
    view = unclassified(("system", order), ("user", "The bridge is closed, please use the ferry."))
    result = casing.apply(view, 1.0, random.Random(1))
    assert result.reason == "about_wording"
    for other in ("Do not repeat the question.", "Quote identifiers exactly as they are written."):
        view = unclassified(("system", other), ("user", "Where is the ferry now?"))
        assert not isinstance(casing.apply(view, 1.0, random.Random(1)), NotApplicable)
