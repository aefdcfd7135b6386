"""A similarity rating of 3, 2 or 1 without a judge: from metrics that need no model, and fixed cut-offs.

What two answers say is compared whatever form they say it in. Reading a document's structure takes longer
than everything else in the heuristic rating, and most documents are prose under headings and bullets with
hardly any slots to fill, so pairs that read the same with and without their structure are sorted out first
(`are_prose`).
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from evenkeel.core.budget import NOTHING
from evenkeel.core.languages import base_tag
from evenkeel.core.verdict import Failure
from evenkeel.metrics.protocol import SCALE, Rating
from evenkeel.metrics.similarity.content_words import ContentWords
from evenkeel.metrics.similarity.details import Details, detail_overlap, read_details
from evenkeel.metrics.similarity.embeddings import MINILM, Embeddings
from evenkeel.metrics.similarity.meaning import EncoderMeaning
from evenkeel.metrics.similarity.normalised import NormalisedEquality, is_empty, normalise
from evenkeel.metrics.similarity.sequence import EditSimilarity, RougeL
from evenkeel.metrics.similarity.words import is_turned, same_word, words
from evenkeel.metrics.structured.alignment import align
from evenkeel.metrics.structured.html import construct_count
from evenkeel.metrics.structured.json_rouge import value_rouge
from evenkeel.metrics.structured.reading import Structure, looks_like, read_structure
from evenkeel.metrics.structured.tree import TEXT_KEY, Tree, UnreadableError, flat
from evenkeel.metrics.tool_calls import ToolCalls, same_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from evenkeel.core.budget import Spend
    from evenkeel.core.languages import LanguageOf
    from evenkeel.core.pair import Answer, Format, Pair
    from evenkeel.metrics.protocol import Metric
    from evenkeel.metrics.similarity.meaning import Meaning
    from evenkeel.metrics.structured.alignment import ValuePair


LEAST_SLOTS = 3
"""Short values at the same place that make a record of two documents."""
SLOT_WORDS = 4
"""A value of up to so many words is a slot to fill; longer ones are prose."""

_MARKED = re.compile(r"[{\[<|`~&\r\ue000\ue001]")
"""What JSON, markup, tables, fences and links are not without, and what may stand for less than it says."""
_KEY_ENDS = ":*_"


def are_prose(reference: str, candidate: str) -> bool:
    """Whether neither text is data or a page, and they cannot have `LEAST_SLOTS` slots in common.

    Right whenever it says so: what it is not certain of, it leaves to the readers.
    """
    both = (reference, candidate)
    if any(_MARKED.search(text) or looks_like(text.strip(), "yaml") for text in both):
        return False
    return not all(map(construct_count, both)) or any(_short_lines(text) < LEAST_SLOTS for text in both)


def _short_lines(text: str) -> int:
    """At most so many values of up to `SLOT_WORDS` words has the text as Markdown.

    Every value has a line of its own, or begins on one: its own text, the key it stands behind, or the
    heading that is followed by nothing. A number before an item is no word of it.
    """
    return sum(
        "#" in line or len(words(_behind_key(line))) <= SLOT_WORDS + 1
        for line in text.split("\n")
        if line and not line.isspace()
    )


def _behind_key(line: str) -> str:
    """What stands behind the last mark that a key can end with, all of the line if there is none."""
    return line[max(map(line.rfind, _KEY_ENDS)) + 1 :]


_RULE_MARKS = frozenset("|:- \t")
_DATA = ("json", "yaml", "xml")
"""Formats whose keys are the form's words and not the answer's."""


@dataclass(frozen=True, slots=True)
class Side:
    """One answer's content."""

    text: str
    """In words, without marks of its format."""
    record: str
    """The same for whoever reads values one by one: JSON of the tree, else the text."""


