"""BLEU and GLEU: tokens and n-grams that two texts share, counted as machine-translation metrics do."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


LONGEST_ORDER = 4
"""Longest run of tokens that BLEU and GLEU count; they count runs of one to four."""

# Characters of a text that are compared; patterns would cost seconds on longer hostile texts.
_CHARACTERS = 50_000
# Treebank tokens split at spaces, which Chinese and Japanese do not write.
_NO_SPACES = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
_SPACES = re.compile(r"(\s)\s+(\s)")
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # Opening quotes.
    (re.compile("([«“\u2018„]|`+)"), r" \1 "),
    (re.compile(r'^"'), " `` "),
    (re.compile(r"``"), " `` "),
    (re.compile(r"([ (\[{<])(?:\"|'')"), r"\1 `` "),
    (re.compile(r"(?<!\w)(')(?!(?:re|ve|ll|[mtsdn])\b)(?=\w)", re.IGNORECASE), r"\1 "),
    # Marks; a period only at the very end, as abbreviations keep theirs.
    (re.compile(r"([^.])(\.)([\])}>\"' »”’]*+)\s*$"), r"\1 \2 \3 "),
    (re.compile(r"([:,])(\D)"), r" \1 \2"),
    (re.compile(r"([:,])$"), r" \1 "),
    (re.compile(r"\.{2,}|[;@#$%&\u2012-\u2015]"), r" \g<0> "),
    (re.compile(r"([^.])(\.)([\])}>\"']*)\s*$"), r"\1 \2\3 "),
    (re.compile(r"[?!]"), r" \g<0> "),
    (re.compile(r"([^'])' "), r"\1 ' "),
    (re.compile(r"[*\][(){}<>]|--"), r" \g<0> "),
)
_CLOSING_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # Closing quotes and clitics, in a text with a space at either end.
    (re.compile(r"([»”’])"), r" \1 "),
    (re.compile(r"''|\""), " '' "),
    (re.compile(r"\s+"), " "),
    (re.compile(r"([^' ])('[sSmMdD]|') "), r"\1 \2 "),
    (re.compile(r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) "), r"\1 \2 "),
)
# Two words written as one, and letters that a text without them need not be searched for.
_GLUED: list[tuple[str, re.Pattern[str], str]] = []
for _mark, _first, _second, _end in (
    ("nnot", "can", "not", r"\b"),
    ("'ye", "d", "'ye", r"\b"),
    ("mme", "gim", "me", r"\b"),
    ("nna", "gon", "na", r"\b"),
    ("tta", "got", "ta", r"\b"),
    ("mme", "lem", "me", r"\b"),
    ("e'n", "more", "'n", r"\b"),
    ("nna", "wan", "na", r"(?=\s)"),
):
    _pattern = re.compile(rf"\b({_first})({_second}){_end}", re.IGNORECASE)
    _GLUED.append((_mark, _pattern, r" \1 \2 "))
_GLUED.append(("'t", re.compile(r" ('t)(is|was)\b", re.IGNORECASE), r" \1 \2 "))


@dataclass(frozen=True, slots=True)
class NGrams:
    """Tokens of a text, counted."""

    length: int
    """Number of tokens."""
    counts: tuple[Counter[tuple[str, ...]], ...]
    """Counts by order: `counts[0]` holds single tokens, `counts[3]` runs of four."""


def tokens(text: str) -> list[str]:
    """Return the tokens in order, case and punctuation kept, over the first 50,000 characters.

    Scripts written without spaces (Chinese, Japanese) give
    one token a character.

    Source: the improved Treebank tokeniser; agrees with `nltk.word_tokenize(text,
        preserve_line=True)`, which is not used itself because importing nltk takes seconds and
        100 MB where scipy is installed.
    """
    spaced = _NO_SPACES.sub(r" \1 ", text[:_CHARACTERS])
    # Long runs of spaces cost the rules quadratic time and change nothing; their ends do.
    marked = _SPACES.sub(r"\1\2", spaced)
    for pattern, replacement in _RULES:
        marked = pattern.sub(replacement, marked)
    marked = f" {marked} "
    for pattern, replacement in _CLOSING_RULES:
        marked = pattern.sub(replacement, marked)
    lowered = marked.lower()
    for mark, pattern, replacement in _GLUED:
        if mark in lowered:
            marked = pattern.sub(replacement, marked)
    return marked.split()


def count_ngrams(words: Sequence[str]) -> NGrams:
    """Count the runs of one to four tokens."""
    counters = []
    for order in range(1, LONGEST_ORDER + 1):
        counters.append(Counter(zip(*(words[start:] for start in range(order)), strict=False)))
    counts = tuple(counters)
    return NGrams(len(words), counts)


# Matches credited to an order that has none: smoothing method 1.
_EPSILON = 0.1


def bleu(reference: NGrams, candidate: NGrams) -> float:
    """Return the BLEU of a candidate, in [0, 1]; 1 if neither side has tokens, 0 if only one has."""
    if not reference.length or not candidate.length:
        return float(reference.length == candidate.length)
    orders = min(LONGEST_ORDER, candidate.length)
    matches = []
    for order in range(orders):
        matches.append((reference.counts[order] & candidate.counts[order]).total())
    if not matches[0]:
        return 0.0
    logs = []
    for order, matched in enumerate(matches):
        logs.append(math.log((matched or _EPSILON) / (candidate.length - order)))
    brevity = min(0.0, 1 - reference.length / candidate.length)
    return min(1.0, math.exp(brevity + math.fsum(logs) / orders))


def gleu(reference: NGrams, candidate: NGrams) -> float:
    """Return the shared n-grams over those of the side with more, in [0, 1]; 1 if neither has any."""
    shared = ours = theirs = 0
    for left, right in zip(reference.counts, candidate.counts, strict=True):
        shared += (left & right).total()
        ours += left.total()
        theirs += right.total()
    most = max(ours, theirs)
    return shared / most if most else 1.0
