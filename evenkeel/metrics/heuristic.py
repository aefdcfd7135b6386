"""Rates two answers without a judge, as far as anything can be proven, and measures how near they are.

A rating of 3 rests on a proof of equality, a 1 on a plainly different answer, a 2 on a proven difference. All
else is *unsure*, an outcome of its own: a judge decides it, and without one its similarity counts.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from evenkeel.core.budget import NOTHING
from evenkeel.core.languages import base_tag
from evenkeel.core.verdict import DECIDED_BY, STAGES, Failure
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.quality.workflow_steps import WorkflowSteps, steps_differ
from evenkeel.metrics.similarity.embeddings import Embeddings
from evenkeel.metrics.similarity.equality import Proof, prove
from evenkeel.metrics.similarity.likeness import Likeness, likeness
from evenkeel.metrics.similarity.meaning import EncoderMeaning
from evenkeel.metrics.similarity.normalised import is_empty
from evenkeel.metrics.similarity.words import GLUE, stem, words
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import flat
from evenkeel.metrics.surface.refusal import refused
from evenkeel.metrics.tasks import Task
from evenkeel.metrics.tool_calls import ToolCalls, same_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from evenkeel.core.budget import Spend
    from evenkeel.core.languages import LanguageOf
    from evenkeel.core.pair import Answer, Pair
    from evenkeel.core.verdict import Stage
    from evenkeel.metrics.similarity.meaning import Meaning


CROSS_LANGUAGE: Final = "cross_language"
_SAME, _DIFFERENT, _OTHER = 3, 2, 1

MEANING_WEIGHT: Final = 0.15
"""Share of the distance between two answers that an encoder can take away. More of it loses where one
question is answered by changed models, which mean much the same: `python -m benchmarks.similarity`."""

_MEANING_STEEPNESS: Final = 4
"""Power of the cosine: answers to one question have cosines near 1, and 0.9 is far from 0.97 there."""

Steps: TypeAlias = "Generator[Pair, float | Failure, Rating]"
"""A rating on its way: asks for the closeness in meaning of a pair, and goes on when it has it."""


class HeuristicRater:
    """Rates what is proven, and measures the similarity of all pairs.

    - 3: equal answers (`similarity.equality`), and equal tool calls.
    - 2: a value, a negation, an operator, a tool or one of its arguments differs in otherwise equal answers.
    - 1: only one side answers, or only one declines; or two long answers share hardly a word.
    - unsure: everything else.

    Answers in two languages can be compared in neither way: a `Failure` "cross_language".
    """

    name = "heuristic_rater"
    version = 5

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
                languages whose variant asked for another one, and numbers and dates are read only where all
                languages agree.
            count: Told why embeddings were left out of a similarity. Called in threads.
        """
        self._count = count
        self.language_of = language_of
        """Tells a text's language, None if nobody does."""
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

    def expense(self, texts_chars: int) -> Spend:
        """Upper estimate of what one rating costs, by the characters of both answers together."""
        return self._meaning.expense(texts_chars) if self._meaning else NOTHING

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """The ratings in order, as of `rate`."""
        return list(await asyncio.gather(*map(self.rate, pairs)))

    async def rate(self, pair: Pair) -> Rating:
        """The rating, computed in a thread. Details hold the scores behind the similarity.

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

        Returns: a `Rating` whose outcome is 3, 2, 1 or None, or a `Failure`: "no_text" if neither side has
            text or a tool call, "cross_language" if the answers are in two languages (and not equal).
            An embedding that fails is left out of the similarity.
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
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Rating(
                Failure(self.name, self.version, "no_text", "Neither answer has text or a tool call.")
            )
        languages = self._languages(pair)
        finding = self._find(pair, languages)
        if finding.rating == _SAME:
            return _rating(finding, {}, 1.0)
        gap = None if finding.rating is not None else _gap(pair, languages)
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
        return _rating(finding, scores, closeness)

    def _languages(self, pair: Pair) -> _Languages:
        wanted = None if pair.wanted.language is None else base_tag(pair.wanted.language)
        tell = self.language_of or _unknown
        return _Languages(tell(pair.reference.text), tell(pair.candidate.text) or wanted, wanted)

    def _find(self, pair: Pair, languages: _Languages) -> _Finding:
        reference, candidate = pair.reference, pair.candidate
        blank = _is_blank(reference), _is_blank(candidate)
        if any(blank):
            return _UNSURE if all(blank) else _Finding(_OTHER, "heuristic", "Only one side answered.")
        calls = bool(reference.tool_calls), bool(candidate.tool_calls)
        if any(calls):
            return _of_tools(pair, languages.shared) if all(calls) else _ONE_CALLS
        proof = prove(reference.text, candidate.text, languages.shared, pair.wanted.format)
        if proof is not None:
            return _proven(proof)
        return _of_texts(pair, are_one_language=languages.are_one)


def nearer_by_meaning(closeness: float, cosine: float) -> float:
    """Closeness in words, raised by closeness in meaning: never lower, and at most 1.

    Args:
        closeness: Of the words, in [0, 1].
        cosine: Of the encoder, in [0, 1].
    """
    return closeness + (1 - closeness) * MEANING_WEIGHT * float(cosine**_MEANING_STEEPNESS)


@dataclass(frozen=True, slots=True)
class _Languages:
    """Of both answers; None where not certain."""

    reference: str | None
    candidate: str | None
    wanted: str | None

    @property
    def are_one(self) -> bool:
        """Whether both answers are certainly in one language."""
        return self.reference is not None and self.reference == self.candidate

    @property
    def shared(self) -> str | None:
        """The language of both, as far as it is certain of either."""
        if None in (self.reference, self.candidate):
            return self.reference or self.candidate
        return self.reference if self.reference == self.candidate else None


@dataclass(frozen=True, slots=True)
class _Finding:
    """What heuristics can say of a pair."""

    rating: int | None
    stage: Stage
    why: str


_UNSURE: Final = _Finding(None, "unsure", "Worded differently; nothing is proven.")
_ONE_CALLS: Final = _Finding(_DIFFERENT, "difference", "Only one side calls tools.")


def _of_texts(pair: Pair, *, are_one_language: bool) -> _Finding:
    """What is known of two texts of which neither equality nor a difference is proven word by word."""
    left, right = pair.reference.text, pair.candidate.text
    if pair.task == Task.WORKFLOW and (why := steps_differ(pair)):
        return _Finding(_DIFFERENT, "difference", why)
    if refused(pair.reference) != refused(pair.candidate) and _share(left, right) < _REFUSAL_SHARE:
        return _Finding(_OTHER, "heuristic", "Only one side declines to answer.")
    if are_one_language and _is_another_subject(left, right):
        return _Finding(_OTHER, "heuristic", "The answers have hardly a word in common.")
    return _UNSURE


def _rating(finding: _Finding, scores: dict[str, float], similarity: float) -> Rating:
    details = scores | {DECIDED_BY: float(STAGES.index(finding.stage))}
    return Rating(finding.rating, finding.why, details, similarity=similarity)


def _proven(proof: Proof) -> _Finding:
    if proof.equal:
        return _Finding(_SAME, "equality", proof.why)
    return _Finding(_DIFFERENT, "difference", proof.why)


def _next(steps: Steps, found: float | Failure | None) -> Pair | Rating:
    """The pair whose closeness in meaning is asked for, or the rating."""
    try:
        return next(steps) if found is None else steps.send(found)
    except StopIteration as done:
        rating: Rating = done.value
        return rating


def _unknown(_: str) -> None:
    return None


_NOTHING: Final = frozenset(("n/a", "na", "none", "null", "nil"))


def _is_blank(answer: Answer) -> bool:
    """Whether an answer says nothing: no letter or digit, or a word that stands for nothing."""
    if answer.tool_calls:
        return False
    text = answer.text.strip().lower()
    return text in _NOTHING or not any(map(str.isalnum, text))


def _of_tools(pair: Pair, language: str | None) -> _Finding:
    """What is known of two answers that call tools; talk beside a call counts where both have it."""
    left, right = pair.reference.tool_calls, pair.candidate.tool_calls
    if not same_tools(left, right):
        return _Finding(_DIFFERENT, "difference", "Other tools are called.")
    if [call.name for call in left] != [call.name for call in right]:
        return _Finding(_DIFFERENT, "difference", "The tools are called in another order.")
    every = [
        prove(one.arguments.strip() or "{}", other.arguments.strip() or "{}", language)
        for one, other in zip(left, right, strict=True)
    ]
    differing = next((proof for proof in every if proof is not None and not proof.equal), None)
    if differing is not None:
        return _Finding(_DIFFERENT, "difference", f"The same tools with other arguments. {differing.why}")
    if None in every:
        return _Finding(None, "unsure", "The same tools with arguments in other words.")
    if not _have_text(pair):
        return _Finding(_SAME, "equality", "The same tools with the same arguments.")
    proof = prove(pair.reference.text, pair.candidate.text, language)
    return _UNSURE if proof is None else _proven(proof)


def _have_text(pair: Pair) -> bool:
    return bool(pair.reference.text.strip() and pair.candidate.text.strip())


def _gap(pair: Pair, languages: _Languages) -> str | None:
    """Why two answers that are not equal cannot be compared in words; None if they can."""
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
"""Characters from which on an identifier is believed that two answers are in two languages."""
_REFUSAL_SHARE: Final = 0.25
_SUBJECT_SHARE: Final = 0.04
_SUBJECT_WORDS: Final = 25
"""Distinct content words of either side; a short text in other words may share none with another."""


def _content(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in GLUE)


def _share(left: str, right: str) -> float:
    """Share of the smaller vocabulary that the larger one has."""
    one, other = _content(left), _content(right)
    return len(one & other) / max(1, min(len(one), len(other)))


def _is_another_subject(left: str, right: str) -> bool:
    one, other = _content(left), _content(right)
    return min(len(one), len(other)) >= _SUBJECT_WORDS and len(one & other) <= _SUBJECT_SHARE * min(
        len(one), len(other)
    )


def _wording(pair: Pair) -> Pair:
    """The pair with data as its values where the two formats differ, so that only what is said counts."""
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
