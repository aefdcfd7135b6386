"""Simulated translation: no meaning is carried over, but everything that a check can look at is.

Each stretch of prose is replaced by stock words of the target language, about as many, sentence by
sentence; protected passages, labels, marks and line breaks stay where they are. Of the meaning only the
topic's name survives, as a proper noun in quotation marks, and that is what the simulated model needs.
"""

from __future__ import annotations

import re
from itertools import cycle
from typing import TYPE_CHECKING, Final

from evenkeel.simulate.recognition import clauses_in, find_topic, topic_of_clause
from evenkeel.simulate.rewriter.prose import pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.simulate.phrases import Phrases
    from evenkeel.simulate.topics import Topic

_SENTENCE: Final = re.compile(r"[^.!?:;\n]+[.!?:;]*(?=\s|\Z)|[^.!?:;\n]+|[.!?:;\n]+")
_ENDS: Final = re.compile(r"[.!?:;\n]")
_EDGES: Final = re.compile(r"\A(?P<before>[\W\d_]*)(?P<words>.*?)(?P<after>[\W\d_]*)\Z", re.DOTALL)
_WORDS_IN: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_UNSPACED_SHARE: Final = 0.42
"""Characters without spaces for each that was written with them: they say as much."""
_WORDS_A_WIDE_CHARACTER: Final = 0.4
"""The other way round: words for each character of a script without spaces."""
_WIDE: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_NARROW: Final = re.compile(r"[0-9A-Za-z_]")
_LATIN: Final = re.compile(r"[a-zà-ÿ]", re.IGNORECASE)


def translate(text: str, phrases: Phrases) -> str:
    """The text as if it were translated."""
    topic = find_topic(text)
    words = _Words(phrases)
    parts: list[str] = []
    named = topic is not None and topic.name in text
    for piece in pieces_of(text, clauses_in(text)):
        clause = topic_of_clause(piece.text) if piece.kept else None
        if clause is not None:
            parts.append(_clause(piece.text, clause, words, phrases))
            named = True
        elif piece.kept:
            parts.append(piece.text)
            words.begin()
        else:
            parts.extend(_prose(piece.text, words))
    if topic is not None and not named:
        parts = [f"{phrases.quote.format(topic.name)} {''.join(parts)}"]
    return "".join(parts if phrases.spaced else _apart(parts))


def _clause(text: str, topic: Topic, words: _Words, phrases: Phrases) -> str:
    """A clause of the catalogue as stock words with the topic's name."""
    name = phrases.quote.format(topic.name)
    rest = words.take(text[len(name) :])
    return f"{rest} {name}" if rest else name


def _prose(text: str, words: _Words) -> Iterator[str]:
    for match in _SENTENCE.finditer(text):
        edges = _EDGES.match(match.group())
        assert edges is not None
        yield edges["before"]
        if _ENDS.search(edges["before"]):
            words.begin()
        yield words.take(edges["words"])
        yield edges["after"]
        if _ENDS.search(edges["after"]):
            words.begin()


class _Words:
    """The stock words of a language, sentence after sentence, without an end."""

    def __init__(self, phrases: Phrases) -> None:
        self._spaced = phrases.spaced
        self._sentences = cycle(phrases.stock)
        self._left: list[str] = []
        self._fresh = True

    def begin(self) -> None:
        """Go on with another sentence."""
        self._left = []
        self._fresh = True

    def take(self, original: str) -> str:
        """Stock words in place of an original, about as long."""
        many = len(_WORDS_IN.findall(original))
        if not many:
            return original
        if self._spaced:
            many += round(len(_WIDE.findall(original)) * _WORDS_A_WIDE_CHARACTER)
        else:
            share = _UNSPACED_SHARE if _LATIN.search(original) else 1.0
            many = max(2, round(len(original) * share))
        taken: list[str] = []
        while len(taken) < many:
            if not self._left:
                sentence = next(self._sentences)
                # Runs on from the one before, so its first word begins nothing.
                sentence = sentence if self._fresh else sentence[0].lower() + sentence[1:]
                self._fresh = False
                self._left = sentence.split() if self._spaced else list(sentence)
            missing = many - len(taken)
            taken += self._left[:missing]
            self._left = self._left[missing:]
        return (" " if self._spaced else "").join(taken).rstrip(",、")


def _apart(parts: list[str]) -> Iterator[str]:
    """The parts, with a space where a Latin word or number would run into letters of another script."""
    before = ""
    for part in filter(None, parts):
        if (_WIDE.match(before) and _NARROW.match(part)) or (_NARROW.match(before) and _WIDE.match(part)):
            yield " "
        yield part
        before = part[-1]
