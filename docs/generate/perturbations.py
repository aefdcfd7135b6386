"""Blocks of `docs/reference/perturbations.md`: what each perturbation is, with an example."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any, Final

from evenkeel.cli.perturb import asked_of_rewriter, lines_of, record, try_all
from evenkeel.core.protected_spans import RULES
from evenkeel.shadow.perturbations import BUILTIN
from evenkeel.shadow.perturbations.contrast import CONTRASTS
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template import fixed_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.rewordings import Category
    from evenkeel.shadow.perturbations import Perturbation

_MOST_NAMES: Final = 12
_SEVERITY: Final = 0.13
_SEED: Final = "example"
_MESSAGE: Final = """\
Hello, the nightly export to https://reports.example.com fails since Tuesday, and nobody changed anything.
It stops after about 4,200 rows with "disk quota exceeded"; ticket INC-48213 has the log.
Could you summarise the problem, please?"""
_TEMPLATE: Final = (
    "You answer questions of employees from the documents you are given.",
    """\
Documents:

[1] {first}

[2] {second}

Question: {question}

Return a JSON object:
{{
  "answer": "<one or two sentences>",
  "sources": ["<number of a document>"]
}}""",
)
_FIELDS: Final = {
    "first": "Working from abroad is possible for 20 days a year.",
    "second": "Days abroad are entered in the time sheet with the code HO-X.",
    "question": "How many days may I work from abroad?",
}


def blocks(_names: Sequence[str]) -> dict[str, str]:
    """Return `rules` that protect spans, the prompts of the `examples`, and all perturbations (`kinds`)."""
    message = PromptView.parse(_body(_MESSAGE))
    system, user = _TEMPLATE
    application = PromptView.parse(
        _body(user.format(**_FIELDS), system),
        fixed_template((system, user.replace("{{", "{").replace("}}", "}"))),
    )
    parts: list[str] = []
    categories: dict[Category, list[Perturbation]] = {}
    for kind in (*BUILTIN, *CONTRASTS):
        categories.setdefault(kind.rewording.category, []).append(kind)
    for category, members in categories.items():
        parts.append(f"\n## {category.name.capitalize()}\n\n{category.description}\n")
        prompt = application if category.on_template else message
        if category.asks_for in {"language", "languages"}:  # they differ in a language only
            parts.append(_family(category.name, members, prompt))
        else:
            parts += [_section(kind, prompt) for kind in members]
    examples = (
        f"Seeds are fixed, and the severity is {_SEVERITY} where there are degrees. "
        "Most examples change this message of a user:\n\n"
        f"```text\n{message.input_text}\n```\n\n"
        "Those of template perturbations change a prompt of two messages whose template is known:\n\n"
        "```text\n" + "\n".join(lines_of(application)) + "\n```\n"
    )
    rules = ", ".join(rule.replace("_", " ") for rule in RULES)
    return {"rules": f"{rules}.", "examples": examples, "kinds": "".join(parts)}


def _body(user: str, system: str = "") -> bytes:
    messages = [{"role": "system", "content": system}] if system else []
    return json.dumps({"messages": [*messages, {"role": "user", "content": user}]}).encode()


def _section(kind: Perturbation, prompt: PromptView) -> str:
    parts = getattr(kind, "parts", ())
    # A compound is told by its parts, everything else by its class.
    told = f"In this order: {', '.join(f'`{part.name}`' for part in parts)}." if parts else _explanation(kind)
    needs = f" Requires: {', '.join(sorted(kind.requires))}." if kind.requires else ""
    return f"\n### {kind.name}\n\n{told}{needs}\n\n{_example(kind, prompt)}"


def _family(category: str, kinds: list[Perturbation], prompt: PromptView) -> str:
    named = [f"`{kind.name}`" for kind in kinds]
    names = ", ".join(named) if len(kinds) <= _MOST_NAMES else f"from {named[0]} to {named[-1]}"
    shown = next((kind for kind in kinds if "rewriter" in kind.requires), kinds[0])
    return (
        f"\n### {category}.*\n\n{_explanation(shown)}\n\n{len(kinds)} perturbations: {names}.\n\n"
        f"`{shown.name}`: {_example(shown, prompt)}"
    )


def _explanation(kind: Perturbation) -> str:
    """Return the description of a perturbation, or else its class's docstring, as paragraphs."""
    paragraphs = (kind.rewording.description or inspect.getdoc(type(kind)) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _example(kind: Perturbation, prompt: PromptView) -> str:
    (outcome,) = record(prompt, try_all(prompt, [kind], _SEVERITY, _SEED))["perturbations"]
    match outcome["status"]:
        case "needs_rewriter":
            return _asked(outcome, prompt)
        case "not_applicable":
            return f"Not applicable to the example: {outcome['detail']}.\n"
        case "unchanged":
            return "The example is sent again as it is.\n"
    lines = [line.rstrip() for line in outcome["diff"]]
    return "```diff\n" + "\n".join(lines) + "\n```\n"


def _asked(outcome: dict[str, Any], prompt: PromptView) -> str:
    asked = f"On the example it {asked_of_rewriter(outcome)}."
    texts = [task["text"] for task in outcome["tasks"]]
    if texts == [prompt.input_text]:
        return f"{asked} The text is the whole message.\n"
    return f"{asked}\n\n```text\n" + "\n\n".join(texts) + "\n```\n"