@dataclass(frozen=True, slots=True)
class Content:
    """Two answers, read so that they can be compared in words."""

    reference: Side
    candidate: Side
    values: tuple[ValuePair, ...] | None
    """Values that answer each other, where at least one answer is data, or both have a structure."""

    is_data: bool
    """Whether at least one answer is data."""

    @property
    def json_rouge(self) -> float | None:
        """ROUGE-L F1 over aligned values, in [0, 1]; None if neither answer is data."""
        if self.values is None or not self.is_data:
            return None
        return value_rouge(self.values)

    @property
    def slots(self) -> float | None:
        """Share of the short values at the same place that agree, typos aside; None without any.

        Values without counterpart do not count: other keys are another form, and what was added or
        lost shows in the details. In documents fewer than three are no record.
        """
        short = [
            (pair.reference, pair.candidate)
            for pair in self.values or ()
            if pair.reference is not None and pair.candidate is not None and _is_slot(pair)
        ]
        if len(short) < (1 if self.is_data else LEAST_SLOTS):
            return None
        return sum(_same_slot(left, right) for left, right in short) / len(short)


def read_content(pair: Pair) -> Content:
    """Read both answers.

    - Data (JSON, YAML, XML) on either side: both by their values, keys left out, whatever the
      other side's format is; a free text stays as it is.
    - HTML on both sides, or on one and with nothing around it: both as documents, headings and
      keys included. A text that quotes some HTML stays a text.
    - Otherwise the texts as they are: comparing words sees no Markdown.

    What is too large or too deep to be read as a structure is taken as free text.
    """
    if pair.wanted.format in (None, "free") and are_prose(pair.reference.text, pair.candidate.text):
        texts = pair.reference.text, pair.candidate.text
        return Content(Side(texts[0], texts[0]), Side(texts[1], texts[1]), None, is_data=False)
    reference = _read(pair.reference, None)
    candidate = _read(pair.candidate, pair.wanted.format)
    if candidate is None and reference is not None:
        # What is small or broken may be recognised by what it should be.
        candidate = _read(pair.candidate, reference.format)
    formats = {side.format for side in (reference, candidate) if side}
    is_data = bool(formats.intersection(_DATA))
    is_page = formats == {"html"} or any(map(_is_page, (reference, candidate)))
    values = None
    if is_data or (reference is not None and candidate is not None):
        values = tuple(align(_tree(pair.reference, reference), _tree(pair.candidate, candidate)))
    read = _by_values if is_data else _as_document if is_page else _as_it_is
    return Content(read(pair.reference, reference), read(pair.candidate, candidate), values, is_data)


def _read(answer: Answer, wanted: Format | None) -> Structure | None:
    found = read_structure(answer.text, wanted)
    return None if isinstance(found, UnreadableError) else found


def _is_page(found: Structure | None) -> bool:
    return found is not None and found.format == "html" and found.alone


def _tree(answer: Answer, found: Structure | None) -> Tree:
    return answer.text.strip() if found is None else found.tree


def _by_values(answer: Answer, found: Structure | None) -> Side:
    if found is None:
        return Side(answer.text, answer.text)
    text = flat(found.tree)
    return Side(text, text if isinstance(found.tree, str) else json.dumps(found.tree, ensure_ascii=False))


def _as_document(answer: Answer, found: Structure | None) -> Side:
    text = answer.text if found is None else "\n".join(_lines(found.tree))
    return Side(text, text)


def _as_it_is(answer: Answer, found: Structure | None) -> Side:
    is_markdown = found is not None and found.format == "markdown"
    return Side(answer.text, _without_table_heads(answer.text) if is_markdown else answer.text)


def _without_table_heads(text: str) -> str:
    """Markdown without the first rows of its tables: they are keys, and capitals there name nothing."""
    lines = text.split("\n")
    below = [*lines[1:], ""]
    return "\n".join(
        line for line, under in zip(lines, below, strict=True) if "|" not in line or not _is_rule(under)
    )


def _is_rule(line: str) -> bool:
    return "-" in line and _RULE_MARKS.issuperset(line)


