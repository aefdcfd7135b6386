"""What can be proven of two answers without understanding them: that they are equal, or that they differ.

Equal are texts that read the same once layout, marks, spelling of values and courtesy are unified, and data
with the same values under the same keys in whatever format. Different are texts that are equal but for their
values, a negation or an operator. Of all other pairs nothing is proven: two sentences in other words may say
the same or the opposite, and one word may turn a page.

Code is compared token by token with its indentation, as no mark in it is without meaning.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rapidfuzz.distance import Indel

from evenkeel.metrics.similarity.normalised import parse_json
from evenkeel.metrics.similarity.values import canonical, differing_values, read_values
from evenkeel.metrics.similarity.words import GLUE, words
from evenkeel.metrics.structured.reading import Structure, fences, read_structure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.pair import Format
    from evenkeel.metrics.structured.tree import Tree

LONGEST: Final = 50_000
"""Characters of a text of which anything is proven."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is proven of two texts."""

    equal: bool
    why: str
    """For people, as a sentence."""


def prove(
    reference: str, candidate: str, language: str | None = None, wanted: Format | None = None
) -> Proof | None:
    """What is proven of two texts, None if nothing is.

    Args:
        reference: One text.
        candidate: The other.
        language: Of both, as a base tag, None if it is not certain: numbers and dates are read by it.
        wanted: The format that the candidate should have.
    """
    if reference.strip() == candidate.strip():
        return Proof(equal=True, why="The texts are equal.")
    if max(len(reference), len(candidate)) > LONGEST:
        return None
    data = _same_data(reference, candidate, language, wanted)
    if data is not None:
        return Proof(equal=True, why="The same values in the same places.") if data else None
    if _far_apart(reference, candidate):
        return None
    languages = _languages(reference, candidate, language)
    equal = [_same_text(_read(reference, each), _read(candidate, each)) for each in languages]
    if None not in equal:
        return Proof(equal=True, why=equal[0] or "")
    differing = [_difference(reference, candidate, each) for each in languages]
    return None if None in differing else differing[0]


_LONG: Final = 400
_LEAST_SHARED: Final = 0.5


def _far_apart(reference: str, candidate: str) -> bool:
    """Whether two long texts share so few words that nothing can be proven of them; saves reading them."""
    if min(len(reference), len(candidate)) < _LONG:
        return False
    left, right = Counter(words(reference)), Counter(words(candidate))
    return 2 * (left & right).total() < _LEAST_SHARED * (left.total() + right.total())


_READ_IN: Final = ("en", "de", "es", "fr", "it", "ja", "nl", "pt", "zh")
_LONGEST_GUESSED: Final = 300


def _languages(reference: str, candidate: str, language: str | None) -> list[str | None]:
    """The languages in which values are read: without a certain one all that leave the fewest letters unread.

    "5 March 2024 at 3 pm" is English then, and "1.000" is a thousand in some languages and one in others.
    """
    if language is not None or max(len(reference), len(candidate)) > _LONGEST_GUESSED:
        return [language]
    unread: dict[str | None, int] = {}
    for each in _READ_IN:
        texts = (canonical(text, each) for text in (reference, candidate))
        unread[each] = sum(sum(map(str.isalpha, text)) for text in texts)
    fewest = min(unread.values())
    return [each for each, letters in unread.items() if letters == fewest]


def _same_text(left: _Text, right: _Text) -> str | None:
    """In what way two texts are equal, None if that is not proven."""
    if not left.words or not right.words:
        return None
    if _same_words(left.words, right.words):
        return "Equal but for layout and marks."
    if left.ambiguous == right.ambiguous:
        if _same_words(left.canonical, right.canonical):
            return "Equal but for the spelling of values."
        if _same_words(left.bare, right.bare):
            return "The same short answer in another frame."
    return None


# --- Data -------------------------------------------------------------------------------------------------


_DATA: Final = frozenset(("json", "yaml", "xml"))


def _same_data(reference: str, candidate: str, language: str | None, wanted: Format | None) -> bool | None:
    """Whether two texts that are nothing but data hold the same; None if they are not.

    JSON is compared with its types. Formats that write no types are compared by their trees, and so is a page
    with the same as a document.
    """
    values = parse_json(reference), parse_json(candidate)
    if None not in values:
        return _same_json(*values, language)
    found = read_structure(reference)
    other = read_structure(candidate, wanted)
    for side in (found, other):
        if not isinstance(side, Structure) or not side.strict or not side.alone:
            return None
    assert isinstance(found, Structure)
    assert isinstance(other, Structure)
    formats = {found.format, other.format}
    if formats & _DATA or formats == {"html", "markdown"}:
        return _same_tree(found.tree, other.tree, language, same_format=len(formats) == 1)
    return None


