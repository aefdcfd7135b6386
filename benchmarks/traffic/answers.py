"""Simulated trials whose truth is known: what an answer is like, and the verdicts of an exchange.

An answer says the same (rating 3, similarity .9 in the mean), says some of it differently (rating 2, .4) or
something else (rating 1, .1). Similarities take two values .05 to either side of their mean, so that every
mean follows from the rates alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.core.verdict import BASELINE, DECIDED_BY, STAGES, QualityScore, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

START: Final = 1_793_527_200.0
"""2026-11-01 10:00 UTC."""
STEP_S: Final = 20.0
"""Between two exchanges."""
TYPOS: Final = "general.typos"

SIMILAR: Final = {3: 0.9, 2: 0.4, 1: 0.1}
"""Mean similarity by rating."""
_SPREAD: Final = 0.05
_SAME: Final = (QualityScore("faithfulness", 1, 3, 3),)
_WORSE: Final = (QualityScore("faithfulness", 1, 3, 2),)


class Answer(NamedTuple):
    """One answer against the original's."""

    rating: int
    similarity: float
    worse: bool

    @property
    def shifted(self) -> bool:
        """Whether its content moved."""
        return self.rating < 3  # noqa: PLR2004 - of three ratings


@dataclass(frozen=True, slots=True)
class Law:
    """What answers to one kind of prompt are like. The defaults of `worse` put no case out of the way."""

    control: float
    """Probability that the identical resend shifts."""
    variant: float
    """Probability that a variant does."""
    worse: float = 0.5
    """Of a shifted answer to have become worse."""
    control_worse: float | None = None
    """The same of the resend, if it is another one."""
    other: float = 0.0
    """Probability that a variant is answered by something else altogether, whatever the resend is like."""

    @property
    def delta(self) -> float:
        """True content delta of a variant."""
        return self.variant + self.other * (1 - self.variant)

    def truths(self) -> dict[str, float]:
        """The true values of a variant's estimates, by their names in a report."""
        return {
            "content_delta": self.delta,
            "excess": self.delta - self.control,
            "noise_floor": self.control,
            "quality_delta": self.worse,
            "quality_worse": self.worse,
            "quality_better": 0.0,
            "robustness": 1 - self.delta * self.worse,
            "similarity": self._similarity(self.variant, self.other),
            "control_similarity": self._similarity(self.control, 0.0),
            "loss": self._grade(self.control, 0.0) - self._grade(self.variant, self.other),
        }

    @staticmethod
    def _similarity(shifted: float, other: float) -> float:
        usual = SIMILAR[3] * (1 - shifted) + SIMILAR[2] * shifted
        return SIMILAR[1] * other + usual * (1 - other)

    @staticmethod
    def _grade(shifted: float, other: float) -> float:
        """Mean of similarity and rating, 3 = 1, 2 = ½, 1 = 0."""
        usual = (SIMILAR[3] + 1) / 2 * (1 - shifted) + (SIMILAR[2] + 0.5) / 2 * shifted
        return SIMILAR[1] / 2 * other + usual * (1 - other)

    def answer(
        self, rng: np.random.Generator, shifted: float, other: float = 0.0, worse: float | None = None
    ) -> Answer:
        """One answer that shifts with this probability, or is another one altogether."""
        rating = 1 if other and rng.random() < other else 2 if rng.random() < shifted else 3
        side = _SPREAD if rng.random() < 0.5 else -_SPREAD  # noqa: PLR2004 - heads or tails
        chance = self.worse if worse is None else worse
        fell = rating < 3 and rng.random() < chance  # noqa: PLR2004 - of three ratings
        return Answer(rating, SIMILAR[rating] + side, fell)

    def draw(self, rng: np.random.Generator, variants: int) -> Drawn:
        """The answers of one exchange."""
        control = self.answer(rng, self.control, worse=self.control_worse)
        return Drawn(control, tuple(self.answer(rng, self.variant, self.other) for _ in range(variants)))


class Drawn(NamedTuple):
    """The answers of one exchange."""

    control: Answer
    variants: tuple[Answer, ...]


@dataclass(slots=True)
class Writer:
    """Writes exchanges as the verdicts that a worker logs: the control first, then the variants."""

    kinds: tuple[str, ...] = (TYPOS,)
    step_s: float = STEP_S
    common: dict[str, Any] = field(default_factory=dict)
    """Members that all verdicts have."""
    at: float = START
    number: int = 0

    def exchange(
        self, drawn: Drawn, kinds: Sequence[str] | None = None, *, lost: bool = False, **more: Any
    ) -> Iterator[Verdict]:
        """The verdicts of the next exchange.

        Args:
            drawn: Its answers.
            kinds: Perturbations of the variants; those of the writer if there are none.
            lost: Whether the resend gave nothing.
            more: Members of its verdicts.
        """
        self.number += 1
        self.at += self.step_s
        control = drawn.control
        if not lost:
            yield self.verdict(BASELINE, control, None, more)
        for kind, answer in zip(kinds or self.kinds, drawn.variants, strict=False):
            yield self.verdict(kind, answer, None if lost else control, more)

    def verdict(self, kind: str, answer: Answer, control: Answer | None, more: dict[str, Any]) -> Verdict:
        """One verdict of the exchange at hand; `more` are members that it has beside the usual ones."""
        members: dict[str, Any] = {
            "route": "chat",
            "model": "m-1",
            "judge_model": "judge",
            "rated_by": "similarity@1",
            "scorer": "judge",
            "details": _JUDGED,
            "prompt_version": "v1",
            "prompt_chars": 400,
            "prompt_language": "en",
            "answer_chars": 300,
        }
        quality = () if not answer.shifted else _WORSE if answer.worse else _SAME
        members |= {
            "id": f"{more.get('exchange_id', self.number)}.{kind}",
            "exchange_id": f"x{self.number}",
            "scored_at": self.at,
            "perturbation": kind,
            "perturbation_version": 1,
            "severity": 0.3,
            "seed": 0,
            "rating": answer.rating,
            "similarity": answer.similarity,
            "quality": quality,
            "baseline_rating": control and control.rating,
            "baseline_similarity": control and control.similarity,
            "baseline_worse": control and control.worse,
        }
        return Verdict(**(members | self.common | more))


_JUDGED: Final = {DECIDED_BY: float(STAGES.index("judge"))}
