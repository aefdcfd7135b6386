"""What came of the perturbations, for people: coloured in a terminal, a plain diff elsewhere."""

from __future__ import annotations

import difflib
import json
import re
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from evenkeel.cli.perturbing.trying import changed_members, kept_spans, lines_of, statuses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from evenkeel.cli.perturbing.trying import Kept, Tried
    from evenkeel.shadow.prompt import PromptView

_CONTEXT_LINES: Final = 1
_MOST_SPANS: Final = 40
"""Shown at most; `--json` has all."""
_MOST_CHARACTERS: Final = 70
_WORDS: Final = re.compile(r"\s+|\w+|[^\w\s]")
_STYLES: Final = {"-": "red", "+": "green"}


def show(view: PromptView, tried: Sequence[Tried], console: Console) -> None:
    """Print what was read, what is protected, a diff for each variant, and why others don't apply."""
    _prompt(view, console)
    _protected(kept_spans(view), console)
    for one in statuses(tried, "changed"):
        _changed(view, one, console)
    _listed(
        "Sent again as it is",
        [(one.name, "shows the endpoint's own noise") for one in statuses(tried, "unchanged")],
        console,
    )
    _listed(
        "Needs a rewriter",
        [(one.name, asked_of_rewriter(one)) for one in statuses(tried, "needs_rewriter")],
        console,
    )
    _listed(
        "Not applicable",
        [(one.name, f"{one.reason}: {one.detail}" if one.detail else one.reason)
         for one in statuses(tried, "not_applicable")],
        console,
    )  # fmt: skip


def _say(console: Console, *pieces: Text | str) -> None:
    # As it is: no markup, no wrapping, so that a diff stays one line a line wherever it goes.
    console.print(Text.assemble(*pieces), soft_wrap=True, markup=False, highlight=False)


def _heading(console: Console, text: str) -> None:
    _say(console)
    _say(console, Text(text, style="bold"))


def _prompt(view: PromptView, console: Console) -> None:
    _say(console, Text(f"Prompt ({view.api})", style="bold"))
    for one in view.segments:
        title = one.kind if one.type == "text" else f"{one.kind}, {one.type.replace('_', ' ')}"
        _say(console, f"  {one.role:<9} ", Text(f"{title:<32}", style="cyan"), f" {_short(one.text)}")


def _protected(kept: Sequence[Kept], console: Console) -> None:
    if not kept:
        return
    _heading(console, f"Protected in the input: {len(kept)} spans")
    shown = kept[:_MOST_SPANS]
    for rule, spans in groupby(sorted(shown, key=lambda one: one.span.rule), key=lambda one: one.span.rule):
        texts = "  ".join(_short(one.text) for one in spans)
        _say(console, "  ", Text(f"{rule.replace('_', ' '):<12}", style="cyan"), f" {texts}")
    if len(kept) > len(shown):
        _say(console, f"  … and {len(kept) - len(shown)} more; --json lists all")


def _changed(view: PromptView, tried: Tried, console: Console) -> None:
    assert tried.variant is not None
    _say(console)
    _say(console, Text(f"--- prompt\n+++ {_title(tried)}", style="bold"))
    before, after = lines_of(view), lines_of(tried.variant)
    for line in diff_lines(before, after):
        _say(console, line)
    for key, (old, new) in changed_members(view, tried.variant).items():
        for sign, value in (("-", old), ("+", new)):
            if value is not None:
                _say(console, Text(f'{sign}"{key}": {_json(value)}', style=_STYLES[sign]))


def _title(tried: Tried) -> str:
    wanted = tried.wanted
    asks = [] if wanted is None else [one for one in (wanted.format, wanted.language) if one]
    return f"{tried.name}  severity {tried.severity:g}" + (f", answer in {', '.join(asks)}" if asks else "")


def diff_lines(before: list[str], after: list[str]) -> Iterator[Text]:
    """Lines as `git diff` prints them, the changed words marked where there are colours."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT_LINES):
        yield Text(
            f"@@ -{group[0][1] + 1},{group[-1][2] - group[0][1]} +{group[0][3] + 1},"
            f"{group[-1][4] - group[0][3]} @@",
            style="cyan",
        )
        for tag, low, high, new_low, new_high in group:
            if tag == "equal":
                yield from (Text(f" {line}") for line in before[low:high])
            else:
                yield from _replaced(before[low:high], after[new_low:new_high])


def _replaced(old: list[str], new: list[str]) -> Iterator[Text]:
    if len(old) != len(new):
        yield from (Text(f"-{line}", style="red") for line in old)
        yield from (Text(f"+{line}", style="green") for line in new)
        return
    marked = [_marked(before, after) for before, after in zip(old, new, strict=True)]
    yield from (before for before, _ in marked)
    yield from (after for _, after in marked)


def _marked(old: str, new: str) -> tuple[Text, Text]:
    """A line before and after, with what differs in reverse, so that blanks can be seen."""
    left, right = _WORDS.findall(old), _WORDS.findall(new)
    before, after = Text("-", style="red"), Text("+", style="green")
    for tag, low, high, new_low, new_high in difflib.SequenceMatcher(
        None, left, right, autojunk=False
    ).get_opcodes():
        style = "" if tag == "equal" else "reverse"
        before.append("".join(left[low:high]), style)
        after.append("".join(right[new_low:new_high]), style)
    return before, after


def asked_of_rewriter(tried: Tried) -> str:
    """What a rewriter would be asked, in words; "" where nothing."""
    tasks = tried.tasks
    asks = dict.fromkeys(f"{one.kind} to {one.target}" if one.target else one.kind for one in tasks)
    texts = "1 text" if len(tasks) == 1 else f"{len(tasks)} texts"
    also = "; needs a judge that compares answers across languages" if "judge" in tried.requires else ""
    return f"would rewrite {texts} ({', '.join(asks)}){also}"


def _listed(title: str, lines: Sequence[tuple[str, str]], console: Console) -> None:
    if not lines:
        return
    _heading(console, title)
    alike: dict[tuple[str, str], list[str]] = {}
    for name, why in lines:
        alike.setdefault((name.partition(".")[0], why), []).append(name)
    # Kinds of one category with the same to say share a line: there are 80 pairs of languages.
    named = {
        names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more like it": why
        for (_, why), names in alike.items()
    }
    width = max(map(len, named))
    for name, why in named.items():
        _say(console, f"  {name:<{width}}  ", Text(why, style="dim"))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
