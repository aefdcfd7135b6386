"""Values: read in nine languages, written in one spelling, and compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ("de", "um 15:30 Uhr", "um 15 Uhr 30"),
        ("de", "3 Uhr nachmittags", "15 Uhr"),
        ("de", "15.30 Uhr", "15:30 Uhr"),
        ("de", "am Dienstag, dem 5. März 2024", "am 05.03.2024"),
        ("de", "zwei Millionen Euro", "2 Mio. €"),
        ("de", "1,5 Stunden", "anderthalb Stunden"),
        ("de", "minus fünf Grad Celsius", "-5 °C"),
        ("de", "zwölf Prozent", "12 %"),
        ("de", "dreißig Minuten", "eine halbe Stunde"),
        ("de", "3,5 kg", "3500 g"),
        ("de", "CHF 1'234.50", "1234,50 CHF"),
        ("de", "1'234'567.89", "1.234.567,89"),
        ("en", "1'234.50", "1,234.5"),
        ("en", "half an hour", "30 minutes"),
        ("en", "two and a half hours", "150 minutes"),
        ("en", "an hour and a half", "1.5 hours"),
        ("en", "2 hours and 15 minutes", "135 min"),
        ("en", "1h30m", "90 minutes"),
        ("en", "noon", "12:00"),
        ("en", "5 o'clock", "5:00"),
        ("en", "Tuesday, March 5, 2024", "2024-03-05"),
        ("en", "5 March 2024, 15:00", "March 5, 2024 at 3:00 p.m."),
        ("en", "two thousand and five", "2005"),
        ("en", "1,234.50 USD", "$1,234.5"),
        ("en", "3 million", "3,000,000"),
        ("en", "5 kilometers", "5 km"),
        ("en", "1.5e6", "1500000"),
        ("en", "2.5 × 10^6", "2500000"),
        ("en", "2 TB", "2 terabytes"),
        ("en", "20 degrees Celsius", "20 °C"),
        ("en", "US$5 billion", "$5bn"),
        ("en", "25 percentage points", "25 percentage point"),
        ("en", "the 21st", "the 21st"),
        ("en", "the third step", "the 3rd step"),
        ("en", "-5", "minus 5"),
        ("en", "1 ½ hours", "90 minutes"),
        ("en", "3:30pm", "15:30"),
        ("en", "£20", "20 pounds sterling"),
        ("en", "a 90-minute talk", "a 1.5-hour talk"),
        ("en", "10 a.m.", "10:00"),
        ("en", "10 a.m. sharp", "10:00 sharp"),
        ("en", "30 °C", "30°C"),
        ("en", "1 km", "1,000 m"),
        ("en", "0.5 kg", "500 g"),
        ("en", "12 inches", "1 foot"),
        ("en", "1 day", "24 hours"),
        ("fr", "à 15h30", "à 15:30"),
        ("fr", "3 heures de l'après-midi", "15:00"),
        ("fr", "douze pour cent", "12 %"),
        ("fr", "1er mars 2024", "2024-03-01"),
        ("fr", "une demi-heure", "30 minutes"),
        ("fr", "2,5 millions d'euros", "2 500 000 €"),
        ("fr", "quatre-vingt-dix-neuf", "99"),
        ("fr", "mardi 5 mars 2024", "le 05/03/2024"),
        ("fr", "1 234,56 €", "1234,56 euros"),
        ("fr", "midi", "12:00"),
        ("es", "doce por ciento", "12 %"),
        ("es", "a las 15 horas", "a las 15:00"),
        ("es", "media hora", "30 minutos"),
        ("es", "2 mil millones de dólares", "$2.000.000.000"),
        ("es", "veintitrés", "23"),
        ("es", "una hora y media", "90 minutos"),
        ("es", "3 p. m.", "15:00"),
        ("es", "martes 5 de marzo de 2024", "05/03/2024"),
        ("it", "dodici per cento", "12%"),
        ("it", "mezz'ora", "30 minuti"),
        ("it", "un'ora e mezza", "90 minuti"),
        ("it", "alle ore 15", "alle 15:00"),
        ("it", "3 milioni di euro", "3.000.000 €"),
        ("it", "le 3 del pomeriggio", "le 15:00"),
        ("it", "centoventi chilometri", "120 km"),
        ("nl", "twaalf procent", "12%"),
        ("nl", "een half uur", "30 minuten"),
        ("nl", "anderhalf uur", "90 minuten"),
        ("nl", "om 3 uur 's middags", "om 15:00"),
        ("nl", "2 miljoen euro", "€ 2.000.000"),
        ("nl", "dinsdag 5 maart 2024", "5-3-2024"),
        ("pt", "doze por cento", "12%"),
        ("pt", "meia hora", "30 minutos"),
        ("pt", "uma hora e meia", "90 minutos"),
        ("pt", "às 15h30", "às 15:30"),
        ("pt", "2 milhões de reais", "R$ 2.000.000"),
        ("pt", "3 da tarde", "15:00"),
        ("pt", "terça-feira, 5 de março de 2024", "05/03/2024"),
        ("ja", "十二パーセント", "12%"),
        ("ja", "午後三時半", "15:30"),
        ("ja", "二〇二四年三月五日", "2024年3月5日"),
        ("ja", "3万円", "30,000円"),
        ("ja", "1億2千万円", "120,000,000円"),
        ("ja", "9時間半", "9.5時間"),
        ("ja", "マイナス5度", "-5度"),
        ("ja", "5キロメートル", "5km"),
        ("ja", "￥4,000", "4000円"),
        ("ja", "2024/3/5", "2024年3月5日"),
        ("ja", "\uff11\uff12\uff05", "12%"),
        ("zh", "下午三点半", "15:30"),
        ("zh", "一个半小时", "90分钟"),
        ("zh", "两个小时", "120分钟"),
        ("zh", "二十五公里", "25 km"),
        ("zh", "三百万美元", "300万美元"),
        ("zh", "二〇二四年三月五日", "2024年3月5日"),
        ("zh", "\uff11\uff12\uff05", "12%"),
        ("zh", "半小时", "30分钟"),
        ("zh", "零下五度", "-5度"),
        ("zh", "人民币4000元", "4,000元"),
        ("zh", "第三步", "第3步"),
        ("zh", "一千零二十五人", "1025人"),
        ("zh", "一万零五百元", "10500元"),
        ("zh", "三万亿元", "3000000000000元"),
        ("zh", "一二〇万元", "1200000元"),
        ("ja", "百五人", "105人"),
        ("ja", "25百万円", "25000000円"),
        ("fr", "le lundi 4 mars", "lundi 4 mars"),
        ("de", "am Montag", "Montag"),
        ("en", "on Monday", "Monday"),
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
        ("de", "der Punkt (3,4)", "der Punkt (3, 4)", [], []),
        ("it", "l'18 novembre", "18/11/2019", [], []),
        ("ja", "3年目", "36か月", ["3"], ["36 month"]),
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


@pytest.mark.parametrize(
    ("language", "left", "right"),
    [
        ("de", "4.000 Euro", "40.000 Euro"),
        ("de", "um 15 Uhr", "um 5 Uhr"),
        ("en", "12%", "0.12"),
        ("en", "3 pm", "3 am"),
        ("en", "$5 million", "$5 billion"),
        ("en", "5 GB", "5 MB"),
        ("en", "2 weeks", "2 months"),
        ("fr", "15 minutes", "50 minutes"),
        ("ja", "3万円", "3億円"),
        ("ja", "午前3時", "午後3時"),
        ("zh", "三百万", "三千万"),
        ("es", "5 de marzo", "6 de marzo"),
        ("it", "duemila", "tremila"),
        ("nl", "5 kg", "5 g"),
        ("pt", "R$ 100", "US$ 100"),
        ("en", "Monday", "Tuesday"),
        ("en", "in March 2024", "in April 2024"),
        ("en", "the third step", "the fourth step"),
        ("en", "twelve", "twenty"),
        ("de", "im März", "im April"),
        ("en", "-5 °C", "5 °C"),
        ("en", "5%", "5 percentage points"),
    ],
)
def test_near_misses_differ(language: str, left: str, right: str) -> None:
    """One digit, mark, unit, half of the day or month less is another value, and is proven to be."""
    assert canonical(left, language) != canonical(right, language)
    assert all(differing_values(left, right, language))


@pytest.mark.parametrize(
    ("language", "left", "right"),
    [
        ("fr", "fermé le lundi", "fermé lundi"),
        ("fr", "15:00 le lundi", "15:00 lundi"),
        ("fr", "ouvert le midi", "ouvert à midi"),
        ("it", "chiuso il lunedì", "chiuso lunedì"),
        ("pt", "fechado à segunda-feira", "fechado segunda-feira"),
        ("pt", "fechado às segundas-feiras", "fechado segunda-feira"),
        ("es", "cerrado los lunes", "cerrado el lunes"),
        ("nl", "op maandag gesloten", "maandag gesloten"),
        ("de", "montags geschlossen", "am Montag geschlossen"),
        ("en", "closed on Mondays", "closed on Monday"),
    ],
)
def test_every_monday_is_not_this_monday(language: str, left: str, right: str) -> None:
    """An article or plural that makes a day recur stays in the text."""
    assert canonical(left, language) != canonical(right, language)


@pytest.mark.parametrize(
    "numeral", ["一二千", "二三百", "十七八", "两三", "二百三百", "百百", "十百", "三2", "2三", "万"]
)
@pytest.mark.parametrize("language", ["ja", "zh"])
def test_a_numeral_without_a_certain_amount_is_opaque(language: str, numeral: str) -> None:
    """Rough and broken numerals are no values and stay as they are written."""
    read = read_values(f"共{numeral}元", language)
    assert not read.values
    assert [span.text for span in read.opaque] == [numeral]


@pytest.mark.parametrize("numeral", ["一百五", "两万五", "三兆"])
def test_a_numeral_that_chinese_readers_take_otherwise_is_opaque(numeral: str) -> None:
    """一百五 is 150 in Chinese, not 105; 兆 is a million in one country and a million millions in another."""
    assert not read_values(f"共{numeral}元", "zh").values


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I may be wrong, and we march on."),
        ("en", "In the 1990s, 24/7, 16:9, A4, B2B, 3D, H2O, CO2, Q3"),
        ("en", "$E=mc^2$ and O(n)"),
        ("de", "Eines Morgens"),
        ("fr", "un après-midi"),
        ("ja", "20n + 4A"),
        ("de", "Sei es drum, Sie haben ein Haus und eine Katze."),
        ("fr", "Un homme et une femme"),
        ("it", "ogni ora, un uomo"),
        ("ja", "一般的に、一方、第三者、万一、十分な、三菱、千葉県、二分木、一時的、数千ドル"),
        ("zh", "一般来说，一些人，十分重要，统一，万一，千万不要，三星，百度"),
    ],
)
def test_prose_without_values_stays_as_it_is(language: str, text: str) -> None:
    """Words that contain or resemble numbers are none."""
    assert canonical(text, language) == text


def test_the_language_is_told_from_the_text() -> None:
    """Without a tag the marks and words are those of the text's own language."""
    assert canonical("Das kostet zwölf Millionen Euro im Jahr") == "Das kostet 12000000 EUR im Jahr"
    assert canonical("会議は午後3時です") == "会議は15:00です"
    assert {reading.text for reading in read_values("1.000").values[0].readings} == {"1", "1000"}


