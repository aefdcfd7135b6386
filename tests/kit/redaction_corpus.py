"""Texts with and without values that redaction must find, made up from templates with a fixed seed.

No person, account or key in it exists: names are those of plants, domains those reserved for examples, keys
are random letters behind a vendor's mark, numbers random digits with a computed check digit.
"""

import base64
import json
import random
from pathlib import Path
from typing import NamedTuple

import yaml

from evenkeel.shadow.protection import BUILTIN
from evenkeel.shadow.protection.redaction import Placeholders, redact_text

_TEXTS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
NAMES = ("Iris Farn", "Linde Moos", "Aster Klee", "Olive Reed", "Hazel Thorn", "Mimosa Basil")
SENTENCES = _TEXTS["sentences"]
"""Sentences in nine languages."""
LINES = _TEXTS["lines"]
"""Tables and logs."""


class Sample(NamedTuple):
    """A text, and the value in it if there is one."""

    kind: str
    """Kind of the value, or the kind that a near miss is like."""
    shape: str
    """Form of the text: "sentence", "line", "json" or "url"."""
    text: str
    value: str | None
    """Value that must not be left in the text; None for a near miss, of which all must be left."""


def corpus(seed=19):
    """All samples, the same for the same seed."""
    rng = random.Random(seed)
    samples = [Sample(kind, "sentence", text, value) for kind, text, value in _BY_HAND]
    for kind, make in _VALUES.items():
        samples += _placed(kind, make, rng, hit=True)
    for kind, make in _NEAR_MISSES.items():
        samples += _placed(kind, make, rng, hit=False)
    return samples


def _placed(kind, make, rng, *, hit):
    """A value of its own in each sentence twice, in each line, and in JSON as an application writes it."""
    placed = []
    for shape, templates in (("sentence", SENTENCES * 3), ("line", LINES * 4)):
        for template in templates:
            value = make(rng)
            name = rng.choice(NAMES)
            text = template.replace("{}", value).replace("{value}", value).replace("{name}", name)
            placed.append(Sample(kind, shape, text, value if hit else None))
    for indent in (None, 1, 2) * 4:
        value = make(rng)
        record = {"customer": rng.choice(NAMES), "fields": [{"n": 3, "given": value}]}
        placed.append(Sample(kind, "json", json.dumps(record, indent=indent), value if hit else None))
    return placed


def _digits(rng, count):
    return "".join(rng.choice("0123456789") for _ in range(count))


def _key(rng, count):
    return "".join(rng.choice(LETTERS) for _ in range(count))