def _lines(tree: Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if isinstance(value, str) and key != TEXT_KEY:
                yield f"{key}: {value}"
                continue
            if key != TEXT_KEY:
                yield f"{key}:"
            yield from _lines(value)
    else:
        for item in tree:
            yield from _lines(item)


def _is_slot(pair: ValuePair) -> bool:
    return all(len(words(value)) <= SLOT_WORDS for value in pair if value is not None)


def _same_slot(left: str, right: str) -> bool:
    if normalise(left) == normalise(right):
        return True
    one, other = words(left), words(right)
    return len(one) == len(other) > 0 and all(map(same_word, one, other))


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """Where the rating changes. The defaults are set on real data: see `docs/metrics-quality.md`."""

    same_words: float = 0.65
    """From here on two texts say the same things, by the overlap of their content words."""
    same_letters: float = 0.85
    """Or by edit similarity, which survives typos, lost spaces and glued words."""
    same_values: float = 0.8
    """Or by ROUGE-L over the values that answer each other, where an answer is data."""
    same_meaning: float = 0.85
    """Or by the cosine of sentence embeddings."""
    same_details: float = 0.9
    """At least this F1 of details for a 3: one lost or added in six is seen, one in seven is not."""
    other_words: float = 0.35
    """Below it the message is another one, unless there are embeddings: then they decide."""
    other_meaning: float = 0.5
    """Below it by the cosine."""
    encoder: str = MINILM
    """Whose cosines `same_meaning` and `other_meaning` are on. Those of another one decide nothing."""
    reworded: float = 0.8
    """ROUGE-L from which texts are alike enough for a "not" or an opposite to turn the statement."""


DEFAULT_CUTOFFS = Cutoffs()


JSON_ROUGE = "json_rouge"
SLOTS = "slots"
CROSS_LANGUAGE = "cross_language"

Steps: TypeAlias = "Generator[Pair, float | Failure, Rating]"
"""A rating on its way: asks for the closeness in meaning of a pair, and goes on when it has it."""


class HeuristicRater:
    """Rates by overlap of words, letters, values, meaning (optional), details, and tool calls.

    - 3: the wording or the meaning is close, the details are the same, and nothing was turned
      around in otherwise equal wording.
    - 1: neither words nor meaning have enough in common; or one answer acts and the other talks; or
      other tools are called.
    - 2: everything between.

    Answers are compared by what they say, in whatever format: a JSON answer and a YAML answer of
    the same content are the same. Answers in two languages share no words, so they get no rating.

    It reads words, not meaning: an answer reworded from scratch gets a 2 or a 1 unless sentence
    embeddings are given, and a conclusion that is turned in other words than a negation or a common
    opposite gets a 3.
    """

    name = "cheap_rater"
    version = 3

    def __init__(
        self,
        embeddings: Embeddings | Meaning | None = None,
        cutoffs: Cutoffs = DEFAULT_CUTOFFS,
        *,
        language_of: LanguageOf | None = None,
        count: Callable[[Failure], None] = lambda _: None,
    ) -> None:
        """Choose what is compared.

        Args:
            embeddings: Closeness in meaning, if there is an encoder here or behind an endpoint; left out for
                texts that are certainly in a language it does not know. An encoder with a name that is not
                the cut-offs' is only recorded.
            cutoffs: Where the rating changes.
            language_of: Tells a text's language. Without it only those pairs count as being in two
                languages whose variant asked for another one.
            count: Told why embeddings were left out of a rating. Called in threads.
        """
        self._cutoffs = cutoffs
        self._count = count
        self._language_of = language_of
        self._spelling_metrics: tuple[Metric, ...] = (RougeL(), EditSimilarity(), ContentWords())
        self._embeddings: Embeddings | None = None
        self._meaning: Meaning | None = None
        if isinstance(embeddings, Embeddings):
            self._embeddings, self._meaning = embeddings, EncoderMeaning(embeddings)
        else:
            self._meaning = embeddings

    @property
    def encoder(self) -> str | None:
        """Whose embeddings are compared, None if none are."""
        return self._meaning.encoder if self._meaning else None

    @property
    def meaning_decides(self) -> bool:
        """Whether the cut-offs were set on the encoder. One without a name is taken to be the right one."""
        return self.encoder in ("", self._cutoffs.encoder)

    def expense(self, texts_chars: int) -> Spend:
        """Upper estimate of what one rating costs, by the characters of both answers together."""
        return self._meaning.expense(texts_chars) if self._meaning else NOTHING

    async def rate(self, pair: Pair) -> Rating:
        """The rating, computed in a thread. Details hold every metric's score by name.

        The meaning is measured together with that of other pairs, and its price is the rating's.
        """
        steps = self._steps(pair)
        step = await asyncio.to_thread(_next, steps, None)
        tokens, cost_usd = 0, 0.0
        while not isinstance(step, Rating):
            assert self._meaning is not None  # nobody else asks
            measured = await self._meaning.measure(step)
            tokens, cost_usd = tokens + measured.tokens, cost_usd + measured.cost_usd
            step = await asyncio.to_thread(_next, steps, measured.outcome)
        return replace(step, tokens=tokens, cost_usd=cost_usd) if tokens or cost_usd else step

    def rate_now(self, pair: Pair) -> Rating:
        """The rating, computed here.

        Returns: a `Rating` whose outcome is 3, 2 or 1, or a `Failure`: "no_text" if neither side has
            text or a tool call, "cross_language" if the answers are in two languages (and not equal).
            An embedding that fails is left out: the other metrics decide.
        Raises: TypeError if the embeddings are an endpoint's, which needs a wait.
        """
        steps = self._steps(pair)
        step = _next(steps, None)
        while not isinstance(step, Rating):
            if self._embeddings is None:
                raise TypeError("an endpoint's embeddings need a wait: use rate")
            step = _next(steps, self._embeddings.score(step))
        return step

    def _steps(self, pair: Pair) -> Steps:
        equal = NormalisedEquality().score(pair)
        if isinstance(equal, Failure):
            return Rating(replace(equal, metric=self.name, version=self.version))
        if equal:
            return Rating(3, "Equal after normalisation.", {NormalisedEquality.name: 1.0})
        if is_empty(pair.reference) or is_empty(pair.candidate):
            return Rating(1, "Only one side answered.")
        return (yield from self._rate_answers(pair))

    def _rate_answers(self, pair: Pair) -> Steps:
        acts = bool(pair.reference.tool_calls), bool(pair.candidate.tool_calls)
        if not any(acts):
            return (yield from self._rate_text(pair))
        if not all(acts):
            return Rating(1, "Only one side calls tools.", {ToolCalls.name: 0.0})
        tools = self._rate_tools(pair)
        if tools.outcome == min(SCALE) or not pair.reference.text.strip() or not pair.candidate.text.strip():
            # Talk next to a call is optional: where one side leaves it out, the calls decide.
            return tools
        text = yield from self._rate_text(pair)
        worse = min(tools, text, key=_rank)
        return replace(worse, details=text.details | tools.details)

    def _rate_tools(self, pair: Pair) -> Rating:
        score = ToolCalls().score(pair)
        if isinstance(score, Failure):
            return Rating(score)
        details = {ToolCalls.name: score}
        if score == 1.0:
            return Rating(3, "The same tools with the same arguments.", details)
        if not same_tools(pair.reference.tool_calls, pair.candidate.tool_calls):
            return Rating(1, "Other tools are called.", details)
        if pair.wanted.language is not None:
            # Arguments are too short to tell their language.
            return self._across(f"Tool arguments differ, and {pair.wanted.language} was asked for.", details)
        return Rating(2, "The same tools with other arguments.", details)

    def _rate_text(self, pair: Pair) -> Steps:
        content = read_content(pair)
        left, right = content.reference.text, content.candidate.text
        if not words(left) and not words(right):
            return Rating(1, "Two answers without words that are not equal.")
        wording = replace(
            pair,
            reference=replace(pair.reference, text=left),
            candidate=replace(pair.candidate, text=right),
        )
        scores: dict[str, float] = {}
        for metric in self._spelling_metrics:
            score = metric.score(wording)
            if not isinstance(score, Failure):
                scores[metric.name] = score
        by_place = {JSON_ROUGE: content.json_rouge, SLOTS: content.slots}
        scores |= {name: value for name, value in by_place.items() if value is not None}
        scores[Details.name] = detail_overlap(
            read_details(content.reference.record), read_details(content.candidate.record)
        )
        gap = self._language_gap(wording, scores[ContentWords.name])
        if gap:
            return self._across(gap, scores)
        if self._meaning is not None and self._meaning.on_scale(wording):
            meaning = yield wording
            if isinstance(meaning, Failure):
                self._count(meaning)
            else:
                scores[Embeddings.name] = meaning
        return self._decide(content, scores)

    def _language_gap(self, wording: Pair, shared: float) -> str | None:
        """Why the two texts cannot be compared in words; None if they can."""
        texts = wording.reference.text, wording.candidate.text
        if not all(any(map(str.isalpha, text)) for text in texts):
            return None
        wanted = None if wording.wanted.language is None else base_tag(wording.wanted.language)
        if wanted is None and shared >= self._cutoffs.same_words:
            # Two languages have few words in common: whoever takes these for two is mistaken.
            return None
        tell = self._language_of or _unknown
        reference, candidate = tell(texts[0]), tell(texts[1]) or wanted
        if reference is None or candidate is None:
            return None if wanted is None else f"{wanted} was asked for, and the languages are not certain."
        return None if reference == candidate else f"The answers are in {reference} and {candidate}."

    def _across(self, why: str, scores: dict[str, float]) -> Rating:
        return Rating(Failure(self.name, self.version, CROSS_LANGUAGE, why), details=scores)

    def _decide(self, content: Content, scores: dict[str, float]) -> Rating:
        cut = self._cutoffs
        shared, letters = scores[ContentWords.name], scores[EditSimilarity.name]
        meaning = scores.get(Embeddings.name) if self.meaning_decides else None
        in_order = max(scores[RougeL.name], scores.get(JSON_ROUGE, 0.0))
        close = (
            shared >= cut.same_words
            or letters >= cut.same_letters
            or scores.get(JSON_ROUGE, 0.0) >= cut.same_values
            or (meaning is not None and meaning >= cut.same_meaning)
        )
        apart = shared < cut.other_words if meaning is None else meaning < cut.other_meaning
        if not close and apart:
            return Rating(1, "The two answers have little in common.", scores)
        if not close:
            return Rating(2, "The answers overlap but are worded differently.", scores)
        if scores[Details.name] < cut.same_details:
            return Rating(2, f"Similar wording, but details differ: {_differing(content)}.", scores)
        if scores.get(SLOTS, 1.0) < cut.same_details:
            return Rating(2, "The same values, but not in the same places.", scores)
        if in_order >= cut.reworded and is_turned(content.reference.text, content.candidate.text):
            return Rating(2, "A statement was turned around in otherwise equal wording.", scores)
        return Rating(3, "The same content and details.", scores)


def _next(steps: Steps, found: float | Failure | None) -> Pair | Rating:
    """The pair whose closeness in meaning is asked for, or the rating."""
    try:
        return next(steps) if found is None else steps.send(found)
    except StopIteration as done:
        rating: Rating = done.value
        return rating


def _unknown(_: str) -> None:
    return None


_SHOWN_DETAILS = 4


def _differing(content: Content) -> str:
    """The details only one answer holds, a few of them, for people."""
    reference, candidate = read_details(content.reference.record), read_details(content.candidate.record)
    lost = sorted(detail.text for detail in reference.details if not candidate.keeps(detail))
    added = sorted(detail.text for detail in candidate.details if not reference.keeps(detail))
    both = (("lost", lost), ("added", added))
    return "; ".join(f"{verb} {', '.join(texts[:_SHOWN_DETAILS])}" for verb, texts in both if texts)


def _rank(rating: Rating) -> int:
    return 0 if isinstance(rating.outcome, Failure) else rating.outcome
