"""The identical resend: what changes there is the endpoint's own noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random

    from shadow.prompt import PromptView


class Identical:
    """Sends the prompt again as it is. Severity and seed mean nothing to it."""

    name: Final = "baseline.identical"
    version: Final = 1

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView:
        """The view itself."""
        del severity, rng
        return view
