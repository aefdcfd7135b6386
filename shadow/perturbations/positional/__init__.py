"""Positional perturbations: whole parts of a prompt stand elsewhere, not a word of them changes.

`marks` knows the lines that belong to their neighbours (lead-ins, labels, fences), `cutting` cuts
segments into passages that can be moved, `layout` puts them into another order, `lists` finds bulleted
lists and `order` tells where an order means something. Each kind is one module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.shadow.perturbations.positional.context import Context
from evenkeel.shadow.perturbations.positional.mixed import Mixed
from evenkeel.shadow.perturbations.positional.output_instructions import OutputInstructions
from evenkeel.shadow.perturbations.positional.reordering import Reordering

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations.protocol import Perturbation

POSITIONAL: Final[tuple[Perturbation, ...]] = (Context(), OutputInstructions(), Reordering(), Mixed())
"""Every positional perturbation."""

__all__ = ["POSITIONAL", "Context", "Mixed", "OutputInstructions", "Reordering"]