def _same_json(left: Any, right: Any, language: str | None) -> bool:
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(
                _same_json(value, right[name], language) for name, value in left.items()
            )
        case list(), list():
            return len(left) == len(right) and all(
                _same_json(*both, language) for both in zip(left, right, strict=True)
            )
        case str(), str():
            return _same_leaf(left, right, language)
        case _:
            return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _same_tree(left: Tree, right: Tree, language: str | None, *, same_format: bool) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        if not same_format:
            left, right = ({_key(name): value for name, value in side.items()} for side in (left, right))
        return left.keys() == right.keys() and all(
            _same_tree(value, right[name], language, same_format=same_format) for name, value in left.items()
        )
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(
            _same_tree(*both, language, same_format=same_format) for both in zip(left, right, strict=True)
        )
    return isinstance(left, str) and isinstance(right, str) and _same_leaf(left, right, language)


def _key(name: str) -> str:
    """As all formats spell it: "Host name" in a heading is host_name in JSON."""
    return "_".join(name.lower().replace("_", " ").replace("-", " ").split())


def _same_leaf(left: str, right: str, language: str | None) -> bool:
    if left == right:
        return True
    return _same_text(_read(left, language), _read(right, language)) is not None


# --- Texts ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Text:
    """A text as tokens; equal tokens mean equal texts."""

    words: tuple[str, ...]
    """Values as they are written."""
    canonical: tuple[str, ...]
    """Values in one spelling."""
    bare: tuple[str, ...]
    """The same without courtesy, and without what leads to a short answer."""
    ambiguous: tuple[str, ...]
    """Values that can be read in two ways, and numbers of versions and sections, as they are written."""


_CODE: Final = "\x00code"
"""Begins a block of code among the tokens."""
_MARK: Final = "\x00"
_SHORT: Final = 14
"""Tokens of a short answer."""


@lru_cache(maxsize=512)
def _read(text: str, language: str | None) -> _Text:
    written: list[str] = []
    plain: list[str] = []
    bare: list[str] = []
    pieces = list(_pieces(text))
    ambiguous: list[str] = []
    for place, piece in enumerate(pieces):
        if piece.is_code:
            code = [_CODE, *_code_tokens(piece.text)]
            written += code
            plain += code
            bare += code
            continue
        prose = _unmarked(piece.text)
        core = _without_courtesy(prose, first=place == 0, last=place == len(pieces) - 1)
        if len(pieces) == 1:
            core = _without_lead(core)
        known = {prose: list(_prose_tokens(prose))}
        spelled, shortened = canonical(prose, language), canonical(core, language)
        for form in (spelled, shortened):
            if form not in known:
                known[form] = list(_prose_tokens(form))
        plain += known[spelled]
        bare += known[shortened]
        written += known[prose]
        ambiguous += [value.text for value in read_values(prose, language).values if len(value.readings) > 1]
        ambiguous += _NUMBERED.findall(prose)
    return _Text(tuple(written), tuple(plain), tuple(bare), tuple(ambiguous))


_NUMBERED: Final = re.compile(
    r"(?:\b[vV]|\b[A-Z][a-z]\w*[ ]|\b(?:versi\w+|release)[ ]"
    r"|\u30d0\u30fc\u30b8\u30e7\u30f3[ ]?|\u7248\u672c[ ]?)"
    r"(\d+(?:\.\d+)+)"
)
"""2.10 behind a name, or the word for a version, comes after 2.9."""


class _Piece(NamedTuple):
    text: str
    is_code: bool


_FENCE: Final = re.compile(r"^[ ]{0,3}(?:```|~~~)", re.MULTILINE)
_CODE_LINE: Final = re.compile(
    r"\s*+(?:(?:def|class|if|elif|else|for|while|try|except|finally|with|return|import|from|public|private|static"
    r"|const|let|var|function|fn|func|async|await|switch|case|struct|package|using|namespace|raise|throw)\b"
    r".*[:;{}()=\[\]]|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\s|(?:git|pip|npm|docker|kubectl|curl|sudo"
    r"|apt|cd|ls|rm|mkdir|chmod|grep|sed|awk|ssh|cat)\s+\S|[$]\s+\S|[\w.\[\]\"', ]++\s*(?:[-+*/|&]?=|:=)\s*\S"
    r"|[\w.]+\(.*\)[;:]?\s*$|.*[;{}]\s*$|return\b|[)\]}]+[,;]?\s*$|@\w+)"
)
_CODE_TOKEN: Final = re.compile(
    r"\"(?:[^\"\\\n]|\\.){0,500}\"|'(?:[^'\\\n]|\\.){0,500}'|[^\W\d]\w*|\d+(?:[._]\w+)*|[^\w\s]|\w"
)
_SENTENCE_LIKE: Final = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?:[ ,]++[^\W\d_]++){5}")


