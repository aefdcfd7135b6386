"""Heuristic rater: rates identical answers without a judge, and measures how close all others are.

Identical answers are a 3, an empty answer beside one that is not a 1. All else is *unsure*, an outcome of its
own: a judge decides it, and without one the similarity is all that is known.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from evenkeel.core.budget import NOTHING
from evenkeel.core.languages import base_tag
from evenkeel.core.verdict import DECIDED_BY, STAGES, Failure
from evenkeel.metrics.identity import identical, is_empty, only_one_is_empty
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.quality.workflow_steps import WorkflowSteps
from evenkeel.metrics.similarity.embeddings import Embeddings
from evenkeel.metrics.similarity.likeness import Likeness, likeness
from evenkeel.metrics.similarity.meaning import EncoderMeaning
from evenkeel.metrics.similarity.words import GLUE, stem, words
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import flat
from evenkeel.metrics.tasks import Task
from evenkeel.metrics.tool_calls import ToolCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from evenkeel.core.budget import Spend
    from evenkeel.core.languages import LanguageOf
    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Stage
    from evenkeel.metrics.similarity.meaning import Meaning


CROSS_LANGUAGE: Final = "cross_language"
_SAME, _OTHER = 3, 1

MEANING_WEIGHT: Final = 0.15
"""Largest share of the distance between two answers that an encoder can take away.