PIECES = st.lists(
    st.sampled_from(
        (
            *"1050.,:-/ $€%°'()\n`@²½٣",
            "1'234",
            "März ",
            "5",
            "2024",
            " and ",
            "a ",
            "half ",
            "十",
            "万",
            "時",
            "半",
            " km",
            "pm",
            "h",
            "½",
            "one ",
            "+",
        )
    ),
    max_size=30,
).map("".join)


@given(PIECES, st.sampled_from(("en", "de", "fr", "ja", "zh", "sv")))
def test_spans_are_in_order_and_apart(text: str, language: str) -> None:
    """Whatever is written, values are pieces of the text that do not overlap."""
    place = 0
    for value in read_values(text, language).values:
        assert place <= value.start < value.end <= len(text)
        assert value.text == text[value.start : value.end]
        place = value.end
    assert differing_values(text, text, language) == ((), ())


@pytest.mark.parametrize(
    "text",
    ["¹0", "10²kg", "x'²5", "l'²8 novembre", "²:30", "₂0", "5'11.5\" tall", "6'2.5", "2'30.5 min", "1'2'3.4"],
)
def test_what_only_looks_like_a_number_is_read(text: str) -> None:
    """Raised digits, feet and inches, minutes and seconds: they are compared as they are written."""
    assert not read_values(text, "en").values
    assert canonical(text, "en") == text


@pytest.mark.parametrize(
    "piece", ["1", "1 ", "1,", "a-", "$", "one ", "Monday ", "1.5 h ", "1h", "+1 ", "```", "十", "1十", "-"]
)
def test_a_hostile_text_is_read(piece: str) -> None:
    """Repetition of one mark neither overflows nor takes longer than its length."""
    assert canonical(piece * 5_000, "en")
