"""Positional perturbations: whole parts of a prompt move, and no word changes.

`layout` cuts a prompt into units and knows what binds them, `listing` has a model say it, and `moves` holds
the perturbations.
"""

from __future__ import annotations

from typing import Final

from evenkeel.shadow.perturbations.positional.moves import (
    Context,
    MixedMoves,
    OutputInstructions,
    Positional,
    Reordering,
)

POSITIONAL: Final[tuple[Positional, ...]] = (Context(), OutputInstructions(), Reordering(), MixedMoves())
"""Every positional perturbation, by rule."""
LISTED: Final[tuple[Positional, ...]] = tuple(type(kind)("rewriter") for kind in POSITIONAL)
"""The same with a model that lists the parts of each template."""

__all__ = ["LISTED", "POSITIONAL", "Context", "MixedMoves", "OutputInstructions", "Positional", "Reordering"]
