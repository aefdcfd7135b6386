"""Counts what each perturbation makes of prompts: `python -m tests.kit.variants`.

With the name of one, a number and a seed it draws so many of its variants from other public prompts, and
prints what they change, to be read by eye: `python -m tests.kit.variants general.spelling 100 4711`. Those of
`positional` are printed whole, all of them on so many prompts with contexts. The public prompts stay where
they are (`tests.kit.public`).
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
from evenkeel.shadow.perturbations.positional import POSITIONAL
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template import TemplateLearner, fixed_template
from tests.kit.prompts import EVERY
from tests.kit.public import composed_prompts, drawn_prompts, shared_prompts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.shadow.perturbations import Outcome, Perturbation

SEVERITY: Final = 0.13
_SHOWN: Final = 90
"""Characters of an unchanged stretch that are printed whole."""
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


def drawn(kind: Perturbation, number: int, seed: int) -> Iterator[str]:
    """A number of variants, each with a few words around its changes; at the end what was not applicable."""
    prompts = list(drawn_prompts().items())
    random.Random(seed).shuffle(prompts)
    refused = Counter[str]()
    made = 0
    for name, messages in prompts:
        view = PromptView.parse(json.dumps({"messages": messages}).encode(), TemplateLearner().classifier(""))
        severity = SEVERITY if kind.graded else 1.0
        outcome = attempt(kind, view, severity, random.Random(f"{seed} {name}"))
        if not isinstance(outcome, PromptView):
            refused[outcome.reason if isinstance(outcome, NotApplicable) else "draft"] += 1
            continue
        made += 1
        yield f"{name}: {_changes(view.text, outcome.text)}"
        if made == number:
            break
    yield f"{made} made, not applicable: {dict(refused)}"


def moved(number: int, seed: int) -> Iterator[str]:
    """Every positional variant of so many prompts with contexts; at the end how many prompts have any."""
    made = applicable = 0
    for name, messages in composed_prompts(seed, number).items():
        view = PromptView.parse(json.dumps({"messages": messages}).encode(), TemplateLearner().classifier(""))
        variants: list[str] = []
        for kind in POSITIONAL:
            outcome = attempt(kind, view, 1.0, random.Random(f"{seed} {name}"))
            if isinstance(outcome, PromptView):
                lines = [line.strip() for line in outcome.text.splitlines() if line.strip()]
                variants.append(f"{name} {kind.name}: {'⏎'.join(map(_shortened, lines))}")
        made += len(variants)
        applicable += bool(variants)
        yield from variants
    yield f"{made} made of {applicable} prompts of {number}"


def _shortened(line: str) -> str:
    return line if len(line) < 45 else f"{line[:28]}…{line[-12:]}"


def _changes(before: str, after: str) -> str:
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    pieces: list[str] = []
    for tag, low, high, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        text = "".join(old[low:high])
        if tag != "equal":
            pieces.append(f"{{{text}→{''.join(new[start:end])}}}")
        else:
            pieces.append(text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]}…{text[-_SHOWN // 2 :]}")
    return "".join(pieces).replace("\n", "⏎")


if __name__ == "__main__":
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
    elif sys.argv[1:2] == ["positional"]:
        print(*moved(*map(int, sys.argv[2:])), sep="\n")
    elif sys.argv[1:]:
        (chosen,) = by_name(sys.argv[1:2])
        print(*drawn(chosen, *map(int, sys.argv[2:])), sep="\n")
    else:
        everywhere = public(), applications()
        for each in BUILTIN:
            print("|", each.name, *(f"| {counts(each, views)}" for views in everywhere), "|")
