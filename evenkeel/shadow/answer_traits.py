"""What answers look like, as numbers, and what prompts are about, as sketches: neither holds a word of them.

Both read the beginning and the end of long texts only, in time that grows with what is read.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from evenkeel.core.answer_traits import (
    CLOSING_WORD,
    LANGUAGES,
    OPENING_PHRASE,
    OPENING_WORD,
    PLAIN,
    VERSION,
    VOCABULARY,
)
from evenkeel.core.languages import language_of
from evenkeel.core.sightings import AnswerSeen
from evenkeel.core.text import named
from evenkeel.metrics.surface.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenkeel.core.answer_traits import Trait
    from evenkeel.core.pair import Answer
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.prompt import PromptView

_BEGINNING: Final = 12_000
_END: Final = 4_000
"""Characters read of an answer."""
_COUNTED: Final = 1_000_000
"""Characters in which lines and words are counted; those of what is longer are estimated from them."""
_LONG_WORD: Final = 6
_PHRASE: Final = 3
"""Words of an opening phrase."""

_WORD: Final = re.compile(r"\w+")
_SENTENCE_END: Final = re.compile("[.!?][\"')\\]]*(?=\\s|\\Z)|[\u3002\uff01\uff1f\u0964\u061f]")
_APOLOGY: Final = re.compile(
    r"\b(?:sorry|apologi[sz]e|as an ai|language model|unfortunately|i'm unable|i am unable|tut mir leid"
    r"|leider|désolée?|malheureusement|lo siento|lamentablemente|mi dispiace|purtroppo|helaas|desculpe"
    r"|infelizmente)\b|抱歉|对不起|申し訳|すみません"
)
_HEADING: Final = re.compile(r" {0,3}#{1,6} ")
_BULLET: Final = re.compile(r"[ \t]{0,40}[-*+\u2022] ")
_NUMBERED: Final = re.compile(r"[ \t]{0,40}\d{1,3}[.)] ")
_TABLE_LINE: Final = re.compile(r"[ \t]{0,40}\|")
_INLINE_CODE: Final = re.compile(r"(?<!`)`[^`\n]{1,80}`(?!`)")
_FORMULA: Final = re.compile(r"\\[(\[]|\$[^$\n ][^$\n]{0,80}\$|\\begin\{")
_LINK: Final = re.compile(r"https?://|\]\(")
_EMOJI: Final = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_STOPPED: Final = frozenset({"stop", "end_turn", "completed", "stop_sequence", "tool_calls", "tool_use"})
_CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens"})
_QUOTES: Final = '"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d'
_DASHES: Final = "\u2013\u2014"


def traits_of(answer: Answer) -> tuple[float, ...]:
    """The traits of an answer, in the order of `evenkeel.core.answer_traits.TRAITS`, each in [0, 5.1]."""
    text = answer.text
    read = text if len(text) <= _BEGINNING + _END else f"{text[:_BEGINNING]}\n{text[-_END:]}"
    words = [word.casefold() for word in _WORD.findall(read)]
    plain = _plain(answer, read, words)
    return (
        *(trait.scaled(plain[trait.name]) for trait in PLAIN),
        *_marked(LANGUAGES, language_of(text)),
        *_marked(OPENING_WORD, words[0] if words else None),
        *_marked(OPENING_PHRASE, " ".join(words[:_PHRASE]) if len(words) >= _PHRASE else None),
        *_marked(CLOSING_WORD, words[-1] if words else None),
        *_shares(VOCABULARY, words),
    )


def seen(original: Original) -> AnswerSeen:
    """How the answer of an exchange looks."""
    exchange = original.exchange
    return AnswerSeen(
        exchange_id=exchange.id,
        at=exchange.received_at + exchange.duration_s,
        route=exchange.route,
        model=original.model,
        requested_model=named(original.view.model or ""),
        prompt_version=original.prompt_version or "",
        parameters=original.parameters,
        cluster=original.cluster,
        traits=traits_of(original.answer),
        prompt=sketch_of(original.view),
        traits_version=VERSION,
        system_fingerprint=named(original.answer.system_fingerprint or ""),
    )


def _plain(answer: Answer, read: str, words: Sequence[str]) -> dict[str, float]:
    """The value of each plain trait in its unit, a share as a ratio."""
    text = answer.text
    longer = len(text) / len(read) if read else 1.0
    lines = [line for line in read.splitlines() if line.strip()]
    tokens = answer.completion_tokens or 0
    finish = answer.finish_reason or "stop"
    sentences = len(_SENTENCE_END.findall(read))
    return {
        "characters": len(text),
        "words": len(words) * longer,
        "lines": len(lines) * longer,
        "words_a_sentence": len(words) / max(sentences, 1),
        "characters_a_word": sum(map(len, words)) / len(words) if words else 0.0,
        "characters_a_token": len(text) / tokens if tokens and not answer.tool_calls else 0.0,
        "long_words": _share(sum(len(word) > _LONG_WORD for word in words), words),
        "refusal": refused(answer),
        "apology": _APOLOGY.search(read.lower()) is not None,
        "cut_off": finish in _CUT,
        "odd_end": finish not in _STOPPED and finish not in _CUT,
        "tool_calls": len(answer.tool_calls),
        "arguments": sum(len(call.arguments) for call in answer.tool_calls),
        **_markdown(read, lines),
        **_edges(text),
        **_characters(read),
        "unlikeliness": -(answer.mean_logprob or 0.0),
    }


def _markdown(read: str, lines: Sequence[str]) -> dict[str, float]:
    return {
        "headings": _share(sum(map(bool, map(_HEADING.match, lines))), lines),
        "bullets": _share(sum(map(bool, map(_BULLET.match, lines))), lines),
        "numbered": _share(sum(map(bool, map(_NUMBERED.match, lines))), lines),
        "tables": _share(sum(map(bool, map(_TABLE_LINE.match, lines))), lines),
        "bold": read.count("**") / 2,
        "code_blocks": read.count("```") / 2,
        "inline_code": len(_INLINE_CODE.findall(read)),
        "formulas": len(_FORMULA.findall(read)),
        "links": len(_LINK.findall(read)),
        "paragraphs": _share(read.count("\n\n"), lines),
        "emoji": len(_EMOJI.findall(read)),
    }


def _edges(text: str) -> dict[str, float]:
    begin, end = text[:200].lstrip()[:1], text[-200:].rstrip()[-1:]
    return {
        "begins_object": begin in {"{", "["},
        "begins_parenthesis": begin == "(",
        "begins_small": begin.islower(),
        "ends_sentence": end != "" and end in ".!?\u3002\uff01\uff1f",
        "ends_bracket": end != "" and end in ")]}",
        "ends_blank": text[-1:].isspace(),
        "begins_blank": text[:1].isspace(),
    }


def _characters(read: str) -> dict[str, float]:
    """How many of the characters are of each sort: of 1,000, of digits and so on as a ratio."""
    counts = Counter(read)
    each = 1000 / max(len(read), 1)

    def of(characters: str) -> float:
        return each * sum(counts[one] for one in characters)

    return {
        "commas": of(",\u3001\uff0c"),
        "colons": of(":\uff1a"),
        "semicolons": of(";\uff1b"),
        "parentheses": of("()\uff08\uff09"),
        "exclamations": of("!\uff01"),
        "questions": of("?\uff1f"),
        "quotes": of(_QUOTES),
        "apostrophes": of("'\u2019"),
        "hyphens": of("-"),
        "dashes": of(_DASHES),
        "equals": of("="),
        "digits": of(string.digits) / 1000,
        "capitals": each * sum(n for one, n in counts.items() if one.isupper()) / 1000,
        "beyond_ascii": each * sum(n for one, n in counts.items() if one > "\x7f") / 1000,
    }


def _share(count: int, of: Sequence[str]) -> float:
    return count / len(of) if of else 0.0


def _marked(traits: Sequence[Trait], named: str | None) -> list[float]:
    """A one for the part that a name falls to."""
    place = -1 if named is None else _hash(named) % len(traits)
    return [float(number == place) for number in range(len(traits))]


def _shares(traits: Sequence[Trait], words: Sequence[str]) -> list[float]:
    """The share of the words that falls to each part."""
    counts = [0] * len(traits)
    for word, count in Counter(words).items():
        counts[_hash(word) % len(traits)] += count
    return [trait.scaled(count / max(len(words), 1)) for trait, count in zip(traits, counts, strict=True)]


def _hash(word: str) -> int:
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "big")


_HASH_BYTES: Final = 8
_DIMENSIONS: Final = 32
_LENGTH: Final = 40
"""About the length of a sketch: its numbers are small."""
_GRAM: Final = 4
_SKETCHED: Final = 8_000
"""Characters read of the beginning and of the end of what is sketched."""
_INPUT_WEIGHT: Final = 0.9
"""Of what the user said, the square of which is its part in the likeness of two prompts."""


def sketch_of(view: PromptView) -> tuple[int, ...]:
    """A sketch of a prompt: the cosine of two grows with the words and letters that the prompts share.

    What users and documents say weighs four times what the application's template does.
    """
    said = [one.text for one in view.segments if one.kind == "input"]
    rest = [one.text for one in view.segments if one.kind != "input"]
    both = _INPUT_WEIGHT * _projected(said) + math.sqrt(1 - _INPUT_WEIGHT**2) * _projected(rest)
    length = float(np.linalg.norm(both))
    if not length:
        return (0,) * _DIMENSIONS
    return tuple(int(one) for one in np.rint(both * (_LENGTH / length)))


def _projected(texts: Iterable[str]) -> NDArray[np.float64]:
    """Signed sums of what a text is made of, of length one; nothing of an empty text."""
    text = "\n".join(texts)
    if len(text) > 2 * _SKETCHED:
        text = f"{text[:_SKETCHED]}\n{text[-_SKETCHED:]}"
    words = _WORD.findall(text.casefold())
    counts = Counter(_grams(words))
    if not counts:
        return np.zeros(_DIMENSIONS)
    hashes = np.array([_hash(gram) for gram in counts], dtype=np.uint64)
    weights = np.sqrt(np.array(list(counts.values()), dtype=np.float64))
    signs = (hashes[:, None] >> np.arange(_DIMENSIONS, dtype=np.uint64)) & np.uint64(1)
    summed: NDArray[np.float64] = weights @ (2.0 * signs - 1.0)
    length = float(np.linalg.norm(summed))
    return summed / length if length else summed


def _grams(words: Sequence[str]) -> Iterable[str]:
    """Words, pairs of words, and pieces of words."""
    for word in words:
        yield word
        marked = f"<{word}>"
        for place in range(len(marked) - _GRAM + 1):
            yield marked[place : place + _GRAM]
    for one, other in pairwise(words):
        yield f"{one} {other}"
