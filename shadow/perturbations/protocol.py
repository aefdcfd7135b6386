"""What a perturbation is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import random

    from shadow.prompt import PromptView


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """A perturbation that has nothing to act on in this prompt. Counted by reason."""

    reason: str
    """Short snake_case word, usable as a label: "no_input", "nothing_to_change" …"""
    detail: str = ""
    """One sentence for people."""


class Perturbation(Protocol):
    """A way to ask the same question differently.

    Deterministic: the same view, severity and state of `rng` give the same bytes on any platform.
    """

    @property
    def name(self) -> str:
        """`category.kind`, such as "general.spelling"."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same seed would give other bytes than before."""
        ...

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant of the prompt.

        Args:
            view: The original; never changed.
            severity: In [0, 1]: the expected share of the eligible places that is changed.
            rng: Source of every choice; seed it with `seed_for`.

        Returns: a view that differs from the original (the baseline's apart), or why there is none.
        Raises: ValueError if the severity is out of range.
        """
        ...
