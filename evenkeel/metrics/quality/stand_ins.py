"""Qualities without a judge.

Faithfulness and completeness hold the details of the answer against those of the prompt. Citations are
sound if every sentence cites, and cites what is there; they are read by their spelling, in prose and in any
structured format.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.verdict import Failure
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.quality.measurement import EachSide, Measured
from evenkeel.metrics.similarity.details import read_details
from evenkeel.metrics.similarity.statements import claims, hard, read_statements
from evenkeel.metrics.similarity.words import content_words, matched_count, words
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.surface.refusal import refused
from evenkeel.metrics.tasks import document_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.pair import Answer, Pair
    from evenkeel.metrics.structured.tree import Tree


_ON_TOPIC = 0.25
"""Below this share of content words found in the context, the answer is about something else."""
_GROUNDED_WORDS = 0.5
"""Share that stands in for details where the answer has none."""
_ALL_DETAILS = 0.9
_MOST_DETAILS = 0.5


class _Grounding:
    """A stand-in that holds the details of an answer against those of the prompt."""

    name: ClassVar[str]
    version: ClassVar[int]
    label: ClassVar[str]

    def __init__(self, *, hard_only: bool = False) -> None:
        """Build the stand-in.

        Args:
            hard_only: Look at numbers, dates, identifiers and addresses only, which need no translation.
        """
        self._hard_only = hard_only

    async def measure(self, pair: Pair) -> Measured:
        """Both ratings; by hard details alone, on both sides, if the variant asks for another language."""
        metric = self if pair.wanted.language is None else type(self)(hard_only=True)
        return await EachSide(metric).measure(pair)

    async def rate(self, answer: Answer, context: str) -> Rating:
        """`rate_now` in a thread."""
        return await asyncio.to_thread(self.rate_now, answer, context)

    def rate_now(self, answer: Answer, context: str) -> Rating:
        """Rate an answer against its context."""
        raise NotImplementedError

    def _no_context(self) -> Rating:
        detail = "The prompt has no text to check against."
        return Rating(Failure(self.name, self.version, "no_context", detail))


class FaithfulnessProxy(_Grounding):
    """Share of the answer's details that the context supports, in three bins."""

    name: ClassVar[str] = "faithfulness_proxy"
    version: ClassVar[int] = 2
    label: ClassVar[str] = "faithfulness (heuristic stand-in)"

    def rate_now(self, answer: Answer, context: str) -> Rating:
        """Rate how well an answer is grounded in its context.

        Only details decide (numbers, identifiers, names …), so that rewording and typos do not;
        leaving something out does not lower the rating, nor does the format of the answer. Words are
        only asked whether the answer is on the topic at all.

        Returns: 3 = at least nine in ten details are in the context; 2 = at least half; 1 = fewer,
            or under a quarter of the content words is. Without details 3 or 2 by whether half of
            the words are. An answer without words claims nothing: 3; so does, if only hard details are
            looked at, one without any. A `Failure` "no_context" if the context has no words.
        """
        if not content_words(context):
            return self._no_context()
        said, source = read_statements(answer), read_details(context)
        details = said.details(hard_only=self._hard_only)
        if not said.words or (self._hard_only and not details):
            return Rating(3, "The answer makes no claim that can be checked.")
        scores: dict[str, float] = {}
        if not self._hard_only:
            on_topic = scores["words_supported"] = matched_count(said.words, source.content) / len(said.words)
            if on_topic < _ON_TOPIC:
                return Rating(1, "The answer is not about the context.", scores)
            if not details:
                return Rating(3 if on_topic >= _GROUNDED_WORDS else 2, "No details.", scores)
        unsupported = sorted(detail.text for detail in details if not source.mentions(detail))
        support = scores["details_supported"] = 1 - len(unsupported) / len(details)
        rating = 3 if support >= _ALL_DETAILS else 2 if support >= _MOST_DETAILS else 1
        explanation = (
            f"Not in the context: {', '.join(unsupported[:4])}."
            if unsupported
            else "Every detail is in the context."
        )
        return Rating(rating, explanation, scores)


_MANY = 0.4
_SOME = 0.15
_MANY_WORDS = 0.3
_SOME_WORDS = 0.1
"""A summary says in few words what the context says in many, so words count as covered earlier."""