def _pieces(text: str) -> Iterator[_Piece]:
    """Prose and code in turn."""
    text = text.strip()
    if not _FENCE.search(text):
        yield _Piece(text.strip("`") if _is_inline(text) else text, _is_inline(text) or _is_code(text))
        return
    rest = text
    for fence in fences(text):
        before, found, behind = rest.partition(fence.text) if fence.text else (rest, "", "")
        if not found:
            continue
        prose = before.rstrip().rsplit("\n", 1)[0] if "\n" in before.strip() else ""
        if prose.strip():
            yield _Piece(prose.strip(), is_code=False)
        yield _Piece(fence.text, is_code=True)
        rest = behind.split("\n", 2)[-1] if behind.count("\n") > 1 else ""
    if rest.strip():
        yield _Piece(rest.strip(), is_code=False)


def _is_inline(text: str) -> bool:
    """Whether a text is one span of inline code."""
    return len(text) > len("``") and text[0] == text[-1] == "`" and "`" not in text[1:-1] and "\n" not in text


def _is_code(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    found = sum(_CODE_LINE.match(line) is not None and _SENTENCE_LIKE.search(line) is None for line in lines)
    return bool(lines) and 2 * found >= len(lines)


def _code_tokens(text: str) -> Iterator[str]:
    """Tokens with the depth of each line; white space within a line says nothing."""
    depths: list[int] = []
    for line in text.expandtabs(4).split("\n"):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        while depths and indent < depths[-1]:
            depths.pop()
        if not depths or indent > depths[-1]:
            depths.append(indent)
        yield f"{_MARK}{len(depths)}"
        yield from _CODE_TOKEN.findall(line)


_PLAIN: Final = str.maketrans(
    {
        **{chr(0xFF01 + offset): chr(0x21 + offset) for offset in range(94)},
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2018\u2019\u02bc\u201a", "'"),
        **dict.fromkeys("\u2013\u2014\u2012\u2212\u2010\u2011", "-"),
        **dict.fromkeys("\u00a0\u202f\u2007\u2009\u200a\u3000", " "),
        **dict.fromkeys("\u200b\u200c\u200d\ufeff\u00ad", ""),
        "\u2026": "...",
        "\u3002": ". ",
        "\u00a1": "",
        "\u00bf": "",
    }
)
_LINE_MARK: Final = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]+(?![\d=])|[-*+\u2022][ \t]+(?!\d)|(?:-{3,}|={3,}|\*{3,})[ \t]*$)",
    re.MULTILINE,
)
_EMPHASIS: Final = re.compile(
    r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]*[^\s*])\1(?![\w*])|(?<!\w)(_)(?=[^\s_])([^_\n]*[^\s_])_(?!\w)"
    r"|(?<!`)(`)([^`\n]+)`(?!`)"
)
_BOXED: Final = re.compile(r"\$?\\boxed\{([^{}]*)\}\$?")


def _unmarked(text: str) -> str:
    """Prose without marks of Markdown, under one spelling of quotes, dashes and spaces."""
    plain = unicodedata.normalize("NFC", text).translate(_PLAIN)
    # Patterns look behind and ahead over white space: runs of it would take them long.
    plain = "\n".join(" ".join(line.split()) for line in plain.split("\n") if not line.isspace() and line)
    plain = _LINE_MARK.sub("", plain)
    plain = _EMPHASIS.sub(lambda found: found[2] or found[4] or found[6], plain)
    return _BOXED.sub(r"\1", plain)


