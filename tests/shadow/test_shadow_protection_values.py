"""Which values redaction finds in a text, and which it leaves alone."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenkeel.shadow.perturbations.places import protected_spans
from evenkeel.shadow.protection import BUILTIN, ProtectionError
from evenkeel.shadow.protection.detectors import (
    OwnPattern,
    PresidioDetector,
    iban_valid,
    load_analyser,
    luhn_valid,
)
from evenkeel.shadow.protection.redaction import Placeholders

TOKEN = "q7Wn3x_" * 6


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("to ann.lee+x@mail.example.org.", "to [EMAIL_1]."),
        ("mailto:zoë@exämple.de?subject=x", "mailto:[EMAIL_1]?subject=x"),
        ("x@y is no address, nor is @here", None),
        # The test number of a card maker, and the same with its last two digits turned around.
        ("card 4111 1111 1111 1111, exp", "card [CARD_1], exp"),
        ("card 5500-0000-0000-0004", "card [CARD_1]"),
        ("card 378282246310005;", "card [CARD_1];"),
        ("number 4111111111111112", None),
        ("at 1700000000000 ms", None),
        # The registry's own examples.
        ("DE89 3704 0044 0532 0130 00 BIC", "[IBAN_1] BIC"),
        ("pay NL91ABNA0417164300 now", "pay [IBAN_1] now"),
        ("pay DE89 3704 0044 0532 0130 02", None),
        ("host 192.0.2.17:8080", "host [IP_1]:8080"),
        ("version 1.2.3 of 10.20.30", None),
        ("999.1.1.1 and 1.2.3.4.5", None),
        ("from 2001:db8::1:17, then", "from [IP_1], then"),
        ("std::vector at 10:02:33", None),
        ("+49 170 1234567", "[PHONE_1]"),
        ("call (212) 555-0123 today", "call [PHONE_1] today"),
        ("Tel. 030/1234567.", "Tel. [PHONE_1]."),
        ("0049-30-1234567", "[PHONE_1]"),
        ("on 2024-03-05 10:02 for 1,234,567.89", None),
        ("order 1234567890, part 12-3456-78", None),
        (f"key sk-proj-{TOKEN}", "key [API_KEY_1]"),
        ("AKIAIOSFODNN7EXAMPLE", "[API_KEY_1]"),
        ("a task-force, sk-short", None),
        (f"Authorization: Bearer {TOKEN}", "Authorization: Bearer [SECRET_1]"),
        (f'password="{TOKEN}"', 'password="[SECRET_1]"'),
        ("the password: swordfish", None),
        (f"eyJhbGciOiJI.eyJ{TOKEN}.{TOKEN}!", "[JWT_1]!"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "[API_KEY_1]"),
    ],
)
def test_values_are_told_from_what_looks_like_them(text, redacted):
    """Check digits, lengths and surroundings decide; what is no such value stays."""
    assert Placeholders(BUILTIN).redact(text) == (redacted or text)


def test_check_digits_are_those_of_the_standards():
    """Numbers from the standards' own texts, and each with one digit changed."""
    assert luhn_valid("79927398713")
    assert not any(luhn_valid(f"7992739871{digit}") for digit in "012456789")
    assert iban_valid("GB82WEST12345698765432")
    assert not iban_valid("GB82WEST12345698765431")


def test_the_same_value_has_the_same_placeholder():
    """However it is written, and numbers go by the order in which values come."""
    values = Placeholders(BUILTIN)
    assert values.redact("a@b.org, c@d.org, A@B.ORG") == "[EMAIL_1], [EMAIL_2], [EMAIL_1]"
    assert values.redact("c@d.org: 4111111111111111") == "[EMAIL_2]: [CARD_1]"
    assert values.redact("4111-1111-1111-1111") == "[CARD_1]"
    assert values.replaced == {"email": 4, "card": 2}


def test_pictures_are_left_alone():
    """A picture in base64 is no text, however long."""
    picture = "data:image/png;base64," + "AKIAIOSFODNN7EXAMPLE/" * 3
    assert Placeholders(BUILTIN).redact(picture) == picture


def test_perturbations_leave_placeholders_alone():
    """A replay asks about the same placeholders as the original."""
    for one in BUILTIN:
        text = f"Please write to [{one.kind.upper()}_12] soon"
        assert f"[{one.kind.upper()}_12]" in {text[span.start : span.end] for span in protected_spans(text)}