def _check_digit(digits):
    """The digit that makes a card's number valid (ISO/IEC 7812-1)."""
    doubled = [int(one) * (2 - place % 2) for place, one in enumerate(reversed(digits))]
    return -sum(digit // 10 + digit % 10 for digit in doubled) % 10


def _card(rng, off=0):
    digits = rng.choice("3456") + _digits(rng, 14)
    digits += str((_check_digit(digits) + off) % 10)
    mark = rng.choice(["", " ", "-", ".", "\u00a0", "\u202f"])
    return mark.join(digits[at : at + 4] for at in range(0, 16, 4))


def _iban(rng, off=0):
    country, count = rng.choice([("DE", 18), ("AT", 16), ("DK", 14), ("BE", 12), ("PT", 21)])
    account = _digits(rng, count)
    turned = account + "".join(str(int(letter, 36)) for letter in country) + "00"
    check = 98 - int(turned) % 97
    whole = f"{country}{(check + off - 2) % 97 + 2:02d}{account}"
    if rng.random() < 0.4:
        whole = whole.lower()
    mark = rng.choice(["", " ", "\u00a0", "-", "."])
    return mark.join(whole[at : at + 4] for at in range(0, len(whole), 4))


def _phone(rng):
    mark = rng.choice([" ", "-", "\u00a0", "."])
    form = rng.choice(
        ["+49{m}170{m}{a}", "+33{m}6{m}{b}{m}{b}{m}{b}{m}{b}", "0049{m}30{m}{a}", "(212) 555-{c}"]
    )
    return form.format(m=mark, a="4" + _digits(rng, 6), b="1" + _digits(rng, 1), c=_digits(rng, 4))


def _email(rng):
    first, last = rng.choice(NAMES).lower().split()
    mark, host = rng.choice([".", "_", "+", ""]), rng.choice(["mail.", ""])
    return f"{first}{mark}{last}{rng.randrange(99)}@{host}example.org"


def _ip(rng):
    if rng.random() < 0.3:
        return f"2001:db8:{rng.randrange(1, 65536):x}::{rng.randrange(1, 65536):x}:7"
    return f"{rng.choice(['192.0.2', '198.51.100', '203.0.113'])}.{rng.randrange(1, 255)}"


def _api_key(rng):
    mark, count = rng.choice([("sk-proj-", 40), ("ghp_", 36), ("glpat-", 20), ("hf_", 34), ("sk_live_", 24)])
    return mark + _key(rng, count)


def _basic(rng):
    said = f"{rng.choice(NAMES).split()[0].lower()}:{_key(rng, rng.randrange(6, 24))}"
    return base64.b64encode(said.encode()).decode()


def _secret(rng):
    mark = rng.choice(["Bearer ", "password=", "api_key: ", "token=", "Basic ", "https://farn:"])
    if mark == "Basic ":
        return mark + _basic(rng)
    return mark + _key(rng, 24) + ("@db.example.org/x" if mark.startswith("https") else "")


def _jwt(rng):
    head = base64.urlsafe_b64encode(b'{"alg":"HS256"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(b'{"sub":"%d"}' % rng.randrange(10**9)).decode().rstrip("=")
    return f"{head}.{body}.{_key(rng, 43)}"


def _amount(rng):
    forms = ("{a}-0{b}-1{b} 10:0{b}:33", "1,{c},{d}.5{b}", "{a}/1{b}/0{b}", "v{b}.{b}.{b}", "17{c}{d}{c}1")
    return rng.choice(forms).format(
        a=rng.randrange(2001, 2040),
        b=rng.randrange(1, 3),
        c=rng.randrange(100, 999),
        d=rng.randrange(100, 999),
    )


def _words(rng):
    return rng.choice(
        [
            *("basic understanding", "Basic characterization", "the bearer of it", "token counts: 512"),
            *("https://example.org:8080/a?b=c@d", "a password of 12 letters", "secret: none", "key=3"),
        ]
    )


_VALUES = {
    "card": _card,
    "iban": _iban,
    "phone": _phone,
    "email": _email,
    "ip": _ip,
    "api_key": _api_key,
    "secret": _secret,
    "jwt": _jwt,
}
_NEAR_MISSES = {
    "card": lambda rng: _card(rng, rng.randrange(1, 9)),
    "iban": lambda rng: _iban(rng, rng.randrange(1, 90)),
    "phone": _amount,
    "email": lambda rng: rng.choice(["@here", "x@y", "a @ b", "me@", "@example.org", "3 kg @ 4"]),
    "ip": lambda rng: f"{rng.randrange(1, 9)}.{rng.randrange(1, 20)}.{rng.randrange(300)}",
    "api_key": lambda rng: rng.choice(["sk-short", "task-force", "ghp_", "risk-" + _key(rng, 5), "glpat"]),
    "secret": _words,
    "jwt": lambda rng: "eyJ" + _key(rng, 5) + "." + _key(rng, 4),
}
_BY_HAND = _TEXTS["by_hand"]


def is_replaced(sample):
    """Tell whether redaction took a value out of a text: all of it, or of a near miss anything at all."""
    redacted = redact_text(sample.text, Placeholders(BUILTIN).redact)
    if sample.value is None:
        return redacted != sample.text
    written = json.dumps(sample.value)[1:-1] if sample.shape == "json" else sample.value
    return redacted != sample.text and written not in redacted