_WIDE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts that are written without spaces: a character is a token."""
_TOKEN: Final = re.compile(
    rf"(?:(?![{_WIDE}])[^\W\d_])+(?:'(?:(?![{_WIDE}])[^\W\d_])+)*|\d+(?:[.,:]\d+)*|[{_WIDE}]|[^\w\s]|_"
)
_NO_END: Final = re.compile(r"[.!;,]+(?=\s*$)|(?<=\D)\.+(?=\s)|(?<=[^\W\d_])!+(?=\s)", re.MULTILINE)
_BEGIN: Final = re.compile(r"(?:^|[.!?:]\s+|\n\s*)[\"'(\[]*([^\W\d_])(?=[^\W\d_]*)")
_LISTED: Final = re.compile(r",(?=\s+(?:and|or|und|oder|y|e|o|et|ou|ed|en|of)\s)", re.IGNORECASE)
_SHORTENED: Final = (
    (re.compile(r"\bcan(?:not|'t)\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"(?<=[a-z])n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\b(it|that|what|there|here)'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"(?<=[a-z])'re\b", re.IGNORECASE), " are"),
    (re.compile(r"(?<=[a-z])'ll\b", re.IGNORECASE), " will"),
    (re.compile(r"(?<=[a-z])'ve\b", re.IGNORECASE), " have"),
    (re.compile(r"\bi'm\b", re.IGNORECASE), "I am"),
)
_SPELLING: Final = (
    (re.compile(r"(?<=[a-z]{3})is(?=(?:e[ds]?|ing|ations?)\b)"), "iz"),
    (re.compile(r"(?<=[a-z]{3})our(?=(?:s|ed|ing|able|ites?)?\b)"), "or"),
    (re.compile(r"(?<=cen)tre\b"), "ter"),
    (re.compile(r"\b(cance|trave|labe|mode|fue)ll(?=ed|ing)"), r"\1l"),
)


def _prose_tokens(text: str) -> Iterator[str]:
    """Tokens without marks that end sentences and lines; a word that begins a sentence in lower case."""
    if "'" in text or "annot" in text:
        for pattern, whole in _SHORTENED:
            text = pattern.sub(whole, text)
    text = _lowered(text)
    text = _LISTED.sub("", _NO_END.sub("", text))
    for token in _TOKEN.findall(text):
        if token.isascii() and token.isalpha() and token.islower():
            yield _spelled(token)
        else:
            yield token


@lru_cache(maxsize=4096)
def _spelled(word: str) -> str:
    for pattern, spelling in _SPELLING:
        word = pattern.sub(spelling, word)
    return word


def _lowered(text: str) -> str:
    """A text whose sentences begin in lower case, acronyms apart."""

    def lower(found: re.Match[str]) -> str:
        end = found.end(1)
        if text[end : end + 1].isupper():
            return found[0]
        return found[0][: found.start(1) - found.start()] + found[1].lower()

    return _BEGIN.sub(lower, text)


def _same_words(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether tokens are the same; in another case only where a whole text is written in one."""
    if left == right:
        return bool(left)
    if len(left) != len(right) or _CODE in left:
        return False
    if not any(map(_is_one_case, (left, right))):
        return False
    return all(
        one == other or (one.casefold() == other.casefold() and _may_change(one, other, before))
        for before, one, other in zip(("", *left), left, right, strict=False)
    )


_FEWEST: Final = 4
"""Words from which on a text in one case is a style."""
_SHORTEST: Final = 3
_POLITE: Final = frozenset(("sie", "ihr", "ihre", "ihrem", "ihren", "ihrer", "ihnen"))
"""German words whose capital makes them another word."""


def _is_one_case(tokens: Sequence[str]) -> bool:
    lettered = [token for token in tokens if token.upper() != token.lower()]
    return len(lettered) >= _FEWEST and (
        all(map(str.isupper, lettered)) or all(token == token.lower() for token in lettered)
    )


def _may_change(one: str, other: str, before: str) -> bool:
    """Whether the case of a word says nothing, unlike that of units, initials and forms of address."""
    folded = one.casefold()
    if (before[:1].isdigit() and len(one) <= _SHORTEST) or folded in _POLITE:
        return False
    return (
        len(one) >= _SHORTEST
        or folded in GLUE
        or (len(one) > 1 and not {one, other} <= {one.upper(), folded})
    )


# --- Framing ----------------------------------------------------------------------------------------------


_FRAMING: Final = tomllib.loads(files(__package__).joinpath("framing.toml").read_text("utf-8"))
_COURTESY: Final = re.compile("(?:" + "|".join(_FRAMING["courtesy"]) + r")[\s,.!?~:)\-]*")
_LEAD: Final = re.compile(r"\s*(?:" + "|".join(_FRAMING["leads"]) + r")\s*")
_TAIL: Final = re.compile("(?:" + "|".join(_FRAMING["tails"]) + r")[\s.]*$")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_OPTION: Final = re.compile(r"\s*\(?([A-H])(?:\)[.:]?|[.:])\s+(?=\S)|\s*\(([A-H])\)[.\s]*$")


