"""`perturb`: shows what each perturbation would do to a prompt, for people and for programs."""

from __future__ import annotations

import asyncio
import difflib
import json
import random
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from rich.console import Console
from rich.text import Text

from evenkeel.cli.options import (
    NumberRange,
    emit,
    experiment_settings,
    file_option,
    json_option,
    model_options,
)
from evenkeel.core.figures import listing
from evenkeel.core.text import visible
from evenkeel.release.check.prompts import read_prompt
from evenkeel.release.check.rounds import finished
from evenkeel.release.kit.arguments import read_text
from evenkeel.release.kit.cost import Costs, RewriterBudget
from evenkeel.runtime import choices
from evenkeel.runtime.replays import endpoint, prices
from evenkeel.settings import SettingsError, load
from evenkeel.shadow.perturbations import (
    Draft,
    NotApplicable,
    attempt,
    by_name,
    catalogue,
    seed_for,
)
from evenkeel.shadow.prompt import APIS
from evenkeel.shadow.prompt.segments import TYPED
from evenkeel.shadow.prompt.template import TemplateLearner, fixed_template
from evenkeel.shadow.rewriter import Rewriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evenkeel.settings import Route, Settings
    from evenkeel.shadow.perturbations import Outcome, Perturbation
    from evenkeel.shadow.prompt import InputSource, PromptView


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help='Perturbations to apply, such as "general.*" or "format"; repeatable.  [default: all]',
)
@click.option(
    "--severity",
    type=NumberRange(0, 1),
    default=0.07,
    help="Share of places to change: 0.07 = typing on a desktop, 0.13 = on a phone; 0.3 and above = stress.",
)
@click.option(
    "--inputs",
    multiple=True,
    type=click.Choice(["typed", "documents", "tool_results", "instructions"]),
    help="Parts of the input to change; repeatable.  [default: typed]",
)
@click.option("--seed", default="0", metavar="TEXT", help="Seed; use an exchange's id to get its variants.")
@file_option(
    "--template", "Prompt template with {placeholders} for inputs.  [default: detected from message roles]"
)
@file_option(
    "--config",
    "Settings file; uses perturbations, inputs and template of its first route, or of --route.",
)
@click.option("--route", "route_name", metavar="NAME", help="Route to use from the settings file.")
@model_options("rewriter", "Model to call for paraphrases, translations and the parts of the prompt.")
@click.option(
    "--max-usd",
    type=NumberRange(0),
    default=0.5,
    metavar="USD",
    help="Most that the rewriter's calls may cost.",
)
@json_option
def perturb(
    file: Path,
    only: tuple[str, ...],
    severity: float,
    inputs: tuple[InputSource, ...],
    seed: str,
    template: Path | None,
    config: Path | None,
    route_name: str | None,
    *,
    max_usd: float,
    as_json: bool,
    **rewriter: str | None,
) -> None:
    """Show what each perturbation does to the prompt in FILE, or on standard input (-).

    FILE holds a prompt as `evenkeel check` reads it: plain text, messages, or a request body. Shows how it
    splits into template and input, each variant as a diff, which perturbations need a rewriter, and why the
    others do not apply. No calls are made, unless --rewriter-model names a model that writes the variants
    that need one.

    \b
      evenkeel perturb request.json
      evenkeel perturb request.json --only general --severity 0.5
      evenkeel perturb request.json --template prompt.txt --only "positional.*" --only format.json
      evenkeel perturb request.json --only general.paraphrase --rewriter-model gpt-6-luna
      echo "Why does my printer stop?" | evenkeel perturb - --json

    Exit code: 0 done, 2 invalid file or options.
    """
    settings = _settings(config)
    route = _route(settings, route_name)
    writes = rewriter["rewriter"] is not None
    kinds: Sequence[Perturbation] = (
        choices.perturbations(settings) if settings else catalogue(rewriter=writes)
    )
    stated = [read_text(template)] if template else route.template if route else []
    patterns = only or (route.trials.perturbations if route else ())
    try:
        kinds = by_name(patterns, kinds) if patterns else kinds
    except ValueError as error:
        raise SettingsError(str(error)) from error
    try:
        classify = fixed_template(stated) if stated else TemplateLearner().classifier("")
    except ValueError as error:
        raise SettingsError(f"{template or 'template'}: {error}") from error
    view = read_prompt(read_text(file), "standard input" if str(file) == "-" else str(file))
    view = view.classified(classify).changing(inputs or (route.trials.inputs if route else TYPED))
    tried = try_all(view, kinds, severity, seed)
    if writes:
        options = {"config": config, **rewriter}
        tried = asyncio.run(written(view, tried, experiment_settings(options), max_usd))
    if as_json:
        emit(record(view, tried))
    else:
        show(view, tried, Console(highlight=False))


Status = Literal["changed", "unchanged", "not_applicable", "needs_rewriter"]

# Severity of perturbations that have no degrees.
_ALL: Final = 1.0
# Members of a body that carry its text, which is compared as text.
_PROMPT_MEMBERS: Final = frozenset().union(*(api.prompt_members for api in APIS))


