"""Perturbations: the protocol, their outcomes, and the seed that makes their choices repeatable."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal, Protocol

from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Category
from evenkeel.core.verdict import BASELINE
from evenkeel.shadow.limits import MOST_SEGMENTS
from evenkeel.shadow.prompt import PromptView

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from evenkeel.core.pair import AnswerForm
    from evenkeel.core.rewordings import Rewording


Requirement = Literal["rewriter", "judge"]
"""Service that a perturbation needs: a model that rewrites texts, or a judge that compares answers across
languages."""


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """Outcome of a perturbation that has nothing to act on in this prompt. Counted by reason."""

    reason: str
    """Short snake_case word, usable as a label: "no_input", "nothing_to_change" …"""
    detail: str = ""
    """Explanation for people, one sentence; "" for that of `why_untried`."""


@dataclass(frozen=True, slots=True)
class RewriteTask:
    """Text that a model must rewrite."""

    kind: Literal["paraphrase", "tone", "translation", "contrast", "blocks"]
    """Kind of rewriting. "blocks" asks for a list of the text's parts, "contrast" for another question, which
    must not mean the same."""
    text: str
    target: str = ""
    """The tone, the language as a BCP 47 tag, or the change of a question; "" for a paraphrase."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Variant that waits for texts from the rewriter.

    Perturbations do no I/O: they say what they need, and go on when they have it.
    """

    tasks: tuple[RewriteTask, ...]
    finish: Callable[[Sequence[str]], Outcome]
    """Function from the rewritten texts, in the order of the tasks, to the outcome, which may be another
    draft."""


Outcome = PromptView | NotApplicable | Draft


class Perturbation(Protocol):
    """Perturbation: a way to ask the same question differently.

    Deterministic: the same view, severity, state of `rng` and texts of the rewriter give the same
    bytes on any platform.
    """

    @property
    def name(self) -> str:
        """`category.kind`, such as "general.spelling"."""
        ...

    @property
    def rewording(self) -> Rewording:
        """Return the texts for people: category, label, phrase, and position in reports."""
        ...

    @property
    def version(self) -> int:
        """Return the version, which increases whenever the same seed would give other bytes than before."""
        ...

    @property
    def graded(self) -> bool:
        """Return whether severity has an effect. Perturbations without degrees are tried at severity 1."""
        ...

    @property
    def requires(self) -> frozenset[Requirement]:
        """Return the services without which the perturbation never applies."""
        ...

    @property
    def wanted(self) -> AnswerForm:
        """Return the form that the variant wants the answer to have."""
        ...

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return a variant of the prompt.

        Args:
            view: The original; never changed.
            severity: In [0, 1]: the expected share of the eligible places that is changed.
            rng: Source of every choice; seed it with `seed_for`. A draft goes on with it in `finish`.

        Returns: a view that differs from the original (except the control's), or why there is none,
            or what must be rewritten first.
        Raises: ValueError if the severity is out of range.
        """
        ...


NOTHING: Final[frozenset[Requirement]] = frozenset()
"""Value of `requires` for a perturbation that works by rule."""


class PerturbationBase:
    """Base of perturbations: without degrees, by rule, for an answer in the form of before.

    What a perturbation has otherwise it says itself.
    """

    version: int = 1
    graded: bool = False
    requires: frozenset[Requirement] = NOTHING
    wanted: AnswerForm = AS_BEFORE


NO_INPUT: Final = NotApplicable(
    "no_input",
    "nothing in the prompt is known to be typed by a user; `trials.inputs` adds documents and more",
)
NOTHING_TO_CHANGE: Final = NotApplicable("nothing_to_change")

GENERAL: Final = Category(
    "general",
    "Input perturbations: the same request as another person, or in a hurry, would type it.",
    order=10,
    graded=True,
    named_alone=True,
)


def attempt(kind: Perturbation, view: PromptView, severity: float, rng: random.Random) -> Outcome:
    """Return a perturbation's outcome for a prompt; "too_many_parts" for one of very many segments.

    Raises: ValueError if the severity is out of range.
    """
    if len(view.segments) > MOST_SEGMENTS and kind.name != BASELINE:
        return NotApplicable("too_many_parts")
    return kind.apply(view, severity, rng)


def seed_for(exchange_id: str, perturbation_name: str, severity: float, version: int) -> int:
    """Return the seed for the random choices of one perturbation of one exchange.

    Returns: an integer in [0, 2**53), which SQLite, JSON and JavaScript all hold exactly.
    """
    trial = "\x1f".join((exchange_id, perturbation_name, f"{severity:.6f}", str(version)))
    return int.from_bytes(blake2b(trial.encode(), digest_size=8).digest(), "big") >> 11
