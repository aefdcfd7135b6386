"""Degraded goldens: the candidates whose scores are known beforehand, as far as a metric is right."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from evenkeel.core.pair import Pair
from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.degrade import SEVERITIES, NotDegradableError, as_written, degradations
from evenkeel.experiments.calibrate.journal import Key, Place, Row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade import Form
    from evenkeel.stores.goldens import Golden


@dataclass(frozen=True, slots=True)
class Source:
    """A golden as it is degraded. Small, and the same in every process."""

    id: str
    answer: Answer
    context: str
    """Text of the prompt, "" if only the answer is known."""
    task: str | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A golden's answer made worse."""

    key: Key
    expected: float
    pair: Pair


def places(form: Form) -> dict[Place, float]:
    """Every mode and severity in which an answer of a form is degraded, and the expected score."""
    return {
        Place(degradation.mode, severity): degradation.expected(severity)
        for degradation in degradations(form)
        for severity in SEVERITIES
    }


def keys(golden: str, form: Form) -> tuple[Key, ...]:
    """Every candidate that a golden of a form has, or should have."""
    return tuple(Key(golden, *place) for place in places(form))


def versions(form: Form) -> dict[str, int]:
    """Versions of the degradations of a form, by name."""
    return {degradation.name: degradation.version for degradation in degradations(form)}


def made(
    source: Source,
    form: Form,
    seed: int,
    written: Mapping[Place, str],
    only: Collection[Place],
) -> Iterator[Candidate | Row]:
    """The candidates of a golden; for those that cannot be made, a row that says why.

    Args:
        source: what is degraded.
        form: of its answer.
        seed: with the golden's id, the degradation's name and the severity it decides every choice.
        written: texts that a model wrote, by mode and severity: they are taken as they are.
        only: these alone.
    """
    # A variant of data or of a workflow may be laid out otherwise than the answer was; that is no damage.
    reference = as_written(source.answer, source.task)
    if isinstance(reference, Failure):
        reference = source.answer
    for degradation in degradations(form):
        for severity in SEVERITIES:
            place = Place(degradation.mode, severity)
            if place not in only:
                continue
            key = Key(source.id, *place)
            expected = degradation.expected(severity)
            text = written.get(place)
            if text is not None:
                answer = replace(source.answer, text=text)
            else:
                try:
                    answer = degradation.apply(
                        source.answer, severity, chooser(seed, source.id, degradation.name, str(severity))
                    )
                except NotDegradableError as error:
                    yield Row(key, expected, undegradable=error.reason)
                    continue
            yield Candidate(key, expected, Pair(reference, answer, source.context, source.task))


def chooser(seed: int, *words: str) -> random.Random:
    """The generator behind one candidate: the same whatever else is made, on every platform."""
    said = "\0".join((str(seed), *words))
    return random.Random(sha256(said.encode("utf-8", "surrogatepass")).digest())


def source_of(golden: Golden, context: str) -> Source:
    """A golden as it is degraded."""
    return Source(golden.id, golden.answer, context, golden.task)
