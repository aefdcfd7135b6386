"""Citations without a judge: every sentence cites, and cites what is there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.quality.citations import labels_in, read_citations
from evenkeel.metrics.quality.each_side import EachSide
from evenkeel.metrics.quality.protocol import Measured
from evenkeel.metrics.similarity.protocol import Rating
from evenkeel.metrics.similarity.rendering import claims
from evenkeel.metrics.surface.refusal import refused
from evenkeel.metrics.tasks.signs import document_labels

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Pair

_FEWEST_DOCUMENTS = 2
_HALF = 0.5


class CitationsProxy:
    """Share of an answer's sentences that cite documents of the prompt, in three bins.

    Whether a document supports the sentence takes a judge; a citation of the wrong document counts here
    as good as one of the right document.
    """

    name: ClassVar[str] = "citations_proxy"
    version: ClassVar[int] = 1

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
        entries = [_exists(entry, known, plain) for entry in cited.listed]
        by_list = any(entries) and not any(cited.sentences)
        sentences = [by_list or (bool(labels) and labels <= known) for labels in cited.sentences]
        units = sentences + [False for exists in entries if not exists]
        if not units:
            return Rating(3, "The answer states nothing.")
        share = sum(units) / len(units)
        rating = 3 if share == 1 else 2 if share >= _HALF else 1
        told = f"{sum(sentences)} of {len(sentences)} sentences cite documents of the prompt."
        return Rating(rating, told, {"sentences_cited": share})


def _exists(entry: str, known: frozenset[str], plain: str) -> bool:
    labels = labels_in(entry) or ({entry.lower()} if len(entry) < len("1000") else set())
    if labels:
        return labels <= known
    return " ".join(entry.lower().split()) in plain
