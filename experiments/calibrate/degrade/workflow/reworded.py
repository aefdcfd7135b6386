"""Reworded steps, by rule: the same workflow in other words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.workflow.phrases import ANYWHERE, ENGLISH, FRAMES, VERBS
from evenkeel.experiments.calibrate.degrade.workflow.severity import arranged_with
from evenkeel.metrics.workflow.workflow import Workflow, WorkflowError

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable


def _any_of(phrases: Iterable[str]) -> str:
    """A pattern for whole phrases, longer ones first."""
    return "(?:" + "|".join(sorted(map(re.escape, phrases), key=len, reverse=True)) + r")(?![\w'’-])"


_PHRASE = re.compile(
    rf"(?:^|(?<=\band )|(?<=\bthen )|(?<=\bto )){_any_of(VERBS)}|(?<![\w'’-]){_any_of(ANYWHERE)}",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`|\$[^$]*\$")
_WORDS = re.compile(r"[a-z]+")


class Reworded:
    """Says steps in other words, by tables of English synonyms. No degradation: nothing is lost."""

    name: ClassVar[str] = "reworded"
    version: ClassVar[int] = 1

    def expected(self, severity: float) -> float:  # noqa: ARG002 - the same for all
        """1, whatever the severity: structure and meaning stay."""
        return 1.0

    def apply(self, given: Workflow, severity: float, rng: random.Random) -> Workflow:
        """The workflow with exactly max(1, ⌈V · severity⌉) steps reworded; count and edges stay.

        Every known phrase of such a step is replaced, the first letter's case kept, but for what stands in
        quotes. A step without any gets an introduction.

        Raises:
            WorkflowError: "not_degradable" also if too few steps are in English.
        """
        arranged, touched = arranged_with(given, severity, left=0)
        order = rng.sample(range(len(arranged.steps)), len(arranged.steps))
        changed: dict[int, str] = {}
        for index in order:
            if len(changed) == touched:
                break
            said = reworded(arranged.steps[index], rng)
            if said is not None:
                changed[index] = said
        if len(changed) < touched:
            detail = f"{len(changed)} steps can be reworded by rule, not {touched}"
            raise WorkflowError("not_degradable", detail)
        return Workflow(
            tuple(changed.get(index, step) for index, step in enumerate(arranged.steps)), arranged.edges
        )


def reworded(step: str, rng: random.Random) -> str | None:
    """A step in other words; None if it does not seem to be in English."""
    quoted = [match.span() for match in _QUOTED.finditer(step)]

    def replaced(match: re.Match[str]) -> str:
        if any(start <= match.start() < end for start, end in quoted):
            return match[0]
        phrase = match[0].lower()
        said = rng.choice(VERBS.get(phrase) or ANYWHERE[phrase])
        return said[:1].upper() + said[1:] if match[0][:1].isupper() else said

    said = _PHRASE.sub(replaced, step)
    if said != step:
        return said
    if ENGLISH.isdisjoint(_WORDS.findall(step.lower())):
        return None
    first = step.split(" ", 1)[0]
    return rng.choice(FRAMES).format(step[:1].lower() + step[1:] if first[1:].islower() else step)
