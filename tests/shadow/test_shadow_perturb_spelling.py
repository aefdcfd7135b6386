"""Slips of spelling: one a word, as people of that language make them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.shadow.perturbations.spelling import SLIPS
from tests.shadow.changed_texts import variant

FREQUENT = SLIPS["en"].frequent


@given(st.integers(0, 500))
def test_spelling_makes_one_slip_a_word_and_keeps_its_ends(seed: int) -> None:
    """Words stay apart and in order, each with its first and last letter and at most one slip."""
    text = "Please receive different messages because their printer stopped before tomorrow in Berlin"
    changed = variant("general.spelling", text, 1.0, seed).split(" ")
    words = text.split(" ")
    assert len(changed) == len(words)
    assert changed[-2:] == ["in", "Berlin"]  # short words and names stay
    for old, new in zip(words[:-2], changed[:-2], strict=True):
        assert new[0] == old[0]
        assert new[-1] == old[-1] or new in SLIPS["en"].misspelled.values()  # "befor"
        assert abs(len(new) - len(old)) <= 1
        assert new != old


def test_spelling_slips_are_of_the_four_kinds() -> None:
    """A slip is a neighbouring key, a swap, an omission or a doubling, and each of them occurs."""
    made = {variant("general.spelling", "carting", 1.0, seed) for seed in range(3000)}
    swaps = {"carting".replace(pair, pair[::-1]) for pair in ("ar", "rt", "ti", "in")}
    omissions = {"crting", "cating", "caring", "cartng", "cartig"}
    doublings = {"caarting", "carrting", "cartting", "cartiing", "cartinng"}
    near = {"a": "qwsz", "r": "edft", "t": "rfgy", "i": "ujko", "n": "bhjm"}
    neighbours = {"carting".replace(letter, key) for letter, keys in near.items() for key in keys}
    assert made == (swaps | omissions | doublings | neighbours) - FREQUENT


def test_spelling_never_makes_another_frequent_word() -> None:
    """A slip that says something else ("form", "trail") would change the question."""
    made = " ".join(
        variant("general.spelling", "from trial quiet their", 1.0, seed) for seed in range(500)
    ).split()
    assert not {"form", "trail", "quite", "there"} & set(made)
    assert "thier" in made


# Sentences of this test alone, long enough for the language to be told.
ORDERS = {
    "de": "Können Sie mir bitte erklären, weshalb die größere Lieferung für uns nächste Woche ausfällt?",
    "es": "¿Puede explicarme también por qué la próxima reunión del año todavía no aparece en el calendario?",
    "fr": "Pouvez-vous m'expliquer pourquoi la dernière réponse de l'équipe n'apparaît pas dans le système ?",
    "it": "Potrebbe spiegarmi perché la prossima consegna dell'ordine non comparirà più nella nostra città?",
    "nl": "Kunt u uitleggen waarom de geplande coördinatie met onze leverancier deze week niet doorgaat?",
    "pt": "Você pode explicar por que a próxima reunião da equipe não está mais disponível no calendário?",
}


def words_of(language: str) -> set[str]:
    """All words that 400 seeds make of the sentence in that language."""
    made = " ".join(variant("general.spelling", ORDERS[language], 1.0, seed) for seed in range(400))
    return set(re.findall(r"[^\W\d_]+'?", made))


@pytest.mark.parametrize(
    ("language", "slips", "never"),
    [
        # forgotten marks, known slips, keys of the layout (z beside t, a above q, ñ beside l)
        ("de", {"Koennen", "groeßere", "grössere", "fuer", "naechste", "erkleren", "Lieferzng"}, {"Konnen"}),
        ("es", {"tambien", "todavia", "proxima", "expñicarme"}, {"ano", "calendari"}),
        ("fr", {"reponse", "systeme", "derniere", "expliauer"}, {"lequipe", "equip"}),
        ("it", {"perchè", "citta'", "piu'", "sèiegarmi"}, {"citta", "piu"}),
        ("nl", {"coordinatie", "leveranicer", "gepalnde"}, {"coördinati"}),
        ("pt", {"Voce", "reuniao", "calendario", "disponivel", "nao", "equiçe"}, {"esta"}),
    ],
)
def test_spelling_slips_are_those_of_the_language(language: str, slips: set[str], never: set[str]) -> None:
    """Known slips, forgotten marks and neighbouring keys of a language occur; marks that matter stay."""
    made = words_of(language)
    assert slips <= made
    assert not never & made


def test_spelling_in_japanese_chooses_another_conversion() -> None:
    """Where a syllable slip would make another word, kanji and kana change places and marks go."""
    text = "サーバーのログを確認して、原因を説明してください。例えば設定の誤りなどです。"
    assert {variant("general.spelling", text, 0.5, seed) for seed in range(60)} >= {
        "サーバのログを確認して、原因を説明して下さい。例えば設定の誤りなどです。",
        "サーバのログを確認して、原因を説明してください。たとえば設定の誤りなどです。",
        "サーバーのログを確認して、原因を説明して下さい。たとえば設定の誤りなどです。",
    }


def test_spelling_without_a_known_language_uses_the_english_keyboard() -> None:
    """Two Croatian words are not enough to tell a language: the common slips are made all the same."""
    changed = variant("general.spelling", "ljubičasta haljina", 1.0, 4)
    assert changed != "ljubičasta haljina"
    assert [word[0] + word[-1] for word in changed.split()] == ["la", "ha"]


@pytest.mark.parametrize("language", sorted(SLIPS))
def test_slip_tables_hold_together(language: str) -> None:
    """Forty known slips and more, each with the right first letter, wrong, and no other word."""
    slips = SLIPS[language]
    assert len(slips.misspelled) >= 40
    assert len(slips.frequent) >= 400
    for right, wrong in slips.misspelled.items():
        assert right[0] == wrong[0]
        assert right != wrong
        assert wrong not in slips.frequent | set(slips.misspelled)
        assert right == right.lower()
    assert all(word == word.lower() and len(word) >= 3 for word in slips.frequent)
    assert all(len(letter) == 1 and typed for letter, typed in slips.bare.items())


def test_keys_that_touch_are_those_of_the_layout() -> None:
    """On QWERTZ z stands between t and u; on AZERTY a stands above q."""
    assert set(SLIPS["en"].neighbours["s"]) == set("awedxz")
    assert set(SLIPS["de"].neighbours["z"]) == set("tugh")
    assert set(SLIPS["fr"].neighbours["q"]) == set("aszw")
    assert set(SLIPS["de"].neighbours["p"]) == set("oüöl")
    assert all(
        letter in near[other]
        for near in (slips.neighbours for slips in SLIPS.values())
        for letter, others in near.items()
        for other in others
    )