def _without_courtesy(prose: str, *, first: bool, last: bool) -> str:
    """A text without sentences of courtesy at its ends; what consists of them alone stays."""
    ends = [found.end() for found in _SENTENCE.finditer(prose)]
    sentences = [prose[start:end] for start, end in zip((0, *ends), (*ends, len(prose)), strict=True)]
    begin, end = 0, len(sentences)
    while first and begin < end and _COURTESY.fullmatch(sentences[begin].strip().lower()):
        begin += 1
    while last and end > begin and _COURTESY.fullmatch(sentences[end - 1].strip().lower()):
        end -= 1
    return "".join(sentences[begin:end]) if begin < end else prose


def _without_lead(prose: str) -> str:
    """A short answer without what leads to it, and its option's letter without marks."""
    if len(_TOKEN.findall(prose)) > _SHORT or "\n" in prose.strip():
        return prose
    led = _LEAD.match(prose.lower())
    core = prose[led.end() :] if led and led.end() < len(prose.rstrip(" .!")) else prose
    if led and core is not prose:
        core = _TAIL.sub("", core)
    option = _OPTION.match(core)
    return f"{option[1] or option[2]} {core[option.end() :]}" if option else core


# --- Differences ------------------------------------------------------------------------------------------


_NEGATIONS: Final = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "neither",
        "nor",
        "without",
        "cannot",
        "nicht",
        "kein",
        "keine",
        "keinen",
        "keinem",
        "keiner",
        "keines",
        "nie",
        "niemals",
        "no",
        "nunca",
        "jamás",
        "sin",
        "ningún",
        "ninguna",
        "ninguno",
        "ne",
        "n",
        "pas",
        "jamais",
        "sans",
        "aucun",
        "aucune",
        "non",
        "mai",
        "senza",
        "nessun",
        "nessuna",
        "nessuno",
        "niet",
        "geen",
        "nooit",
        "zonder",
        "não",
        "nunca",
        "jamais",
        "sem",
        "nenhum",
        "nenhuma",
        "不",
        "没",
        "無",
        "无",
        "非",
        "未",
        "勿",
    ]
)
_HELPING: Final = frozenset(
    ["do", "does", "did", "is", "are", "was", "were", "est", "en", "fait", "será", "é"]
)
_WIDE_NEGATIONS: Final = re.compile(r"(?:せん|ません|ない|なかった|ず|せんでした|不|没|没有|无|未)")
_OPERATORS: Final = frozenset("<>=!+-*/%&|^\u2264\u2265\u2260\u00d7\u00f7\u00b1")
_MOST_TOKENS: Final = 4000
_MOST_CHANGED: Final = 6
_SHOWN: Final = 3


def _difference(reference: str, candidate: str, language: str | None) -> Proof | None:
    """What differs in otherwise equal wording, if it can't mean the same."""
    one, other = _read(reference, language).bare, _read(candidate, language).bare
    if max(len(one), len(other)) > _MOST_TOKENS:
        return None
    lost: list[str] = []
    added: list[str] = []
    for step in Indel.opcodes(one, other):
        if step.tag != "equal":
            lost += one[step.src_start : step.src_end]
            added += other[step.dest_start : step.dest_end]
            if len(lost) + len(added) > _MOST_CHANGED:
                return None
    why = _why(lost, added)
    if why is None and _has_digits(lost) and _has_digits(added):
        only = differing_values(reference, candidate, language)
        if all(only):
            said = [", ".join(value.text for value in values[:_SHOWN]) for values in only]
            why = f"Other values in equal wording: {said[0]} against {said[1]}."
    return None if why is None else Proof(equal=False, why=why)


def _has_digits(tokens: Sequence[str]) -> bool:
    return bool(tokens) and all(any(map(str.isdigit, token)) for token in tokens)


def _why(lost: Sequence[str], added: Sequence[str]) -> str | None:
    for some, others in ((lost, added), (added, lost)):
        lower = {word.lower() for word in some}
        if lower & _NEGATIONS and lower <= _NEGATIONS | _HELPING and not others:
            return "A negation in otherwise equal wording."
        if _WIDE_NEGATIONS.fullmatch("".join(some)) and "".join(others) in {"", "す", "る", "う", "く"}:
            return "A negation in otherwise equal wording."
    if lost and added and _OPERATORS.issuperset(lost) and _OPERATORS.issuperset(added):
        return f"Another operator: {''.join(lost)} against {''.join(added)}."
    return None
