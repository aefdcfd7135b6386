"""A similarity rating of 3, 2 or 1 without a judge, from cheap metrics and fixed cut-offs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from metrics.similarity.content_words import ContentWords
from metrics.similarity.details import Details, detail_overlap, leaves, read_details
from metrics.similarity.edit import EditSimilarity
from metrics.similarity.embeddings import Embeddings
from metrics.similarity.normalised import NormalisedEquality, is_empty, parse_json
from metrics.similarity.protocol import Rating
from metrics.similarity.rouge_l import RougeL
from metrics.similarity.tool_calls import ToolCalls, same_tools
from metrics.similarity.words import negation_count, words
from metrics.verdict import Failure

if TYPE_CHECKING:
    from metrics.pair import Answer, Pair
    from metrics.similarity.protocol import Metric


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """Where the rating changes. The defaults are set on real data: see `bench/similarity.py`."""

    same_words: float = 0.65
    """From here on two texts say the same things, by the overlap of their content words."""
    same_letters: float = 0.85
    """Or by edit similarity, which survives typos, lost spaces and glued words."""
    same_meaning: float = 0.85
    """Or by the cosine of sentence embeddings."""
    same_details: float = 0.9
    """At least this F1 of details for a 3: one lost or added in six is seen, one in seven is not."""
    other_words: float = 0.35
    """Below it the message is another one, unless there are embeddings: then they decide."""
    other_meaning: float = 0.5
    reworded: float = 0.8
    """ROUGE-L from which texts are alike enough for an added or lost "not" to turn the statement."""


DEFAULT_CUTOFFS = Cutoffs()


class CheapRater:
    """Rates by overlap of words, letters, meaning (optional), details, and tool calls.

    - 3: the wording or the meaning is close, the details are the same, no negation was added to or
      lost from otherwise equal wording.
    - 1: neither words nor meaning have enough in common; or one answer acts and the other talks; or
      other tools are called.
    - 2: everything between.

    It reads spelling, not meaning: an answer reworded from scratch gets a 2 or a 1 unless sentence
    embeddings are given, and a flipped conclusion in unchanged wording gets a 3.
    """

    name = "cheap_rater"
    version = 1

    def __init__(self, embeddings: Embeddings | None = None, cutoffs: Cutoffs = DEFAULT_CUTOFFS) -> None:
        self._cutoffs = cutoffs
        self._wording_metrics: tuple[Metric, ...] = (RougeL(), EditSimilarity(), ContentWords())
        if embeddings is not None:
            self._wording_metrics += (embeddings,)

    async def rate(self, pair: Pair) -> Rating:
        """The rating, computed in a thread. Details hold every metric's score by name."""
        return await asyncio.to_thread(self.rate_now, pair)

    def rate_now(self, pair: Pair) -> Rating:
        """The rating, computed here.

        Returns: a `Rating` whose outcome is 3, 2 or 1, or a `Failure` "no_text" if neither side has
            text or a tool call. An embedding that fails is left out: the other metrics decide.
        """
        equal = NormalisedEquality().score(pair)
        if isinstance(equal, Failure):
            return Rating(replace(equal, metric=self.name, version=self.version))
        if equal:
            return Rating(3, "Equal after normalisation.", {NormalisedEquality.name: 1.0})
        if is_empty(pair.reference) or is_empty(pair.candidate):
            return Rating(1, "Only one side answered.")
        return self._rate_answers(pair)

    def _rate_answers(self, pair: Pair) -> Rating:
        acts = bool(pair.reference.tool_calls), bool(pair.candidate.tool_calls)
        if not any(acts):
            return self._rate_text(pair)
        if not all(acts):
            return Rating(1, "Only one side calls tools.", {ToolCalls.name: 0.0})
        tools = self._rate_tools(pair)
        if not pair.reference.text.strip() or not pair.candidate.text.strip():
            # Talk beside a call is optional: where one side leaves it out, the calls decide.
            return tools
        text = self._rate_text(pair)
        worse = min(tools, text, key=_rank)
        return replace(worse, details=text.details | tools.details)

    def _rate_tools(self, pair: Pair) -> Rating:
        score = ToolCalls().score(pair)
        if isinstance(score, Failure):
            return Rating(score)
        details = {ToolCalls.name: score}
        if score == 1.0:
            return Rating(3, "The same tools with the same arguments.", details)
        if same_tools(pair.reference.tool_calls, pair.candidate.tool_calls):
            return Rating(2, "The same tools with other arguments.", details)
        return Rating(1, "Other tools are called.", details)

    def _rate_text(self, pair: Pair) -> Rating:
        if not words(pair.reference.text) and not words(pair.candidate.text):
            return Rating(1, "Two answers without words that are not equal.")
        # The keys of a JSON answer are the form's words: shared keys are no shared content.
        wording = replace(pair, reference=_values(pair.reference), candidate=_values(pair.candidate))
        scores: dict[str, float] = {}
        for metric in self._wording_metrics:
            score = metric.score(wording)
            if not isinstance(score, Failure):
                scores[metric.name] = score
        scores[Details.name] = detail_overlap(
            read_details(pair.reference.text), read_details(pair.candidate.text)
        )
        return self._decide(pair, scores)

    def _decide(self, pair: Pair, scores: dict[str, float]) -> Rating:
        cut = self._cutoffs
        shared, letters = scores[ContentWords.name], scores[EditSimilarity.name]
        meaning = scores.get(Embeddings.name)
        close = (
            shared >= cut.same_words
            or letters >= cut.same_letters
            or (meaning is not None and meaning >= cut.same_meaning)
        )
        apart = shared < cut.other_words if meaning is None else meaning < cut.other_meaning
        if not close and apart:
            return Rating(1, "The two answers have little in common.", scores)
        if not close:
            return Rating(2, "The answers overlap but are worded differently.", scores)
        if scores[Details.name] < cut.same_details:
            return Rating(2, f"Similar wording, but details differ: {_differing(pair)}.", scores)
        negations = negation_count(pair.reference.text), negation_count(pair.candidate.text)
        if scores[RougeL.name] >= cut.reworded and negations[0] != negations[1]:
            return Rating(2, "A negation was added or lost in otherwise equal wording.", scores)
        return Rating(3, "The same content and details.", scores)


_SHOWN_DETAILS = 4


def _differing(pair: Pair) -> str:
    """The details only one answer holds, a few of them, for people."""
    reference, candidate = read_details(pair.reference.text), read_details(pair.candidate.text)
    lost = sorted(detail.text for detail in reference.details if not candidate.keeps(detail))
    added = sorted(detail.text for detail in candidate.details if not reference.keeps(detail))
    both = (("lost", lost), ("added", added))
    return "; ".join(f"{verb} {', '.join(texts[:_SHOWN_DETAILS])}" for verb, texts in both if texts)


def _rank(rating: Rating) -> int:
    return 0 if isinstance(rating.outcome, Failure) else rating.outcome


def _values(answer: Answer) -> Answer:
    """The answer with its text replaced by the values in it, if the text is JSON."""
    value = parse_json(answer.text)
    return answer if value is None else replace(answer, text="\n".join(leaves(value)))
