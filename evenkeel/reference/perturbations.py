"""The reference page of the perturbations: what each is, an example, what was measured."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evenkeel.cli.perturb import asked_of_rewriter, changed_members, diff_lines, lines_of, try_all
from evenkeel.core.protected_spans import RULES
from evenkeel.shadow.perturbations import BUILTIN
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template import fixed_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.cli.perturb import Tried
    from evenkeel.core.rewordings import Category
    from evenkeel.shadow.perturbations import Perturbation

_INTRODUCTION: Final = """\
# Perturbations

Written by `make docs` from `shadow/perturbations/`.

A perturbation changes how a question is put and not what it asks. There are two sorts:

- *Input perturbations* change what the user or the data says, as users do: slips of the keyboard, another
  tone, another language. They touch input only, never the application's instructions.
- *Template perturbations* change what the application says around it, as developers do: the order of the
  parts, the format asked for. They touch the template only, never the input's words.

Which text is template and which is input is learned from a route's traffic, or stated under `template` in
the [settings](settings.md); where nothing is known yet, what a user says is input. Earlier answers and
results of tools are never changed.

The *severity* of a kind that has degrees is the expected share of the eligible places that is changed; a
variant always differs from the original. Kinds without degrees are all or nothing. Every choice follows from
the exchange's id, so a trial can be repeated byte for byte. A kind that finds nothing to act on in a prompt
is counted as not applicable, with a reason.

`evenkeel perturb FILE` shows all this for a prompt of yours; nothing is sent anywhere.

## Your own

A package of yours offers perturbations by an entry point of the group `evenkeel.perturbations`, which names
an object like those in `shadow/perturbations/`, or a list of them:

```toml
[project.entry-points."evenkeel.perturbations"]
acme = "acme_perturbations:SHOUT"
```

Routes then choose them by name, as any other (`perturbations: [general.casing, acme.shout]`). The object's
`rewording` says what the console and reports call it, and where they list it. A package that cannot be
loaded, or uses a name that is taken, is left out with an error in the log.

## What is protected

