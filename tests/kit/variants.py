"""A digest of every byte of the variants of the application prompts."""

from __future__ import annotations

import random
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.perturbations import (
    by_name,
    seed_for,
)
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template import fixed_template
from tests.kit.prompts import EVERY

if TYPE_CHECKING:
    from collections.abc import Iterable


TEXT_KINDS: Final = ("general.whitespace", "general.punctuation", "general.casing", "general.spelling")
_SEVERITIES: Final = (0.1, 0.5, 1.0)


def applications() -> list[PromptView]:
    """The application prompts, cut by their templates."""
    return [PromptView.parse(one.body, fixed_template(one.layout.templates)) for one in EVERY]


def digest(names: Iterable[str] = TEXT_KINDS) -> str:
    """Names every byte that the kinds make of the application prompts: the same on any platform."""
    read = blake2b(digest_size=8)
    for number, view in enumerate(applications()):
        for kind in by_name(names):
            for severity in _SEVERITIES:
                rng = random.Random(seed_for(f"digest.{number}", kind.name, severity, kind.version))
                outcome = kind.apply(view, severity, rng)
                read.update(outcome.body() if isinstance(outcome, PromptView) else b"-")
    return read.hexdigest()
