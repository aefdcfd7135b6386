"""What a gate says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.experiments.gate.rules import GateRules


class Verdict(StrEnum):
    """The outcome for a candidate."""

    PASS = "pass"  # noqa: S105 - a word of the domain
    REGRESSION = "regression"
    COULD_NOT_MEASURE = "could_not_measure"


State = Literal["regression", "pass", "not_settled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Something that an answer either breaches or not."""

    name: str
    decides: bool = True
    """Whether it can fail the gate; the others are only reported."""
    why_not: str = ""
    """Why it does not decide, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found about one measure."""

    measure: Measure
    state: State
    """What is settled about it."""
    n: int
    """Goldens behind it."""
    candidate: float
    """Share of the candidate's answers that breach it, in [0, 1]."""
    reference: float | None
    """The same for the reference: the noise floor. None where no reference was asked."""
    excess: float
    """Candidate minus reference, in [−1, 1]."""
    lower: float
    upper: float
    """Ends of the excess's interval. They hold at any time of looking together: the lower one at the level
    of the gate's alpha, shared among the measures that decide, the upper one at that of beta."""
    settled_after: int | None = None
    """Goldens after which it was settled; None if it is not."""
    needed: int | None = None
    """Goldens that would settle it if they go on as so far; None if it is settled or never will be."""
    unmeasured: Mapping[str, int]
    """Goldens about which it says nothing, by reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """The verdict and what it rests on."""

    verdict: Verdict
    settled: bool
    """Whether the evidence decided; else the goldens were all asked and the rules for that case did."""
    reason: str
    """Why nothing could be measured, in a sentence; "" for the other verdicts."""
    rules: GateRules
    findings: tuple[Finding, ...]
    goldens: int
    """Goldens there are."""
    asked: int
    """Goldens that were put to both sides until the end."""
    measured: int
    """Of those, the ones of which every deciding measure is known."""
    unmeasured: Mapping[str, int]
    """The others of those, by reason."""
    left_out: Mapping[str, int]
    """Goldens that cannot be asked at all, by reason."""
    with_reference: bool
    """Whether the noise floor was taken off."""
