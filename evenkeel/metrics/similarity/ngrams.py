"""BLEU and GLEU: tokens and n-grams that two texts share, counted as machine-translation metrics do."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Pair


LONGEST_ORDER = 4
"""Longest run of tokens that BLEU and GLEU count; they count runs of one to four."""

_CHARACTERS = 50_000
"""Characters of a text that are compared; patterns would cost seconds on longer hostile texts."""
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
_GLUED: tuple[tuple[str, re.Pattern[str], str], ...] = (
    *(
        (mark, re.compile(rf"\b({first})({second}){end}", re.IGNORECASE), r" \1 \2 ")
        for mark, first, second, end in (
            ("nnot", "can", "not", r"\b"),
            ("'ye", "d", "'ye", r"\b"),
            ("mme", "gim", "me", r"\b"),
            ("nna", "gon", "na", r"\b"),
            ("tta", "got", "ta", r"\b"),
            ("mme", "lem", "me", r"\b"),
            ("e'n", "more", "'n", r"\b"),
            ("nna", "wan", "na", r"(?=\s)"),
        )
    ),
    ("'t", re.compile(r" ('t)(is|was)\b", re.IGNORECASE), r" \1 \2 "),
)
"""Two words written as one, and letters that a text without them need not be searched for."""


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


def count_ngrams(found: Sequence[str]) -> NGrams:
    """Count the runs of one to four tokens."""
    counts = tuple(
        Counter(zip(*(found[start:] for start in range(order)), strict=False))
        for order in range(1, LONGEST_ORDER + 1)
    )
    return NGrams(len(found), counts)


@lru_cache(maxsize=256)
def read_ngrams(text: str) -> NGrams:
    """Return the n-grams of a text. Cached: a reference is compared with several candidates."""
    return count_ngrams(tokens(text))


_EPSILON = 0.1
"""Matches credited to an order that has none: smoothing method 1."""


class Bleu:
    """Geometric mean of the n-gram precisions, with a penalty for brevity."""

    name: ClassVar[str] = "bleu"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("lexical", label="BLEU")

    def score(self, pair: Pair) -> float | Failure:
        """Sentence BLEU of the candidate's text against the reference's. Not symmetric.

        Orders 1 to 4 weigh the same; a candidate of fewer than four tokens is measured by the
        orders it has. An order without a match counts as 0.1 matches.

        Returns: ratio in [0, 1]; 1 = the same tokens in the same order, also if neither side has
            any; 0 = no token in common, or only one side has tokens. A `Failure` "no_text" if
            neither side has text or a tool call; 1 if both only call tools.
        Source: Papineni and others 2002, smoothing method 1 of Chen and Cherry 2014; agrees with
            `nltk.translate.bleu_score.sentence_bleu(…, auto_reweigh=True)` to 1e-9.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return bleu(read_ngrams(pair.reference.text), read_ngrams(pair.candidate.text))


def bleu(reference: NGrams, candidate: NGrams) -> float:
    """Return the BLEU of a candidate, in [0, 1]; 1 if neither side has tokens, 0 if only one has."""
    if not reference.length or not candidate.length:
        return float(reference.length == candidate.length)
    orders = min(LONGEST_ORDER, candidate.length)
    matches = [(reference.counts[order] & candidate.counts[order]).total() for order in range(orders)]
    if not matches[0]:
        return 0.0
    logs = (
        math.log((matched or _EPSILON) / (candidate.length - order)) for order, matched in enumerate(matches)
    )
    brevity = min(0.0, 1 - reference.length / candidate.length)
    return min(1.0, math.exp(brevity + math.fsum(logs) / orders))


class Gleu:
    """The lower of precision and recall over all n-grams up to four tokens."""

    name: ClassVar[str] = "gleu"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("lexical", label="GLEU")

    def score(self, pair: Pair) -> float | Failure:
        """Sentence GLEU of the two texts. Symmetric.

        Returns: ratio in [0, 1]; 1 = the same n-grams, also if neither side has any; 0 = no token
            in common, or only one side has tokens. A `Failure` "no_text" if neither side has text
            or a tool call; 1 if both only call tools.
        Source: Wu and others 2016, section 4.3; agrees with
            `nltk.translate.gleu_score.sentence_gleu` to 1e-9.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return gleu(read_ngrams(pair.reference.text), read_ngrams(pair.candidate.text))


def gleu(reference: NGrams, candidate: NGrams) -> float:
    """Return the shared n-grams over those of the side with more, in [0, 1]; 1 if neither has any."""
    most = max(sum(counts.total() for counts in side.counts) for side in (reference, candidate))
    if not most:
        return 1.0
    both = zip(reference.counts, candidate.counts, strict=True)
    return sum((left & right).total() for left, right in both) / most
