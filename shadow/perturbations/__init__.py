"""Perturbations: small, meaning-preserving changes of a prompt.

`protocol` says what one is; each kind is one module and one line in `BUILTIN`. `protect` finds
what no change of the input may touch (code, numbers, addresses, quotations …), `places` picks and
rewrites a share of what is left, `seed` makes every choice repeatable.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from shadow.perturbations.baseline import Identical
from shadow.perturbations.casing import Casing
from shadow.perturbations.protect import Protected, protected_spans
from shadow.perturbations.protocol import (
    NOTHING,
    Draft,
    NotApplicable,
    Outcome,
    Perturbation,
    Requirement,
    RewriteTask,
)
from shadow.perturbations.punctuation import Punctuation
from shadow.perturbations.seed import seed_for
from shadow.perturbations.spelling import Spelling
from shadow.perturbations.whitespace import Whitespace

if TYPE_CHECKING:
    from collections.abc import Iterable

BUILTIN: Final[tuple[Perturbation, ...]] = (
    Identical(),
    Whitespace(),
    Punctuation(),
    Casing(),
    Spelling(),
)
"""Every perturbation there is; the baseline first."""


def by_name(names: Iterable[str]) -> tuple[Perturbation, ...]:
    """The perturbations of the given names ("category.kind"), in that order.

    Raises: ValueError for an unknown name, with names near to it.
    """
    known = {perturbation.name: perturbation for perturbation in BUILTIN}
    chosen: list[Perturbation] = []
    for name in names:
        if name not in known:
            raise ValueError(f"unknown perturbation {name!r}: {_hint(name, known)}")
        chosen.append(known[name])
    return tuple(chosen)


def _hint(name: str, known: Iterable[str]) -> str:
    full = {form: one for one in known for form in (one, one.partition(".")[2])}
    near = dict.fromkeys(full[form] for form in difflib.get_close_matches(name.lower(), full, n=3))
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"


__all__ = [
    "BUILTIN",
    "NOTHING",
    "Draft",
    "NotApplicable",
    "Outcome",
    "Perturbation",
    "Protected",
    "Requirement",
    "RewriteTask",
    "by_name",
    "protected_spans",
    "seed_for",
]
