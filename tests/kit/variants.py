"""Counts what each perturbation makes of prompts: `python -m tests.kit.variants`.

With the name of one it prints what its variants change in the public prompts, to be read by eye:
`python -m tests.kit.variants general.spelling`. The public prompts stay where they are (`tests.kit.public`).
"""

from __future__ import annotations

import difflib
import json
import random
import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.perturbations import BUILTIN, Draft, NotApplicable, attempt, by_name
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template import TemplateLearner, fixed_template
from tests.kit.prompts import EVERY
from tests.kit.public import shared_prompts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.shadow.perturbations import Outcome, Perturbation

SEVERITY: Final = 0.13
_TOKEN: Final = re.compile(r"\s+|\w+|[^\w\s]")


def public() -> dict[str, PromptView]:
    """Prompts of public data sets, by name, of whose templates nothing is known."""
    return {
        name: PromptView.parse(json.dumps({"messages": messages}).encode(), TemplateLearner().classifier(""))
        for name, messages in shared_prompts().items()
    }


def applications() -> dict[str, PromptView]:
    """The prompts of applications, cut by their templates."""
    return {
        str(number): PromptView.parse(prompt.body, fixed_template(prompt.layout.templates))
        for number, prompt in enumerate(EVERY)
    }


def _outcomes(kind: Perturbation, views: dict[str, PromptView]) -> Iterator[tuple[str, PromptView, Outcome]]:
    for number, (name, view) in enumerate(views.items()):
        severity = SEVERITY if kind.graded else 1.0
        yield name, view, attempt(kind, view, severity, random.Random(number))


def counts(kind: Perturbation, views: dict[str, PromptView]) -> str:
    """How many variants there are, how many equal the original, and how many drafts."""
    found = Counter[str]()
    for _, view, outcome in _outcomes(kind, views):
        if isinstance(outcome, PromptView):
            found["made"] += 1
            found["no-op"] += outcome.body() == view.body()
        else:
            found["draft" if isinstance(outcome, Draft) else "not applicable"] += 1
    return " | ".join(str(found[name]) for name in ("made", "no-op", "draft", "not applicable"))


def changed(kind: Perturbation, views: dict[str, PromptView]) -> Iterator[str]:
    """What each variant changes, with a few words around it."""
    for name, view, outcome in _outcomes(kind, views):
        if isinstance(outcome, NotApplicable):
            yield f"{name}: {outcome.reason}"
        elif isinstance(outcome, PromptView):
            old, new = _TOKEN.findall(view.text), _TOKEN.findall(outcome.text)
            steps = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            places = [
                f"…{''.join(old[max(0, low - 6) : low])}"
                f"{{{''.join(old[low:high])}→{''.join(new[start:end])}}}"
                for tag, low, high, start, end in steps
                if tag != "equal"
            ]
            yield f"{name}: {' '.join(places)}".replace("\n", "⏎")


if __name__ == "__main__":
    if sys.argv[1:]:
        for chosen in by_name(sys.argv[1:]):
            print(*changed(chosen, public()), sep="\n")
    else:
        everywhere = public(), applications()
        for each in BUILTIN:
            print("|", each.name, *(f"| {counts(each, views)}" for views in everywhere), "|")