A larger share loses accuracy where changed models answer one question, with much the same meaning: `python -m
benchmarks.similarity`.
"""

_MEANING_STEEPNESS: Final = 4
"""Rating in steps: yields a pair, receives its closeness in meaning, and returns the rating."""

Steps: TypeAlias = "Generator[Pair, float | Failure, Rating]"
"""A rating on its way: asks for the closeness in meaning of a pair, and goes on when it has it."""


class HeuristicRater:
    """Rater of identical and empty answers, which measures the similarity of all pairs.

    Answers in two languages can be compared in neither way: a `Failure` "cross_language".
    """

    name = "heuristic_rater"
    version = 6

    def __init__(
        self,
        embeddings: Embeddings | Meaning | None = None,
        *,
        language_of: LanguageOf | None = None,
        count: Callable[[Failure], None] = lambda _: None,
    ) -> None:
        """Choose what is compared.

        Args:
            embeddings: Closeness in meaning, if there is an encoder here or behind an endpoint; left out for
                texts that are certainly in a language it does not know.
            language_of: Tells a text's language. Without it only those pairs count as being in two
                languages whose variant asked for another one.
            count: Told why embeddings were left out of a similarity. Called in threads.
        """
        self._count = count
        self.language_of = language_of
        """Function that returns a text's language; None if there is none."""
        self._meaning: Meaning | None = (
            EncoderMeaning(embeddings) if isinstance(embeddings, Embeddings) else embeddings
        )

    @property
    def encoder(self) -> str | None:
        """Name of the encoder whose embeddings are compared; None if none are."""
        return self._meaning.encoder if self._meaning else None

    def expense(self, texts_chars: int) -> Spend:
        """Return an upper estimate of the cost of one rating, by the characters of both answers together."""
        return self._meaning.expense(texts_chars) if self._meaning else NOTHING

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """Return the ratings in order, each as of `rate`."""
        return list(await asyncio.gather(*map(self.rate, pairs)))

    async def rate(self, pair: Pair) -> Rating:
        """Return the rating, computed in a thread. Details hold the scores behind the similarity.

        The meaning is measured together with that of other pairs, and its price is the rating's. An embedding
        that fails is left out of the similarity.

        Returns: a `Rating` whose outcome is 3, 2, 1 or None, or a `Failure`: "no_text" if neither side has
            text or a tool call, "cross_language" if the answers are in two languages (and not equal).
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

    def _steps(self, pair: Pair) -> Steps:
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Rating(
                Failure(self.name, self.version, "no_text", "Neither answer has text or a tool call.")
            )
        if (why := identical(pair)) is not None:
            return _rating(_Finding(_SAME, "equality", why), {}, 1.0)
        if only_one_is_empty(pair):
            return _rating(_Finding(_OTHER, "empty", "Only one side answered."), {}, 0.0)
        gap = _gap(pair, self._languages(pair))
        if gap:
            return Rating(Failure(self.name, self.version, CROSS_LANGUAGE, gap))
        wording = _wording(pair)
        scores = _scores(wording)
        closeness = scores[Likeness.name]
        steps = WorkflowSteps().score(pair) if pair.task == Task.WORKFLOW else None
        if isinstance(steps, float):
            # Which steps there are and their order say more of a workflow than its words.
            scores[WorkflowSteps.name] = steps
            closeness = (closeness + steps) / 2
        if self._meaning is not None and _have_text(wording) and self._meaning.on_scale(wording):
            meaning = yield wording
            if isinstance(meaning, Failure):
                self._count(meaning)
            else:
                scores[Embeddings.name] = meaning
                closeness = nearer_by_meaning(closeness, meaning)
        if ToolCalls.name in scores:
            closeness = (
                (closeness + scores[ToolCalls.name]) / 2 if _have_text(wording) else scores[ToolCalls.name]
            )
        return _rating(_UNSURE, scores, closeness)

    def _languages(self, pair: Pair) -> _Languages:
        wanted = None if pair.wanted.language is None else base_tag(pair.wanted.language)
        tell = self.language_of or _unknown
        return _Languages(tell(pair.reference.text), tell(pair.candidate.text) or wanted, wanted)


def nearer_by_meaning(closeness: float, cosine: float) -> float:
    """Return the closeness in words, raised by closeness in meaning: never lower, and at most 1.

    Args:
        closeness: Of the words, in [0, 1].
        cosine: Of the encoder, in [0, 1].
    """
    return closeness + (1 - closeness) * MEANING_WEIGHT * float(cosine**_MEANING_STEEPNESS)


@dataclass(frozen=True, slots=True)
class _Languages:
    """Languages of both answers and the one asked for; None where not certain."""

    reference: str | None
    candidate: str | None
    wanted: str | None


@dataclass(frozen=True, slots=True)
class _Finding:
    """Rating of a pair by rule, if there is one."""

    rating: int | None
    stage: Stage
    why: str


_UNSURE: Final = _Finding(None, "unsure", "Not identical; only a judge can tell.")


def _rating(finding: _Finding, scores: dict[str, float], similarity: float) -> Rating:
    details = scores | {DECIDED_BY: float(STAGES.index(finding.stage))}
    return Rating(finding.rating, finding.why, details, similarity=similarity)


def _next(steps: Steps, found: float | Failure | None) -> Pair | Rating:
    """Return the pair whose closeness in meaning is needed next, or the rating."""
    try:
        return next(steps) if found is None else steps.send(found)
    except StopIteration as done:
        rating: Rating = done.value
        return rating


def _unknown(_: str) -> None:
    return None


def _have_text(pair: Pair) -> bool:
    return bool(pair.reference.text.strip() and pair.candidate.text.strip())


def _gap(pair: Pair, languages: _Languages) -> str | None:
    """Return why two answers cannot be compared in words, as a sentence; None if they can."""
    if not all(any(map(str.isalpha, side.text)) for side in (pair.reference, pair.candidate)):
        return None
    reference, candidate = languages.reference, languages.candidate
    if reference is None or candidate is None:
        wanted = languages.wanted
        return f"{wanted} was asked for, and the languages are not certain." if wanted else None
    if reference == candidate:
        return None
    texts = pair.reference.text, pair.candidate.text
    if languages.wanted is None and (
        min(map(len, texts)) < _TELLING or _share(*texts) >= _ONE_LANGUAGE_SHARE
    ):
        # Two languages have few words in common, and short texts are easily taken for another one.
        return None
    return f"The answers are in {reference} and {candidate}."


_ONE_LANGUAGE_SHARE: Final = 0.65
_TELLING: Final = 60
"""Characters a text needs before the language identifier is trusted."""


def _content(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in GLUE)


def _share(left: str, right: str) -> float:
    """Return the share of the smaller vocabulary that the larger one contains."""
    one, other = _content(left), _content(right)
    return len(one & other) / max(1, min(len(one), len(other)))


def _wording(pair: Pair) -> Pair:
    """Return the pair with data replaced by its values if the two formats differ, so that content counts."""
    found = read_structure(pair.reference.text), read_structure(pair.candidate.text, pair.wanted.format)
    formats = [side.format if isinstance(side, Structure) else "free" for side in found]
    if formats[0] == formats[1] or not {"json", "yaml", "xml", "html"}.intersection(formats):
        return pair
    sides = [
        replace(answer, text=flat(side.tree)) if isinstance(side, Structure) else answer
        for answer, side in zip((pair.reference, pair.candidate), found, strict=True)
    ]
    return replace(pair, reference=sides[0], candidate=sides[1])


def _scores(wording: Pair) -> dict[str, float]:
    scores = {Likeness.name: likeness(wording.reference.text, wording.candidate.text)}
    if wording.reference.tool_calls or wording.candidate.tool_calls:
        calls = ToolCalls().score(wording)
        if not isinstance(calls, Failure):
            scores[ToolCalls.name] = calls
    return scores
