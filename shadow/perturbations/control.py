"""The identical resend: what changes there is the endpoint's own noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.shadow.perturbations.protocol import NOTHING

if TYPE_CHECKING:
    import random

    from evenkeel.shadow.prompt import PromptView


class Identical:
    """Sends the prompt again as it is. Severity and seed mean nothing to it."""

    name: Final = "baseline.identical"
    version: Final = 1
    graded: Final = False
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView:
        """The view itself."""
        del severity, rng
        return view
