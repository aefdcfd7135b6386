"""Other words for the same, by a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.protocol import GENERAL, NO_INPUT, PerturbationBase, RewriteTask
from evenkeel.shadow.perturbations.rewriting import draft

if TYPE_CHECKING:
    import random

    from evenkeel.shadow.perturbations.protocol import Draft, NotApplicable
    from evenkeel.shadow.prompt import PromptView


class Paraphrase(PerturbationBase):
    """Has the rewriter say what a user typed in other words.

    All or nothing: severity means nothing to it.
    """

    name: Final = "general.paraphrase"
    rewording: Final = Rewording(GENERAL, phrase="paraphrasing", order=50)
    version = 3
    requires = frozenset({"rewriter"})

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Draft | NotApplicable:
        """Return the rewriting tasks, as `Perturbation.apply`.

        Nothing to rewrite makes it not applicable: "no_input" or "nothing_to_change".
        """
        del severity, rng
        if not view.typed:
            return NO_INPUT
        return draft(view, view.typed, lambda text: RewriteTask("paraphrase", text))