These spans of the input stand in every variant as they were, found by rules of these names: {rules}.
Months, units, ordinals and quotation marks are those of English, German, Spanish, French, Italian, Dutch,
Portuguese and Japanese.
"""

_MOST_NAMES: Final = 12
_SEVERITY: Final = 0.3
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


def perturbations_page(figures: dict[str, Any] | None = None, kinds: Sequence[Perturbation] = BUILTIN) -> str:
    """`docs/perturbations.md`.

    Args:
        figures: What `benchmarks/perturbations.py` has measured; None reads it from the docs of the checkout.
        kinds: What to describe, category by category.
    """
    figures = measured(Path(__file__).resolve().parents[2] / "docs") if figures is None else figures
    message = PromptView.parse(_body(_MESSAGE))
    system, user = _TEMPLATE
    application = PromptView.parse(
        _body(user.format(**_FIELDS), system),
        fixed_template((system, user.replace("{{", "{").replace("}}", "}"))),
    )
    pages = [_INTRODUCTION.format(rules=", ".join(rule.replace("_", " ") for rule in RULES))]
    pages.append(_examples(message, application))
    categories: dict[Category, list[Perturbation]] = {}
    for kind in kinds:
        categories.setdefault(kind.rewording.category, []).append(kind)
    for category, members in categories.items():
        pages.append(f"\n## {category.name.capitalize()}\n\n{category.description}\n")
        prompt = application if category.on_template else message
        if category.asks_for in {"language", "languages"}:  # they differ in a language only
            pages.append(_family(category.name, members, prompt))
        else:
            pages += [_section(kind, prompt) for kind in members]
    return "".join(pages) + _table(figures)


def measured(folder: Path) -> dict[str, Any]:
    """What was measured last, {} if nothing was."""
    try:
        found: dict[str, Any] = json.loads((folder / "perturbations-measured.json").read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return found


def _examples(message: PromptView, application: PromptView) -> str:
    parts = "\n".join(lines_of(application))
    return (
        f"\n## The examples\n\nSeeds are fixed, and the severity is {_SEVERITY} where there are degrees. Most"
        f" examples change this message of a user:\n\n```text\n{message.input_text}\n```\n"
        "\nThose of template perturbations change a prompt of two messages whose template is known:\n\n"
        f"```text\n{parts}\n```\n"
    )


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
        f"\n### {category}.*\n\n{_explanation(shown)}\n\n{len(kinds)} kinds: {names}.\n\n"
        f"`{shown.name}`: {_example(shown, prompt)}"
    )


def _explanation(kind: Perturbation) -> str:
    """Its description, or else its class's docstring, as paragraphs."""
    paragraphs = (kind.rewording.description or inspect.getdoc(type(kind)) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _example(kind: Perturbation, prompt: PromptView) -> str:
    (tried,) = try_all(prompt, [kind], _SEVERITY, _SEED)
    match tried.status:
        case "needs_rewriter":
            return _asked(tried, prompt)
        case "not_applicable":
            return f"Not applicable to the example: {tried.detail or tried.reason}.\n"
        case "unchanged":
            return "The example is sent again as it is.\n"
        case "changed":
            assert tried.variant is not None
            lines = [line.plain.rstrip() for line in diff_lines(lines_of(prompt), lines_of(tried.variant))]
            for key, (old, new) in changed_members(prompt, tried.variant).items():
                lines += [
                    f"{sign}{json.dumps(key)}: {json.dumps(value)}"
                    for sign, value in (("-", old), ("+", new))
                    if value is not None
                ]
            return "```diff\n" + "\n".join(lines) + "\n```\n"


def _asked(tried: Tried, prompt: PromptView) -> str:
    asked = f"On the example it {asked_of_rewriter(tried)}."
    texts = [task.text for task in tried.tasks]
    if texts == [prompt.input_text]:
        return f"{asked} The text is the whole message.\n"
    return f"{asked}\n\n```text\n" + "\n\n".join(texts) + "\n```\n"


_MEASURED: Final = """
## Measured

`{command}`, on public data: 80 questions of two turns in eight languages,
500 tickets, 20 support chats, 750 phrasings of questions, and {applications} prompts in the layouts of
applications. Each kind is applied once to each prompt, at severity {severity} where it has degrees. The
shares are those of the prompts with a variant, or with a draft for the rewriter; *kept* is the share of
variants in which every protected span stands as it was. Time is that of the processor; µs/KB is the median
over all prompts, and *4 KB* median and 95th percentile of {four_kb_prompts} prompts of that size, each the
quickest of three passes. The questions' first figure is that of seven languages, the second that of Japanese.

| kind | questions (ja) | tickets | chats | phrasings | applications | kept | µs/KB | 4 KB |
|---|---|---|---|---|---|---|---|---|
"""


def _table(figures: dict[str, Any]) -> str:
    if not figures:
        return ""
    kinds = figures["kinds"]
    lines = [
        _MEASURED.format(applications=kinds[0]["corpora"]["applications"]["prompts"], **figures),
    ]
    for kind in kinds:
        corpora = kind["corpora"]
        spoken = [one for name, one in corpora.items() if name.startswith("questions_") and name[-2:] != "ja"]
        shares = [f"{_share(spoken)} ({_share([corpora['questions_ja']])})" if spoken else "–"] + [
            _share([corpora[name]]) if name in corpora else "–"
            for name in ("tickets", "chat_logs", "phrasings", "applications")
        ]
        variants = sum(one["variants"] for one in corpora.values())
        kept = sum(one["kept"] for one in corpora.values())
        large = kind["four_kb_median_ms"]
        cells = [
            f"`{kind['name']}`",
            *shares,
            f"{kept / variants:.1%}" if variants else "–",
            f"{kind['median_us_per_kb']:.0f}",
            "–" if large is None else f"{large:.2f} / {kind['four_kb_p95_ms']:.2f} ms",
        ]
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def _share(corpora: list[dict[str, Any]]) -> str:
    prompts = sum(one["prompts"] for one in corpora)
    if not prompts:
        return "–"
    return f"{sum(one['variants'] + one['drafts'] for one in corpora) / prompts:.0%}"
