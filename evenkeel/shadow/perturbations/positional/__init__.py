"""Positional perturbations: whole parts of a prompt move, and no word changes.

`passages` cuts segments into passages that can be moved and puts them into another order; `moves` and
`reordering` are the perturbations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.shadow.perturbations.positional.moves import Context, Mixed, OutputInstructions
from evenkeel.shadow.perturbations.positional.reordering import Reordering

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations.protocol import Perturbation

POSITIONAL: Final[tuple[Perturbation, ...]] = (Context(), OutputInstructions(), Reordering(), Mixed())
"""Every positional perturbation."""

__all__ = ["POSITIONAL", "Context", "Mixed", "OutputInstructions", "Reordering"]
