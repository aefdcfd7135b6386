"""What holds for every kind that asks a rewriter."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from evenkeel.shadow.perturbations.compound import COMPOUNDS
from evenkeel.shadow.perturbations.crosslingual import CrossLingual
from evenkeel.shadow.perturbations.multilingual import Multilingual
from evenkeel.shadow.perturbations.paraphrase import Paraphrase
from evenkeel.shadow.perturbations.tone import Tone

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations import Perturbation

from tests.shadow.pretended_rewriter import chat, finished, made

KINDS: tuple[Perturbation, ...] = (
    Paraphrase(),
    Tone(),
    Tone("rewriter"),
    Multilingual("fr-CA"),
    CrossLingual("de", "ja"),
    *COMPOUNDS,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name}-{kind.version}")
def test_the_same_seed_gives_the_same_bytes(kind) -> None:
    """View, severity, seed and the rewriter's texts decide every byte; graded kinds differ by seed."""
    bodies = {seed: made(kind, chat(), 0.5, seed).body() for seed in range(6)}
    assert all(made(kind, chat(), 0.5, seed).body() == body for seed, body in bodies.items())
    assert len(set(bodies.values())) > 1 or not (kind.graded or isinstance(kind, Tone))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.graded], ids=lambda kind: kind.name)
@pytest.mark.parametrize("severity", [-0.1, 1.1])
def test_a_severity_out_of_range_is_an_error(kind, severity) -> None:
    """As for every graded kind."""
    with pytest.raises(ValueError, match="is not between 0 and 1"):
        finished(kind.apply(chat(), severity, random.Random(1)))
