"""Degradations of answers that are workflows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.pair import ToolCall
from evenkeel.experiments.calibrate.degrade.protocol import AnswerDegradation, Form, NotDegradableError
from evenkeel.experiments.calibrate.degrade.workflow.added import Added
from evenkeel.experiments.calibrate.degrade.workflow.compressed import Compressed
from evenkeel.experiments.calibrate.degrade.workflow.duplicated import Duplicated
from evenkeel.experiments.calibrate.degrade.workflow.missing import Missing
from evenkeel.experiments.calibrate.degrade.workflow.reordered import Reordered
from evenkeel.experiments.calibrate.degrade.workflow.reworded import Reworded
from evenkeel.experiments.calibrate.degrade.workflow.writing import write_like
from evenkeel.experiments.calibrate.score_table import FailureMode
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError, sequence

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade.workflow.protocol import Degradation

_OF_TEXTS: Final = frozenset((FailureMode.COMPRESSED, FailureMode.REWORDED))
"""A tool has one name: two cannot be merged into one, nor called in other words."""
_LETTERS: Final = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class OfWorkflow:
    """Reads the workflow of an answer, degrades it, and writes it back."""

    form: ClassVar[Form] = "workflow"

    degradation: Degradation
    mode: FailureMode
    name: str
    """E.g. "missing_random", "reworded_steps"."""

    @property
    def version(self) -> int:
        """That of the degradation of workflows."""
        return self.degradation.version

    def expected(self, severity: float) -> float:
        """What an ideal metric gives for it, in [0, 1]."""
        return self.degradation.expected(severity)

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with its workflow degraded, in the form that it had (see `write_like`).

        Of an answer that calls tools, the calls are degraded: left out, moved or repeated with their
        arguments; an added call has a foreign name and no arguments.

        Raises:
            NotDegradableError: Also with the reason of a `WorkflowError`, and "tool_calls": calls cannot be
                compressed or reworded.
        """
        try:
            if given.tool_calls:
                return self._with_calls(given, severity, rng)
            found = self.degradation.apply(read_answer(given), severity, rng)
            return replace(given, text=write_like(found, given.text))
        except WorkflowError as error:
            raise NotDegradableError(error.reason, str(error)) from error

    def _with_calls(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        if self.mode in _OF_TEXTS:
            raise NotDegradableError("tool_calls", f"tool calls cannot be {self.mode}")
        # Calls are told apart by their number, as many may have the same name.
        own = {f"call {number}": call for number, call in enumerate(given.tool_calls)}
        found = self.degradation.apply(sequence(own), severity, rng)
        calls = (own.get(step) or ToolCall(_tool_name(step), "{}") for step in found.chain)
        return replace(given, tool_calls=tuple(calls))


def _tool_name(step: str) -> str:
    return "_".join(_LETTERS.findall(step.lower()))


def _all() -> Sequence[AnswerDegradation]:
    return (
        OfWorkflow(Missing("random"), FailureMode.MISSING, "missing_random"),
        OfWorkflow(Compressed("random"), FailureMode.COMPRESSED, "compressed_random"),
        OfWorkflow(Reworded(), FailureMode.REWORDED, "reworded_steps"),
        OfWorkflow(Reordered(), FailureMode.REORDERED, "reordered_steps"),
        OfWorkflow(Duplicated(), FailureMode.DUPLICATED, "duplicated_steps"),
        OfWorkflow(Added(), FailureMode.ADDED, "added_steps"),
        OfWorkflow(Missing("last"), FailureMode.MISSING, "missing_last"),
        OfWorkflow(Missing("inner"), FailureMode.MISSING, "missing_inner"),
        OfWorkflow(Compressed("together"), FailureMode.COMPRESSED, "compressed_together"),
    )


WORKFLOWS: tuple[AnswerDegradation, ...] = tuple(_all())
"""The defaults, one for each failure mode, then what else there is."""
