"""All degraded variants of an answer, the same ones whenever they are asked for."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.degrade.data.document import read_document
from evenkeel.experiments.calibrate.degrade.form import NAME, VERSION, form_of
from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.experiments.calibrate.degrade.registry import degradations
from evenkeel.experiments.calibrate.degrade.severity import SEVERITIES
from evenkeel.experiments.calibrate.degrade.workflow.writing import write_like
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade.protocol import AnswerDegradation
    from evenkeel.experiments.calibrate.score_table import FailureMode


@dataclass(frozen=True, slots=True)
class Degraded:
    """One variant of an answer."""

    name: str
    """Of the degradation."""
    version: int
    """Of the degradation."""
    mode: FailureMode
    severity: float
    expected: float
    """What an ideal metric gives for it, in [0, 1]."""
    answer: Answer | Failure
    """The variant, or why the answer has none of this kind."""


def degrade(
    answer: Answer,
    golden: str,
    *,
    task: str | None = None,
    severities: Sequence[float] = SEVERITIES,
    chosen: Sequence[AnswerDegradation] | None = None,
) -> tuple[Degraded, ...] | Failure:
    """Every variant of an answer.

    Args:
        answer: An approved answer.
        golden: Its id: with the degradation's name and the severity it seeds every choice.
        task: Of the exchange; "workflow" says that a list is one.
        severities: Shares in (0, 1].
        chosen: The degradations; default: one for each failure mode, by the answer's form.

    Returns: for each degradation in order, and each severity, a variant or the reason why there is none; or a
        `Failure` if the answer has no form.
    """
    if chosen is None:
        form = form_of(answer, task)
        if isinstance(form, Failure):
            return form
        chosen = degradations(form)
    return tuple(_variant(answer, golden, each, severity) for each in chosen for severity in severities)


def as_written(answer: Answer, task: str | None = None) -> Answer | Failure:
    """The answer as a variant of it is written, but with nothing degraded.

    Texts are the same; data and workflows may be laid out otherwise, which a metric that reads words or
    characters would take for damage. To score variants against this leaves the damage alone.

    Returns: the answer; a `Failure` if it has no form, or cannot be read or written in it.
    """
    form = form_of(answer, task)
    try:
        match form:
            case "data":
                document = read_document(answer.text)
                return replace(answer, text=document.written(document.root))
            case "workflow" if not answer.tool_calls:
                return replace(answer, text=write_like(read_answer(answer).arranged(), answer.text))
            case Failure():
                return form
            case _:
                return answer
    except (NotDegradableError, WorkflowError) as error:
        return Failure(NAME, VERSION, error.reason, str(error))


def seeded(*parts: str) -> random.Random:
    """A generator that follows from some words, on any platform: the same words, the same choices."""
    digest = hashlib.sha256()
    for part in parts:
        # Lengths keep ("ab", "c") and ("a", "bc") apart; lone surrogates come out of JSON.
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return random.Random(int.from_bytes(digest.digest(), "big"))


def _variant(answer: Answer, golden: str, given: AnswerDegradation, severity: float) -> Degraded:
    rng = seeded(golden, given.name, repr(float(severity)))
    made: Answer | Failure
    try:
        made = given.apply(answer, severity, rng)
    except NotDegradableError as error:
        made = Failure(NAME, VERSION, error.reason, f"{given.name} at {severity:g}: {error}")
    return Degraded(given.name, given.version, given.mode, severity, given.expected(severity), made)
