"""Detectors of sensitive values that must not be stored: built-in patterns, the operator's own, Presidio.

Matching takes linear time. In built-in patterns every repetition is bounded, and nested repetitions can match
a text in one way only. The operator's patterns are matched by RE2, which is linear for any pattern.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class ProtectionError(Exception):
    """Raised if a detector is not available as configured. The message gives the reason and a remedy."""


class SensitiveSpan(NamedTuple):
    """Position of a sensitive value in a text."""

    start: int
    end: int
    kind: str
    """Name of the kind in snake case, used in the placeholder and as the counter's label."""


class Detector(Protocol):
    """Finds values of one kind or several. Safe to use from one thread at a time."""

    def find(self, text: str) -> Iterable[SensitiveSpan]:
        """Return the detected values in any order. None of them is empty."""
        ...


_MARK = re.compile(r"[^0-9A-Za-z]")
_SPACES: Final = " \u00a0\u2009\u202f"
# Separators between the groups of a number, besides dots. The hyphen is last, because `_DASHES` always ends a
# character set.
_DASHES: Final = "\u2010\u2011\u2013-"
_PLAIN_MARKS: Final = {**dict.fromkeys(map(ord, _SPACES), " "), **dict.fromkeys(map(ord, _DASHES), "-")}


# Longest value of most patterns, and of keys and tokens, in characters.
_LONGEST_CHARS: Final = 512
_LONGEST_SECRET_CHARS: Final = 65_536


@dataclass(frozen=True, slots=True)
class Pattern:
    """Detector of one kind of value by a regular expression and an optional check."""

    kind: str
    look: re.Pattern[str]
    """Regular expression of a value. The value is the group `value` if there is one, else the whole match."""
    length: Callable[[str], int] = len
    """Function that returns how many characters of a match belong to the value; 0 to reject the match."""
    needs: tuple[str, ...] = ()
    """Lower-case strings. A text without any of them has no such value, which is quick to find out."""
    longest: int = _LONGEST_CHARS
    """Most characters of a value."""

    def find(self, text: str) -> Iterator[SensitiveSpan]:
        """Implement `Detector.find`."""
        if self.needs:
            lower = text.lower()
            if not any(need in lower for need in self.needs):
                return
        group = "value" if "value" in self.look.groupindex else 0
        done = 0
        while match := self.look.search(text, done):
            done, at = match.end(), match.start(group)
            length = self.length(match[group])
            while length:
                yield SensitiveSpan(at, at + length, self.kind)
                at += length
                length = self._behind_value(text, at, group)
            done = max(done, at)

    def _behind_value(self, text: str, at: int, group: int | str) -> int:
        """Return the length of a value directly after another; 0 for none.

        A search misses it, because patterns require a boundary before a value.
        """
        rest = text[at : at + self.longest]
        match = self.look.match(rest)
        if match is None or match.start(group) or (match.end() == len(rest) and at + len(rest) < len(text)):
            return 0
        return self.length(match[group])


def luhn_valid(digits: str) -> bool:
    """Return whether a number ends in the check digit of payment cards (ISO/IEC 7812-1)."""
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + position % 2)
        total += value - 9 if value > 9 else value  # noqa: PLR2004 - the sum of its two digits
    return total % 10 == 0


def iban_valid(iban: str) -> bool:
    """Return whether an account number without spaces has valid check digits (ISO 13616)."""
    turned = iban[4:] + iban[:4]
    return int("".join(str(int(letter, 36)) for letter in turned)) % 97 == 1


# Countries by the length of their IBANs, from the IBAN registry.
_IBAN_COUNTRIES: Final = {
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU",
    31: "MT SC",
}


def _iban(text: str) -> int:
    wanted = 0
    for length, countries in _IBAN_COUNTRIES.items():
        if text[:2].upper() in countries.split():
            wanted = length
    taken = ""
    for position, letter in enumerate(text, start=1):
        if letter.isalnum():
            taken += letter
        if wanted and len(taken) == wanted:
            whole = position == len(text) or not text[position].isalnum()
            return position if whole and iban_valid(taken) else 0
    return 0


# Separators that other numbers use as well. A card with one of them must use the same one between all groups.
_LOOSE_MARKS: Final = "\t\n\r/_"
_CARD_GROUPS: Final = re.compile(
    rf"\d{{4}}(?P<mark>\r\n|[.{_LOOSE_MARKS}{_SPACES}{_DASHES}])"
    r"(?:\d{4}(?P=mark)\d{4}(?P=mark)\d{4}|\d{6}(?P=mark)\d{5})(?!\d)"
)