HOSTILE = [
    "1",
    "1 ",
    "a@",
    "a.",
    "+1 ",
    "A1",
    "DE89 ",
    "eyJ",
    "eyJaaaaaaaa.",
    "sk-",
    "a:",
    "1.",
    "(",
    "a@a.",
    "key=",
]


@pytest.mark.parametrize("piece", [*HOSTILE, "-----BEGIN PRIVATE KEY-----"])
def test_no_text_takes_long(piece):
    """Time grows with the length, not with its square: twice the text is far from four times the time."""
    texts = [piece * (size // len(piece)) for size in (20_000, 80_000)]
    took = []
    for text in texts:
        runs = []
        for _ in range(3):
            started = time.process_time()
            Placeholders(BUILTIN).redact(text)
            runs.append(time.process_time() - started)
        took.append(min(runs))
    assert took[1] < 10 * took[0] + 0.02


@settings(max_examples=60, deadline=None)
@example(["a@b.cd.a@a.eyJ"])  # the second address begins where the first one ended
@given(
    st.lists(st.sampled_from([*HOSTILE, "ann@example.org", "4111111111111111", " ", "\n", "é"]), max_size=40)
)
def test_redacting_again_changes_nothing(pieces):
    """No placeholder is taken for a value, and nothing is left over."""
    once = Placeholders(BUILTIN).redact("".join(pieces))
    assert Placeholders(BUILTIN).redact(once) == once


def test_a_pattern_that_fits_placeholders_comes_to_an_end():
    """What stands for a value is never taken for one, nor cut in two; around it the pattern counts."""
    values = Placeholders([OwnPattern("word", r"[A-Za-z]+"), OwnPattern("pair", r"\[\w+\] \d+")])
    assert values.redact("ann 7 [note]") == "[PAIR_1] [[WORD_2]]"


def test_own_patterns_are_found_with_their_group():
    """What is replaced is the first group, if there is one."""
    values = Placeholders(
        [OwnPattern("customer", r"customer (C-\d{4})"), OwnPattern("site", r"\bplant-[a-z]+\b")]
    )
    assert values.redact("ünder customer C-1234 at plant-nine") == "ünder customer [CUSTOMER_1] at [SITE_1]"


@pytest.mark.parametrize(
    ("written", "said"), [("(", "missing"), ("(?=a)b", "no lookaround"), ("a*", "finds empty text")]
)
def test_an_own_pattern_that_cannot_be_used_says_why(written, said):
    """At the start, not in the middle of traffic."""
    with pytest.raises(ProtectionError, match=said):
        OwnPattern("mine", written)


def test_own_patterns_without_the_library_name_the_extra(monkeypatch):
    """Who sets one is told what to install."""
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ProtectionError, match=r"pip install 'evenkeel\[redaction\]'"):
        OwnPattern("mine", "x")


def test_an_own_pattern_takes_linear_time():
    """Nested repetitions, which ruin other engines, do nothing to RE2."""
    started = time.process_time()
    list(OwnPattern("mine", "(a+)+$").find("a" * 100_000 + "b"))
    assert time.process_time() - started < 5


class Analyser:
    """Stands for Presidio: recognises capitalised words as persons, of whom some are doubtful."""

    def analyze(self, text, language, entities):
        assert (language, entities) == ("en", ["PERSON"])
        at = 0
        for word in text.split():
            at = text.index(word, at)
            if word.istitle():
                score = 0.4 if word == "Maybe" else 0.85
                yield SimpleNamespace(start=at, end=at + len(word), entity_type="PERSON", score=score)


def test_what_presidio_is_sure_of_is_replaced():
    """Kinds are those of Presidio in small letters, and least certainty counts."""
    detector = PresidioDetector(Analyser(), language="en", entities=["PERSON"], score=0.5)
    assert Placeholders([detector]).redact("ask Ann or Maybe Bob") == "ask [PERSON_1] or Maybe [PERSON_2]"


def test_presidio_that_is_missing_is_named_with_its_extra(monkeypatch):
    """As for every other extra."""
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(ProtectionError, match=r"pip install 'evenkeel\[presidio\]'"):
        load_analyser("en")


def test_presidio_without_a_model_says_so(monkeypatch):
    """Its own way to say so is to end the process."""

    def no_model(supported_languages):
        raise SystemExit(1)

    monkeypatch.setitem(sys.modules, "presidio_analyzer", SimpleNamespace(AnalyzerEngine=no_model))
    with pytest.raises(ProtectionError, match="install a spaCy model"):
        load_analyser("en")
