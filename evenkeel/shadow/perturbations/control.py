"""Control: an identical resend, whose differences are the endpoint's own noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.rewordings import Category, Rewording
from evenkeel.shadow.perturbations.protocol import PerturbationBase

if TYPE_CHECKING:
    import random

    from evenkeel.shadow.prompt import PromptView


_CATEGORY: Final = Category(
    "baseline",
    "What changes when nothing changes: the endpoint's own noise, to be taken off the rest.",
    order=0,
    named_alone=True,
)


class IdenticalResend(PerturbationBase):
    """Sends the prompt again as it is. Severity and seed mean nothing to it."""

    name: Final = "baseline.identical"
    rewording: Final = Rewording(_CATEGORY, "noise floor", phrase="an identical resend", order=0)

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView:
        """Return the view itself."""
        del severity, rng
        return view