def _card(text: str) -> int:
    """Return the length of a card number: the whole match, or its groups without a date or code behind."""
    grouped = _CARD_GROUPS.match(text)
    if grouped is not None and _is_card(grouped[0]):
        return grouped.end()
    loose = any(mark in text for mark in (".", *_LOOSE_MARKS))
    return len(text) if not loose and _is_card(text) else 0


def _is_card(text: str) -> bool:
    digits = _MARK.sub("", text)
    return luhn_valid(digits) and len(set(digits)) > 1


_ABROAD: Final = re.compile(r"(?:\+|00)[1-9]")
_AT_HOME: Final = re.compile(r"\(?0[1-9]")
_NORTH_AMERICA: Final = re.compile(r"(?:1[ .\-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .\-])[2-9]\d\d[ .\-]\d{4}")


def _phone(text: str) -> int:
    text = text.translate(_PLAIN_MARKS)
    digits = sum(letter.isdigit() for letter in text)
    if _ABROAD.match(text):
        return len(text) if 8 <= digits <= 15 else 0  # noqa: PLR2004 - ITU-T E.164
    if _AT_HOME.match(text):
        return len(text) if 9 <= digits <= 12 else 0  # noqa: PLR2004 - including the leading 0
    return len(text) if _NORTH_AMERICA.fullmatch(text) else 0


def _basic(text: str) -> int:
    """Return the length of HTTP Basic credentials (RFC 7617): name, colon and password in base64; else 0."""
    try:
        opened = base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True)
        decoded = opened.decode()
    except (binascii.Error, UnicodeDecodeError):
        return 0
    return len(text) if ":" in decoded and decoded.isprintable() else 0


# Fewest groups of an IPv6 address; fewer are times and ratios, such as 12:30.
_GROUPS_V6 = 3


def _address(text: str) -> int:
    bare = text.rstrip(".:") if not text.endswith("::") else text
    if ":" in bare and sum(bool(group) for group in bare.split(":")) < _GROUPS_V6:
        return 0  # "a::b" is a valid address, but in practice two names in source code
    try:
        ip_address(bare)
    except ValueError:
        return 0
    return len(bare)


EMAIL: Final = Pattern(
    "email",
    re.compile(
        r"(?<![\w.%+-])[\w.%+-]{1,64}(?:@|%40)[^\W_](?:[\w-]{0,62})(?:\.[^\W_][\w-]{0,62}){0,6}\.[^\W\d_]{2,24}(?![\w-])"
    ),
    needs=("@", "%40"),
)
CARD: Final = Pattern(
    "card",
    re.compile(
        rf"(?<![\w.+-])(?<!\b0,)[2-6]\d{{3}}"
        rf"(?:(?:\r\n|[.{_LOOSE_MARKS}{_SPACES}{_DASHES}])?\d){{8,15}}(?![\w-]|\.\d)"
    ),
    _card,
)
IBAN: Final = Pattern(
    "iban", re.compile(rf"(?<!\w)[A-Za-z]{{2}}\d{{2}}(?:[.{_SPACES}{_DASHES}]?[A-Za-z0-9]){{11,40}}"), _iban
)
PHONE: Final = Pattern(
    "phone",
    # After a digit and a comma, a number is taken for decimals unless its groups look like a phone number.
    re.compile(
        r"(?<![\w+./-])(?:\+|\(|(?<!\d,)(?=\d)|(?=\d{3}-\d{3}-\d{4})|(?=0\d{1,4}[ /-]\d))"
        rf"\d[\d()./{_SPACES}{_DASHES}]{{5,22}}\d(?![\w-]|\.\d)"
    ),
    _phone,
)
IP: Final = Pattern(
    "ip",
    re.compile(
        r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)"
        r"|(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4}|\d{1,3}(?:\.\d{1,3}){3})?(?![\w:]))"
    ),
    _address,
)
JWT: Final = Pattern(
    "jwt",
    re.compile(r"(?<![\w-])eyJ[\w-]{8,8192}\.eyJ[\w-]{8,16384}(?:\.[\w-]{0,8192})?(?![\w-])"),
    needs=("eyj",),
    longest=_LONGEST_SECRET_CHARS,
)
API_KEY: Final = Pattern(
    "api_key",
    re.compile(
        r"(?P<value>(?<![\w-])(?:"
        r"(?:sk|pk|rk)[-_][\w-]{16,250}"
        r"|gh[opsur]_\w{30,250}|github_pat_\w{30,250}|glpat-[\w-]{16,250}"
        r"|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{35}|ya29\.[\w-]{20,1000}"
        r"|xox[a-z]-[\w-]{10,250}|hf_\w{20,250}|npm_\w{30,250}|dop_v1_\w{40,100}"
        r")(?![\w-])"
        r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{1,16384}-----END [A-Z ]{0,30}PRIVATE KEY-----)"
    ),
    needs=(
        *("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat_"),
        *("glpat-", "akia", "asia", "aiza", "ya29.", "xox", "hf_", "npm_", "dop_v1_", "private key-"),
    ),
    longest=_LONGEST_SECRET_CHARS,
)
SECRET: Final = Pattern(
    "secret",
    re.compile(
        r"(?i:(?:bearer[ \t]{1,4}|(?:api[ _-]?key|access[ _-]?key|secret|token|passw(?:or)?d)"
        r"[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?))(?P<value>[\w./+~=-]{16,2048})"
    ),
    needs=("bearer", "key", "secret", "token", "passw"),
    longest=_LONGEST_SECRET_CHARS,
)
BASIC: Final = Pattern(
    "secret",
    re.compile(r"(?i:\bbasic)[ \t]{1,4}(?P<value>[A-Za-z0-9+/]{4,2048}={0,2})(?![\w+/=])"),
    _basic,
    needs=("basic",),
    longest=_LONGEST_SECRET_CHARS,
)
URL_CREDENTIALS: Final = Pattern(
    "secret",
    re.compile(r"://(?P<value>[^\s/:@?#\"'<>\[\]]{0,200}:[^\s/@?#\"'<>\[\]]{1,200})@"),
    needs=("://",),
)