class CompletenessProxy(_Grounding):
    """Share of the context's details that the answer holds, in three bins."""

    name: ClassVar[str] = "completeness_proxy"
    version: ClassVar[int] = 2
    label: ClassVar[str] = "completeness (heuristic stand-in)"

    async def measure(self, pair: Pair) -> Measured:
        """Both ratings; None if the variant asks for another language and the prompt has no hard details."""
        if pair.wanted.language is not None and not hard(read_details(pair.context)):
            return Measured(None)
        return await super().measure(pair)

    def rate_now(self, answer: Answer, context: str) -> Rating:
        """Rate how much of the context an answer covers.

        Two answers that hold the same details of the context always get the same rating, however
        they are worded and in whatever format. The context is the whole prompt, its instructions
        included: what matters is that both answers are measured by the same yardstick.

        Returns: 3 = at least 0.4 of the context's details; 2 = at least 0.15; 1 = fewer, or no
            answer at all. A context without details is measured by its content words instead, at
            0.3 and 0.1. A `Failure` "no_context" if the context has no words.
        """
        salient = content_words(context)
        if not salient:
            return self._no_context()
        said, source = read_statements(answer), read_details(context)
        details = hard(source) if self._hard_only else source.details
        if details:
            missing = sorted(detail.text for detail in details if not said.reading.mentions(detail))
            covered = 1 - len(missing) / len(details)
            rating = 3 if covered >= _MANY else 2 if covered >= _SOME else 1
            explanation = f"Left out: {', '.join(missing[:4])}." if missing else "Every detail is covered."
            return Rating(rating, explanation, {"details_covered": covered})
        covered = matched_count(salient, said.words) / len(salient)
        rating = 3 if covered >= _MANY_WORDS else 2 if covered >= _SOME_WORDS else 1
        return Rating(
            rating, "The context has no details; its words are counted.", {"words_covered": covered}
        )


_KIND: Final = (
    r"(?:doc(?:ument)?|source|passage|article|kb|ref(?:erence)?|excerpt|dokument|quelle|documento|fuente|fonte"
    r"|articolo|artikel|bron|文書|資料)"
)
_NAMED: Final = re.compile(
    rf"(?<![^\W_])(?i:{_KIND})(?:[ _#-]{{0,2}}(\d{{1,3}})|[ _#-]{{1,2}}([A-Z])|_([a-z]))(?![^\W_])"
)
_BRACKETED: Final = re.compile(r"\[([^\[\]\n]{1,80})\]|【([^【】\n]{1,80})】")
_BARE: Final = re.compile(r"\W*(\d{1,3}|[A-Za-z])\W*")
_BETWEEN: Final = re.compile(r"[,;&/]|\s+")
_LIST_KEY: Final = re.compile(
    r"\W*(?:sources?(?: used)?|references?|citations?|cited|documents?(?: used)?|quellen|fuentes|fonti|fontes"
    r"|bronnen|références|referencias|出典|参考文献)\W*",
    re.IGNORECASE,
)
_LIST_LINE: Final = re.compile(rf"^({_LIST_KEY.pattern})[:\uff1a]\W*(\S.*)?$", re.IGNORECASE)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_BEHIND: Final = re.compile(r"([.!?\u3002\uff01\uff1f])((?:[ \t]?[\[【][^\[\]【】\n]{1,40}[\]】]){1,9})")
"""Citations behind the full stop that ends their sentence."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_FEWEST_WORDS: Final = 3
"""What is shorter is a heading, or a citation that stands behind its sentence."""


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer's sentences with the labels that each cites, and its list of sources."""

    sentences: tuple[frozenset[str], ...]
    """For each sentence the labels in lower case, e.g. {"1", "3"}; empty where it cites nothing."""
    listed: tuple[str, ...]
    """The entries of a list of sources, as they are written."""


def read_citations(text: str) -> Cited:
    """Find citations in prose or in an answer of any structured format, the same in all of them.

    A citation is "[2]", "[1, 3]", "(doc_1)" or "Source B" in any place of a sentence or behind it. A list
    of sources is a field of that name, or what stands behind such a heading. Headings, questions and lines
    that lead to a list are no sentences.
    """
    found = read_structure(text)
    prose, listed = _fields(found.tree) if isinstance(found, Structure) else _split(text)
    return Cited(tuple(_sentences(prose)), tuple(listed))


def labels_in(text: str) -> frozenset[str]:
    """The labels that a text cites, in lower case and without the word before them."""
    found = {next(filter(None, match.groups())).lower() for match in _NAMED.finditer(text)}
    for match in _BRACKETED.finditer(text):
        pieces = [piece for piece in _BETWEEN.split(match[1] or match[2]) if piece]
        bare = [_BARE.fullmatch(piece) for piece in pieces]
        if all(bare):
            found.update(label[1].lower() for label in bare if label)
    return frozenset(found)