@dataclass(frozen=True, slots=True)
class PerturbationPreview:
    """A perturbation and its result for a prompt."""

    kind: Perturbation
    severity: float
    seed: int
    status: Status
    outcome: Outcome

    @property
    def why(self) -> str:
        """Reason why it does not apply, in snake case and as a sentence; "" if it does."""
        if not isinstance(self.outcome, NotApplicable):
            return ""
        return ": ".join(filter(None, (self.outcome.reason, self.outcome.detail)))


def try_all(
    view: PromptView, kinds: Iterable[Perturbation], severity: float, seed: str
) -> tuple[PerturbationPreview, ...]:
    """Apply each kind to a prompt, as the worker would.

    Args:
        view: The prompt.
        kinds: Perturbations to apply.
        severity: Severity of those that have degrees; the others are applied at 1.
        seed: Stands for an exchange's id: the same seed gives the variants of that exchange.
    """
    previews: list[PerturbationPreview] = []
    for kind in kinds:
        previews.append(_try(view, kind, severity if kind.graded else _ALL, seed))
    return tuple(previews)


def _try(view: PromptView, kind: Perturbation, severity: float, seed: str) -> PerturbationPreview:
    number = seed_for(seed, kind.name, severity, kind.version)
    outcome = attempt(kind, view, severity, random.Random(number))
    return PerturbationPreview(kind, severity, number, _status(outcome, view), outcome)


def _status(outcome: Outcome, view: PromptView) -> Status:
    if isinstance(outcome, NotApplicable):
        return "not_applicable"
    if isinstance(outcome, Draft):
        return "needs_rewriter"
    return "unchanged" if outcome.body() == view.body() else "changed"


class _RunCache:
    """A `Cache` for one run."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        return self._bodies.get(key)

    def put(self, key: str, body: bytes) -> None:
        self._bodies[key] = body


async def written(
    view: PromptView, tried: Sequence[PerturbationPreview], settings: Settings, max_usd: float
) -> tuple[PerturbationPreview, ...]:
    """Have the rewriter of the settings write what the variants wait for."""
    chosen = settings.replays.rewriter
    assert chosen is not None  # its model is named
    costs, budget = prices(settings), RewriterBudget(Costs(max_usd))
    if costs.unknown(chosen.model):
        click.echo(
            f"{chosen.model} has no known price, so --max-usd does not count its calls; set it under "
            "budget.prices in the file of --config",
            err=True,
        )
    done: list[PerturbationPreview] = []
    async with Rewriter(endpoint(chosen, costs), cache=_RunCache()) as rewriter:
        for preview in tried:
            outcome = await finished(preview.outcome, lambda task: rewriter.rewrite(task, budget))
            done.append(replace(preview, status=_status(outcome, view), outcome=outcome))
    return tuple(done)


def lines_of(view: PromptView) -> list[str]:
    """Return the prompt as lines for a diff: each message under its role."""
    lines: list[str] = []
    for message in view.messages:
        lines += [f"[{message.role}]", *message.text.split("\n")]
    return lines


def _members(view: PromptView) -> dict[str, str]:
    """Return the members of the body besides those with the prompt's text, as JSON."""
    read = json.loads(view.body().decode().removeprefix("\ufeff"))
    members = {}
    for key, value in read.items():
        # The prompt's own members are shown as text, above these.
        if key not in _PROMPT_MEMBERS:
            members[key] = json.dumps(value, ensure_ascii=False)
    return members


def diff_of(before: PromptView, after: PromptView) -> Iterator[Text]:
    """Yield what a variant changes: prompt lines as in `git diff`, then members of the body."""
    yield from diff_lines(lines_of(before), lines_of(after))
    old, new = _members(before), _members(after)
    for key in dict.fromkeys((*old, *new)):
        for sign, members, other in (("-", old, new), ("+", new, old)):
            if key in members and members[key] != other.get(key):
                yield Text(f'{sign}"{key}": {members[key]}', style=_STYLES[sign])


_CONTEXT_LINES: Final = 1
_MOST_CHARACTERS: Final = 70
_STYLES: Final = {"-": "red", "+": "green", "@": "cyan"}


def show(view: PromptView, tried: Sequence[PerturbationPreview], console: Console) -> None:
    """Print what was read, a diff for each variant, and why the other perturbations don't apply."""
    _prompt(view, console)
    unchanged: list[tuple[PerturbationPreview, str]] = []
    waiting: list[tuple[PerturbationPreview, str]] = []
    inapplicable: list[tuple[PerturbationPreview, str]] = []
    for preview in tried:
        match preview.outcome:
            case NotApplicable():
                inapplicable.append((preview, preview.why))
            case Draft():
                waiting.append((preview, asked_of_rewriter(preview)))
            case variant if preview.status == "changed":
                _say(console)
                _say(console, Text(f"--- prompt\n+++ {_title(preview)}", style="bold"))
                for line in diff_of(view, variant):
                    _say(console, line)
            case _:
                unchanged.append((preview, "shows the endpoint's own noise"))
    _listed("Sent again as it is", unchanged, console)
    _listed("Needs a rewriter", waiting, console)
    _listed("Not applicable", inapplicable, console)


