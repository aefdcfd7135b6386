"""Measure of how close two answers are, without a judge.

Every pair is *unsure*, an outcome of its own: a judge decides it, and without one the similarity is all that
is known. What needs no judge is decided before: see `scoring`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import base_tag, told_apart
from evenkeel.core.verdict import DECIDED_BY, STAGES, Failure
from evenkeel.metrics.entity import SlotMatch
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.quality.workflow_steps import WorkflowSteps
from evenkeel.metrics.similarity.likeness import Likeness, likeness
from evenkeel.metrics.similarity.words import GLUE, stem, words
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import flat
from evenkeel.metrics.tasks import Task
from evenkeel.metrics.tool_calls import ToolCalls

if TYPE_CHECKING:
    from evenkeel.core.languages import LanguageOf
    from evenkeel.core.pair import Pair
    from evenkeel.metrics.protocol import Metric


CROSS_LANGUAGE: Final = "cross_language"
RATER: Final = "heuristic_rater"
"""Name under which a pair fails that cannot be compared in words."""
VERSION: Final = 7

# Comparison of the parts that an answer is made of, on every pair of a task.
_PARTS: Final[dict[Task, Metric]] = {Task.WORKFLOW: WorkflowSteps(), Task.SLOT_FILLING: SlotMatch()}


def measure(pair: Pair, language_of: LanguageOf | None = None) -> Rating:
    """Measure how close the answers of a pair are.

    Args:
        pair: Two answers that are neither identical nor empty.
        language_of: Tells a text's language. Without it only those pairs count as being in two languages
            whose variant asked for another one.

    Returns: a `Rating` whose outcome is None, with its similarity, and among its details the scores behind
        that; or a `Failure` "cross_language", since answers in two languages cannot be compared in words.
    """
    gap = _gap(pair, _languages(pair, language_of))
    if gap:
        return Rating(Failure(RATER, VERSION, CROSS_LANGUAGE, gap))
    wording = _wording(pair)
    closeness = likeness(wording.reference.text, wording.candidate.text)
    scores = {Likeness.name: closeness}
    if pair.task in _PARTS:
        parts = _PARTS[Task(pair.task)].score(pair)
        if not isinstance(parts, Failure):
            scores[_PARTS[Task(pair.task)].name] = parts
            # Which steps or slots there are says more than their words.
            closeness = (closeness + parts) / 2
    if wording.reference.tool_calls or wording.candidate.tool_calls:
        calls = ToolCalls().score(wording)
        if not isinstance(calls, Failure):
            scores[ToolCalls.name] = calls
            closeness = (closeness + calls) / 2 if _have_text(wording) else calls
    return Rating(
        None,
        "Not identical; only a judge can tell.",
        scores | {DECIDED_BY: float(STAGES.index("unsure"))},
        similarity=closeness,
    )


@dataclass(frozen=True, slots=True)
class _Languages:
    """Languages of both answers and the one asked for; None where not certain."""

    reference: str | None
    candidate: str | None
    wanted: str | None


def _languages(pair: Pair, language_of: LanguageOf | None) -> _Languages:
    wanted = None if pair.wanted.language is None else base_tag(pair.wanted.language)
    if language_of is None:
        return _Languages(None, wanted, wanted)
    return _Languages(language_of(pair.reference.text), language_of(pair.candidate.text) or wanted, wanted)


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
    if not told_apart(reference, candidate):
        return None
    texts = pair.reference.text, pair.candidate.text
    if languages.wanted is None and (
        min(map(len, texts)) < _TELLING or _share(*texts) >= _ONE_LANGUAGE_SHARE
    ):
        # Two languages have few words in common, and short texts are easily taken for another one.
        return None
    return f"The answers are in {reference} and {candidate}."


# Share of common words from which two short texts count as one language, whatever a model of languages
# says.
_ONE_LANGUAGE_SHARE: Final = 0.65
# Characters a text needs before the language identifier is trusted.
_TELLING: Final = 60


def _content(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in GLUE)


def _share(left: str, right: str) -> float:
    """Return the share of the smaller vocabulary that the larger one contains."""
    left_words, right_words = _content(left), _content(right)
    return len(left_words & right_words) / max(1, min(len(left_words), len(right_words)))


def _wording(pair: Pair) -> Pair:
    """Return the pair with data replaced by its values if the two formats differ, so that content counts."""
    structures = read_structure(pair.reference.text), read_structure(pair.candidate.text, pair.wanted.format)
    formats = []
    for side in structures:
        formats.append(side.format if isinstance(side, Structure) else "free")
    if formats[0] == formats[1] or not {"json", "yaml", "xml", "html"}.intersection(formats):
        return pair
    sides = []
    for answer, side in zip((pair.reference, pair.candidate), structures, strict=True):
        sides.append(replace(answer, text=flat(side.tree)) if isinstance(side, Structure) else answer)
    return replace(pair, reference=sides[0], candidate=sides[1])