def _sentences(prose: str) -> Iterator[frozenset[str]]:
    cited: frozenset[str] | None = None
    for raw in _SENTENCE.split(_BEHIND.sub(r"\2\1", prose)):
        piece = raw.strip()
        labels = labels_in(piece)
        if len(words(_BRACKETED.sub(" ", _NAMED.sub(" ", piece)))) < _FEWEST_WORDS:
            if cited is not None and labels:
                cited |= labels
            continue
        if cited is not None:
            yield cited
        is_statement = not piece.endswith(("?", "\uff1f", ":", "\uff1a"))
        cited = labels if is_statement else None
    if cited is not None:
        yield cited


def _split(text: str) -> tuple[str, list[str]]:
    """Prose, and the entries of a list of sources at the end."""
    prose: list[str] = []
    listed: list[str] = []
    in_list = False
    for line in text.splitlines():
        if head := _LIST_LINE.match(line):
            in_list = True
            if head[2]:
                listed += _entries(head[2])
        elif _LIST_KEY.fullmatch(line):
            in_list = True
        elif in_list and line.strip():
            listed.append(_ITEM.sub("", line).strip())
        else:
            prose.append(_ITEM.sub("", line))
    return "\n".join(prose), listed


def _fields(tree: Tree) -> tuple[str, list[str]]:
    """The same from a tree, by the names of its fields."""
    prose: list[str] = []
    listed: list[str] = []

    def walk(item: Tree, *, is_list: bool) -> None:
        if isinstance(item, dict):
            for name, inner in item.items():
                walk(inner, is_list=is_list or _LIST_KEY.fullmatch(name) is not None)
        elif isinstance(item, tuple):
            for inner in item:
                walk(inner, is_list=is_list)
        elif is_list:
            listed.extend(_entries(item))
        else:
            prose.append(item)

    walk(tree, is_list=False)
    return "\n".join(prose), listed


def _entries(text: str) -> list[str]:
    """The entries of a list that may stand in one line."""
    return [piece for part in re.split(r"[,;\n]", text) if (piece := part.strip())]


_FEWEST_DOCUMENTS = 2
_HALF = 0.5
_MOST_ENTRIES = 1_000
"""Entries of a list of sources that are looked for in the prompt."""


class CitationsProxy:
    """Share of an answer's sentences that cite documents of the prompt, in three bins.

    Whether a document supports the sentence takes a judge; a citation of the wrong document counts here
    as good as one of the right document.
    """

    name: ClassVar[str] = "citations_proxy"
    version: ClassVar[int] = 1
    label: ClassVar[str] = "citations (heuristic stand-in)"

    async def measure(self, pair: Pair) -> Measured:
        """Both ratings; None if the prompt has no labelled documents, so that there is nothing to cite."""
        if len(document_labels(pair.context.lower())) < _FEWEST_DOCUMENTS:
            return Measured(None)
        return await EachSide(self).measure(pair)

    async def rate(self, answer: Answer, context: str) -> Rating:
        """`rate_now` in a thread."""
        return await asyncio.to_thread(self.rate_now, answer, context)

    def rate_now(self, answer: Answer, context: str) -> Rating:
        """Rate the citations of an answer.

        A sentence is in order if it cites labels that the prompt's documents have, and no others. Where
        no sentence cites anything but the answer lists its sources, one source that exists speaks for all
        sentences. An entry of the list that is neither a label nor a passage of the prompt counts like a
        sentence that is out of order.

        Returns: 3 = everything is in order, also if the answer states nothing or declines; 2 = at least
            half is; 1 = less. A `Failure` "no_documents" if the prompt has fewer than two labelled ones.
        Source: citations rubric of the enterprise perturbation paper, appendix A.4, by spelling.
        """
        known = document_labels(context.lower())
        if len(known) < _FEWEST_DOCUMENTS:
            return Rating(
                Failure(self.name, self.version, "no_documents", "The prompt has no labelled documents.")
            )
        if refused(answer):
            return Rating(3, "The answer declines.")
        cited = read_citations(claims(answer))
        plain = " ".join(context.lower().split())
        entries = [_exists(entry, known, plain) for entry in cited.listed[:_MOST_ENTRIES]]
        by_list = any(entries) and not any(cited.sentences)
        sentences = [by_list or (bool(labels) and labels <= known) for labels in cited.sentences]
        units = sentences + [False for exists in entries if not exists]
        if not units:
            return Rating(3, "The answer states nothing.")
        share = sum(units) / len(units)
        rating = 3 if share == 1 else 2 if share >= _HALF else 1
        explanation = f"{sum(sentences)} of {len(sentences)} sentences cite documents of the prompt."
        return Rating(rating, explanation, {"sentences_cited": share})


def _exists(entry: str, known: frozenset[str], plain: str) -> bool:
    labels = labels_in(entry) or ({entry.lower()} if len(entry) < len("1000") else set())
    if labels:
        return labels <= known
    return " ".join(entry.lower().split()) in plain