BUILTIN: Final = (JWT, API_KEY, URL_CREDENTIALS, SECRET, BASIC, EMAIL, IBAN, CARD, IP, PHONE)
"""Built-in patterns in order of precedence: if two match the same text, the earlier one decides its kind."""


# Most memory that RE2 may use for a compiled pattern.
_MAX_MEMORY_BYTES = 8 << 20


class OwnPattern:
    """Detector of one kind of value by the operator's own pattern, in RE2 syntax."""

    def __init__(self, kind: str, written: str) -> None:
        """Compile a pattern. The value is its first group if it has one.

        Raises: ProtectionError if its syntax is invalid or it matches empty text.
        """
        import re2  # noqa: PLC0415 - only where settings have patterns

        self.kind = kind
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MAX_MEMORY_BYTES
        try:
            self._look = re2.compile(written, options)
        except re2.error as error:
            problem = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
            raise ProtectionError(
                f"the pattern of {kind} is not valid in RE2 ({problem}); "
                "RE2 has no lookaround or backreferences"
            ) from error
        if self._look.search("") is not None:
            raise ProtectionError(f"the pattern of {kind} matches empty text; require at least one character")
        self._group = 1 if self._look.groups else 0

    def find(self, text: str) -> Iterator[SensitiveSpan]:
        """Implement `Detector.find`."""
        for match in self._look.finditer(text):
            start, end = match.span(self._group)
            if end > start:
                yield SensitiveSpan(start, end, self.kind)


class PresidioDetector:
    """Detector of the values that a Presidio analyser recognises."""

    def __init__(
        self, analyser: Any, *, language: str, entities: Sequence[str] = (), score: float = 0.5
    ) -> None:
        """Take an analyser with the interface of `presidio_analyzer.AnalyzerEngine`.

        It searches for `entities` (none = all that it recognises). Results below the confidence `score` are
        ignored.
        """
        self._analyser = analyser
        self._language = language
        self._entities = list(entities) or None
        self._score = score

    def find(self, text: str) -> Iterator[SensitiveSpan]:
        """Implement `Detector.find`."""
        for entity in self._analyser.analyze(text=text, language=self._language, entities=self._entities):
            if entity.score >= self._score and entity.end > entity.start:
                yield SensitiveSpan(entity.start, entity.end, entity.entity_type.lower())


def load_analyser(language: str) -> Any:
    """Return Presidio's analyser with its standard recognisers.

    Raises: ProtectionError if Presidio or a model for the language is not installed.
    """
    try:
        from presidio_analyzer import AnalyzerEngine  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ProtectionError(
            "storage.redaction.presidio needs the extra `presidio`: pip install 'evenkeel-proxy[presidio]'"
        ) from error
    try:
        return AnalyzerEngine(supported_languages=[language])
    except (OSError, SystemExit, ValueError) as error:
        raise ProtectionError(
            f"Presidio cannot start for {language!r} ({error}); install a spaCy model of that language first"
        ) from error