def _say(console: Console, *pieces: Text | str) -> None:
    # Without markup and wrapping, so that each line of a diff stays a line.
    line = Text.assemble(*pieces)
    line.plain = visible(line.plain)
    console.print(line, soft_wrap=True, markup=False, highlight=False)


def _prompt(view: PromptView, console: Console) -> None:
    _say(console, Text(f"Prompt ({view.api.name})", style="bold"))
    for segment in view.segments:
        title = (
            segment.kind if segment.type == "text" else f"{segment.kind}, {segment.type.replace('_', ' ')}"
        )
        _say(console, f"  {segment.role:<9} ", Text(f"{title:<32}", style="cyan"), f" {_short(segment.text)}")


def _title(tried: PerturbationPreview) -> str:
    wanted = tried.kind.wanted
    asks = []
    for form in (wanted.format, wanted.language):
        if form:
            asks.append(form)
    answer = f", answer in {', '.join(asks)}" if asks else ""
    return f"{tried.kind.name}  severity {tried.severity:g}{answer}"


def diff_lines(before: list[str], after: list[str]) -> Iterator[Text]:
    """Yield lines as `git diff` prints them."""
    lines = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    # The first two name files.
    for line in islice(lines, 2, None):
        yield Text(line, style=_STYLES.get(line[0], ""))


def asked_of_rewriter(tried: PerturbationPreview) -> str:
    """Describe the request to a rewriter; "" if there is none."""
    tasks = tried.outcome.tasks if isinstance(tried.outcome, Draft) else ()
    asks = dict.fromkeys(f"{task.kind} to {task.target}" if task.target else task.kind for task in tasks)
    texts = "1 text" if len(tasks) == 1 else f"{len(tasks)} texts"
    also = "; needs a judge that compares answers across languages" if "judge" in tried.kind.requires else ""
    return f"would rewrite {texts} ({', '.join(asks)}){also}"


def _listed(heading: str, lines: Sequence[tuple[PerturbationPreview, str]], console: Console) -> None:
    if not lines:
        return
    _say(console)
    _say(console, Text(heading, style="bold"))
    alike: dict[tuple[str, str], list[str]] = {}
    for tried, why in lines:
        alike.setdefault((tried.kind.rewording.category.name, why), []).append(tried.kind.name)
    # Perturbations of a category with the same reason share a line: there are 80 language pairs.
    named: dict[str, str] = {}
    for (_, why), names in alike.items():
        title = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more like it"
        named[title] = why
    width = max(map(len, named))
    for name, why in named.items():
        _say(console, f"  {name:<{width}}  ", Text(why, style="dim"))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"


def record(view: PromptView, tried: Sequence[PerturbationPreview]) -> dict[str, Any]:
    """Return everything that the page shows, and the whole body of each variant, as values for JSON.

    Lone surrogates, which a body may hold, stay: write it with escapes.
    """
    segments: list[dict[str, Any]] = []
    for segment in view.segments:
        segments.append(
            {
                "index": segment.index,
                "role": segment.role,
                "kind": segment.kind,
                "type": segment.type,
                "source": segment.source,
                "text": segment.text,
            }
        )
    outcomes = [_outcome(view, preview) for preview in tried]
    return {"api": view.api.name, "segments": segments, "perturbations": outcomes}


def _outcome(view: PromptView, tried: PerturbationPreview) -> dict[str, Any]:
    kind = tried.kind
    outcome: dict[str, Any] = {
        "name": kind.name,
        "version": kind.version,
        "severity": tried.severity,
        "seed": tried.seed,
        "status": tried.status,
        "requires": sorted(kind.requires),
        "wanted": {"format": kind.wanted.format, "language": kind.wanted.language},
    }
    match tried.outcome:
        case NotApplicable(reason, detail):
            outcome |= {"reason": reason, "detail": detail}
        case Draft(tasks):
            outcome["reason"] = "no_rewriter"
            outcome["tasks"] = []
            for task in tasks:
                outcome["tasks"].append({"kind": task.kind, "target": task.target, "text": task.text})
        case variant:
            outcome["diff"] = [line.plain for line in diff_of(view, variant)]
            outcome["body"] = variant.body().decode()
    return outcome


def _settings(config: Path | None) -> Settings | None:
    if config is None:
        return None
    settings = load(config, {}, {}, forwards=False)
    choices.check(settings, str(config))
    return settings


def _route(settings: Settings | None, name: str | None) -> Route | None:
    """Return the route of the settings file that supplies perturbations and template."""
    if settings is None:
        if name is not None:
            raise SettingsError("--route: names a route of the settings file; name that with --config")
        return None
    for route in settings.routes:
        if name in (None, route.name):
            return route
    names = listing([route.name for route in settings.routes])
    raise SettingsError(f"--route: there is no route {name!r}; there are {names}")
