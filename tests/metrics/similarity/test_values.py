"""Values: read in nine languages, written in one spelling, and compared."""

from __future__ import annotations

import pytest

from evenkeel.metrics.similarity.values import canonical, differing_values, read_values


@pytest.mark.parametrize(
    ("language", "left", "right"),
    [
        ("en", "on 5 March 2024 at 3 pm", "2024-03-05 at 15:00"),
        ("en", "at 3 pm on March 5th, 2024", "2024-03-05T15:00"),
        ("en", "EUR 4,000", "€4000"),
        ("en", "1.5 h", "90 minutes"),
        ("en", "one and a half hours", "1 hour and 30 minutes"),
        ("en", "twelve percent", "12 %"),
        ("en", "$1.2M", "1.2 million dollars"),
        ("en", "twenty-five boxes", "25 boxes"),
        ("en", "5–10 km", "5 km–10 km"),
        ("de", "am 5. März 2024 um 15 Uhr", "2024-03-05, 15:00 Uhr"),
        ("de", "4.000 Euro", "4000 €"),
        ("de", "eine Stunde und 30 Minuten", "90 Minuten"),
        ("de", "zwölf Kilometer", "12 km"),
        ("de", "1,5 Mio. €", "1.500.000 Euro"),
        ("fr", "le 5 mars 2024 à 15 h", "2024-03-05 à 15:00"),
        ("fr", "4 000 €", "quatre mille euros"),
        ("fr", "deux heures et demie", "150 minutes"),
        ("es", "el 5 de marzo de 2024 a las 3 de la tarde", "5/3/2024 15:00"),
        ("es", "mil doscientos euros", "1.200 €"),
        ("it", "il 5 marzo 2024 alle 15:00", "5/3/2024 15:00"),
        ("it", "duemila euro", "2.000 €"),
        ("pt", "em 5 de março de 2024 às 15h", "05/03/2024 às 15:00"),
        ("pt", "R$ 4.000,50", "4000,50 reais"),
        ("nl", "op 5 maart 2024 om 15 uur", "5-3-2024 15:00"),
        ("nl", "tweeëntwintig kilometer", "22 km"),
        ("ja", "2024年3月5日午後3時", "2024年3月5日 15:00"),
        ("ja", "4千ユーロ", "4,000ユーロ"),
        ("ja", "1時間30分", "90分"),
        ("ja", "十二個", "１２個"),
        ("zh", "2024年3月5日下午3点", "2024-03-05 15:00"),
        ("zh", "百分之十二", "12%"),
        ("zh", "三万五千元", "35000元"),
    ],
)
def test_values_written_differently_are_one_spelling(language: str, left: str, right: str) -> None:
    """Equal values make equal texts, and differ in nothing."""
    assert canonical(left, language) == canonical(right, language)
    assert differing_values(left, right, language) == ((), ())


@pytest.mark.parametrize(
    ("language", "left", "right", "lost", "added"),
    [
        ("en", "EUR 4,000", "EUR 40,000", ["4000 EUR"], ["40000 EUR"]),
        ("en", "12 percent", "13 percent", ["12%"], ["13%"]),
        ("en", "5 kg", "5 lb", ["5 kg"], ["2.26796185 kg"]),
        ("en", "at 3 pm", "at 3 am", ["15:00"], ["03:00"]),
        ("en", "5 March 2024", "6 March 2024", ["2024-03-05"], ["2024-03-06"]),
        ("en", "5 March 2024", "5 March", [], []),
        ("en", "5 miles", "8.05 km", [], []),
        ("en", "5 miles", "9 km", ["8046.72 m"], ["9000 m"]),
        ("en", "it costs 4000", "it costs EUR 4,000", [], []),
        ("en", "1. first\n2. second", "first, second", [], []),
    ],
)
def test_certain_differences(language: str, left: str, right: str, lost: list[str], added: list[str]) -> None:
    """What one side has and the other certainly lacks; what may agree in any reading differs in nothing."""
    found = differing_values(left, right, language)
    assert [[value.canonical for value in side] for side in found] == [lost, added]


@pytest.mark.parametrize(
    "text",
    [
        "GPT-4 v1.2.3 INC00469",
        "https://example.org/a/5?b=6",
        "a5@example.org",
        "+49 30 1234567",
        "`x = 5`",
        "```\nx = 5\n```",
        "10.0.0.1",
        "0x8007",
    ],
)
def test_code_and_identifiers_are_opaque(text: str) -> None:
    """What names something holds no value."""
    read = read_values(text, "en")
    assert not read.values
    assert read.opaque


def test_an_ambiguous_date_keeps_both_readings() -> None:
    """The third of April or the fourth of March, until the other text decides."""
    (value,) = read_values("03/04/2024", "en").values
    assert {reading.text for reading in value.readings} == {"2024-03-04", "2024-04-03"}
    assert differing_values("03/04/2024", "3 April 2024", "en") == ((), ())
    assert canonical("03/04/2024", "en") != canonical("3 April 2024", "en")
