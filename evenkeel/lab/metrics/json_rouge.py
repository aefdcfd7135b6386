"""JSONRouge: ROUGE-L of the values that correspond to each other, in any structured format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.value_alignment import ValuePair, align
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.sequence import rouge_l
from evenkeel.metrics.similarity.words import words
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import Tree, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.pair import Answer, Format, Pair


class JsonRouge:
    """ROUGE-L F1 over aligned values, whatever the format of either answer."""

    name: ClassVar[str] = "json_rouge"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("structured", label="JSON ROUGE")

    def score(self, pair: Pair) -> float | Failure:
        """Share of the values' wording that the two answers have in common, keys and form aside.

        Both answers are read into a tree (see `read_structure`), values are paired (see `align`),
        and the mean of their ROUGE-L F1 is taken, weighted by the words of both (at least one a
        value). A value without counterpart has 0. An answer without structure is compared as one
        text with all values of the other. Symmetric, but for the format that was asked for.

        Returns: ratio in [0, 1]; 1 = the same values under the same keys; 0 = no word in common
            at any place. A `Failure` "no_text" if neither answer has text or a tool call,
            "no_structure" if neither has a structure, "too_large" or "too_deep" if one is beyond
            the reader's limits.
        Source: JSONRouge, appendix A.2 of the enterprise perturbation paper; the weights are ours:
            they make it the F1 of all words.
        """
        trees = read_pair(pair)
        if isinstance(trees, UnreadableError):
            return Failure(self.name, self.version, trees.reason, str(trees))
        return json_rouge(trees.reference, trees.candidate)


def json_rouge(reference: Tree, candidate: Tree) -> float:
    """Return the ROUGE-L F1 of two trees' aligned values, weighted by their words, in [0, 1]."""
    return value_rouge(align(reference, candidate))


def value_rouge(pairs: Iterable[ValuePair]) -> float:
    """Return the ROUGE-L F1 of values that correspond, weighted by their words, in [0, 1]."""
    return weighted_mean((weight(pair), _rouge(pair)) for pair in pairs)


def _rouge(pair: ValuePair) -> float:
    if pair.reference is None or pair.candidate is None:
        return 0.0
    return rouge_l(pair.reference, pair.candidate)


def weight(pair: ValuePair) -> int:
    """Count the words of both values; a value without words counts as one."""
    return sum(max(1, len(words(value))) for value in pair if value is not None)


def weighted_mean(scores: Iterable[tuple[int, float]]) -> float:
    """Return the mean of (weight, ratio) pairs, in [0, 1]; 1 if there are none."""
    total, weights = 0.0, 0
    for one_weight, score in scores:
        total += one_weight * score
        weights += one_weight
    return min(1.0, total / weights) if weights else 1.0


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees of both answers of a pair; free text is a scalar."""

    reference: Tree
    candidate: Tree


def read_pair(pair: Pair) -> Trees | UnreadableError:
    """Read both answers, the candidate first as the format that was asked of it, and last as the reference's.

    Returns: the trees; an error "no_text", "no_structure", "too_large" or "too_deep" otherwise.
    """
    if is_empty(pair.reference) and is_empty(pair.candidate):
        return UnreadableError("no_text", "Neither answer has text.")
    reference = _read(pair.reference, None)
    candidate = _read(pair.candidate, pair.wanted.format)
    if isinstance(candidate, str) and isinstance(reference, Structure):
        # What is small or broken may be recognised by what it should be.
        candidate = _read(pair.candidate, reference.format)
    if isinstance(reference, UnreadableError):
        return reference
    if isinstance(candidate, UnreadableError):
        return candidate
    if isinstance(reference, str) and isinstance(candidate, str):
        return UnreadableError("no_structure", "Neither answer has a structure.")
    return Trees(
        reference if isinstance(reference, str) else reference.tree,
        candidate if isinstance(candidate, str) else candidate.tree,
    )


def _read(answer: Answer, wanted: Format | None) -> Structure | UnreadableError | str:
    structure = read_structure(answer.text, wanted)
    return answer.text.strip() if structure is None else structure
