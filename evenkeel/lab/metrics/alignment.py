"""Aligners that the calibration chooses from: by equal and reworded steps, or by an encoder."""

from __future__ import annotations

import importlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Protocol

from evenkeel.core.pair import Answer, Pair
from evenkeel.lab.metrics.languages import ANY_LANGUAGE, Coverage
from evenkeel.metrics.workflow.chain import MOST_CELLS, Alignment, StepMatch, arranged, equal_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.lab.metrics.embeddings import Encoder
    from evenkeel.metrics.workflow.workflow import Workflow

FLOOR = 0.8
"""Cosine from which two steps are one, as the paper sets it for all-mpnet-base-v2."""
# Words of a step that may be said otherwise; a shorter one is a name.
_LEAST_WORDS = 3


class CannotAlignError(Exception):
    """Two workflows that an aligner cannot compare. `reason` is a word usable as a label."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Aligner(Protocol):
    """Aligner that finds the steps that two workflows share."""

    @property
    def name(self) -> str:
        """Name of the method: a short word in snake case."""
        ...

    def align(self, reference: Workflow, candidate: Workflow) -> Alignment:
        """Return the steps that are the same, one to one.

        Raises:
            CannotAlignError: These workflows cannot be compared, with the reason.
        """
        ...


class ExactText:
    """Aligner of steps with equal texts, white space and Unicode composition aside, and of reworded ones."""

    name = "exact_text"

    def align(self, reference: Workflow, candidate: Workflow) -> Alignment:
        """Pair equal texts (`equal_steps`), then what may be the same in other words.

        Steps of three words or more that stand between the same neighbours, as many on both sides, are
        paired in their order: whether they say the same is not seen here, so they are no missing ones.
        """
        matches = equal_steps(reference, candidate).matched
        return arranged([*matches, *_reworded(reference, candidate, matches)], candidate)


class EncoderAligner:
    """Aligner by an encoder: optimal assignment by cosine, then a floor."""

    name = "embeddings"

    def __init__(self, encoder: Encoder, *, floor: float = FLOOR, coverage: Coverage = ANY_LANGUAGE) -> None:
        """Align by an encoder; nothing is encoded yet.

        Args:
            encoder: Turns texts into vectors.
            floor: Cosine in [-1, 1] below which an assigned pair is none. It belongs to the encoder:
                another one has other cosines for the same likeness.
            coverage: The languages the encoder knows.

        Raises: ValueError for a floor outside [-1, 1].
        """
        if not -1 <= floor <= 1:
            raise ValueError(f"the floor is a cosine in [-1, 1], not {floor}")
        self._encoder = encoder
        self._floor = floor
        self._coverage = coverage

    def align(self, reference: Workflow, candidate: Workflow) -> Alignment:
        """Assign the steps so that the sum of all cosines is greatest, then drop pairs below the floor.

        The assignment is global, as in the paper, so two steps of equal text may be assigned to others
        if that fits better in all.

        Raises:
            CannotAlignError: "too_large" beyond 25 million comparisons, "cross_language", or
                "encoder_failed" with what the encoder raised.
        """
        if not reference.steps or not candidate.steps:
            return Alignment(())
        if len(reference.steps) * len(candidate.steps) > MOST_CELLS:
            detail = f"{len(candidate.steps)} steps cannot be compared with {len(reference.steps)}"
            raise CannotAlignError("too_large", detail)
        gap = self._coverage.gap(Pair(Answer(reference.text), Answer(candidate.text), ""))
        if gap:
            raise CannotAlignError("cross_language", gap)
        # Loaded here: it takes half a second and 60 MB, which nobody without an encoder should pay.
        assign: Any = importlib.import_module("scipy.optimize").linear_sum_assignment
        try:
            cosines = self._cosines(candidate.steps, reference.steps)
            rows, columns = assign(cosines, maximize=True)
        except Exception as error:
            raise CannotAlignError("encoder_failed", f"{type(error).__name__}: {error}"[:200]) from error
        matches = []
        for row, column in zip(rows, columns, strict=True):
            if cosines[row, column] >= self._floor:
                matches.append(StepMatch(int(row), int(column)))
        return arranged(matches, candidate)

    def _cosines(self, rows: Sequence[str], columns: Sequence[str]) -> Any:
        """Return the cosines as a matrix; equal texts are encoded once."""
        numpy: Any = importlib.import_module("numpy")
        texts = list(dict.fromkeys((*rows, *columns)))
        vectors = numpy.asarray(self._encoder.encode(texts), dtype=numpy.float32)
        if not numpy.isfinite(vectors).all():
            raise ValueError("a vector is not finite")
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / numpy.where(lengths, lengths, 1)
        row_of = {text: index for index, text in enumerate(texts)}
        left = vectors[[row_of[text] for text in rows]]
        right = vectors[[row_of[text] for text in columns]]
        # Rounded, so that the same texts stay above a floor of 1 whatever the order of summing.
        return numpy.round(left @ right.T, 6)


def _reworded(reference: Workflow, candidate: Workflow, matches: Sequence[StepMatch]) -> Iterator[StepMatch]:
    """Yield the steps between the same neighbours, where there are as many on both sides."""
    partner = {match.candidate: match.reference for match in matches}
    taken = set(partner.values())
    gaps: dict[int | None, list[int]] = defaultdict(list)
    before: int | None = None
    for index in reference.order:
        if index in taken:
            before = index
        else:
            gaps[before].append(index)
    by_step: dict[int | None, list[int]] = defaultdict(list)
    before = None
    for index in candidate.order:
        if index in partner:
            before = partner[index]
        else:
            by_step[before].append(index)
    for position_of_step, steps in by_step.items():
        if len(steps) == len(gaps[position_of_step]):
            for index, other in zip(steps, gaps[position_of_step], strict=True):
                texts = candidate.steps[index], reference.steps[other]
                if all(len(text.split()) >= _LEAST_WORDS for text in texts):
                    yield StepMatch(index, other)
