"""`perturb`: shows what each perturbation would do to a prompt, for people and for programs."""

from __future__ import annotations

import asyncio
import difflib
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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
from evenkeel.core import rewordings
from evenkeel.core.figures import count, listing
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
    from collections.abc import Iterable, Mapping, Sequence

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
        tried = asyncio.run(written(tried, experiment_settings(options), max_usd))
    report = record(view, tried)
    if as_json:
        emit(report)
    else:
        show(report, Console(highlight=False))


# Severity of perturbations that have no degrees.
_ALL: Final = 1.0
# Members of a body that carry its text, which is compared as text.
_PROMPT_MEMBERS: Final = frozenset().union(*(api.prompt_members for api in APIS))


class PerturbationPreview(NamedTuple):
    """A perturbation and its result for a prompt."""

    kind: Perturbation
    severity: float
    seed: int
    outcome: Outcome


def try_all(
    view: PromptView, kinds: Iterable[Perturbation], severity: float, seed: str
) -> list[PerturbationPreview]:
    """Apply each kind to a prompt, as the worker would.

    Args:
        view: The prompt.
        kinds: Perturbations to apply.
        severity: Severity of those that have degrees; the others are applied at 1.
        seed: Stands for an exchange's id: the same seed gives the variants of that exchange.
    """
    previews = []
    for kind in kinds:
        own = severity if kind.graded else _ALL
        number = seed_for(seed, kind.name, own, kind.version)
        outcome = attempt(kind, view, own, random.Random(number))
        previews.append(PerturbationPreview(kind, own, number, outcome))
    return previews


class _RunCache(dict[str, bytes]):
    """A `Cache` for one run."""

    def put(self, key: str, body: bytes) -> None:
        self[key] = body


async def written(
    tried: Sequence[PerturbationPreview], settings: Settings, max_usd: float
) -> list[PerturbationPreview]:
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
            done.append(preview._replace(outcome=outcome))
    return done


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


def diff_of(before: PromptView, after: PromptView) -> list[str]:
    """Return what a variant changes: prompt lines as in `git diff`, then members of the body."""
    lines = difflib.unified_diff(lines_of(before), lines_of(after), n=_CONTEXT_LINES, lineterm="")
    # The first two name files.
    changed = list(lines)[2:]
    old, new = _members(before), _members(after)
    for key in dict.fromkeys((*old, *new)):
        for sign, members, other in (("-", old, new), ("+", new, old)):
            if key in members and members[key] != other.get(key):
                changed.append(f'{sign}"{key}": {members[key]}')
    return changed


_CONTEXT_LINES: Final = 1
_MOST_CHARACTERS: Final = 70
_STYLES: Final = {"-": "red", "+": "green", "@": "cyan"}


def record(view: PromptView, tried: Iterable[PerturbationPreview]) -> dict[str, Any]:
    """Return all that is shown, and the whole body of each variant, as values for JSON.

    Lone surrogates, which a body may hold, stay: write it with escapes.
    """
    segments = []
    for segment in view.segments:
        shown = {}
        for name in ("index", "role", "kind", "type", "source", "text"):
            shown[name] = getattr(segment, name)
        segments.append(shown)
    outcomes = [_outcome(view, preview) for preview in tried]
    return {"api": view.api.name, "segments": segments, "perturbations": outcomes}


def _outcome(view: PromptView, tried: PerturbationPreview) -> dict[str, Any]:
    kind = tried.kind
    outcome: dict[str, Any] = {
        "name": kind.name,
        "version": kind.version,
        "severity": tried.severity,
        "seed": tried.seed,
        "status": "changed",
        "requires": sorted(kind.requires),
        "wanted": {"format": kind.wanted.format, "language": kind.wanted.language},
    }
    match tried.outcome:
        case NotApplicable(reason, detail):
            detail = detail or rewordings.why_untried(reason)
            outcome |= {"status": "not_applicable", "reason": reason, "detail": detail}
        case Draft(tasks):
            outcome |= {"status": "needs_rewriter", "reason": "no_rewriter", "tasks": []}
            for task in tasks:
                outcome["tasks"].append({"kind": task.kind, "target": task.target, "text": task.text})
        case variant:
            if variant.body() == view.body():
                outcome["status"] = "unchanged"
            outcome |= {"diff": diff_of(view, variant), "body": variant.body().decode()}
    return outcome


def asked_of_rewriter(outcome: Mapping[str, Any]) -> str:
    """Describe the request to a rewriter, by the record of a perturbation that needs one."""
    asks = {}
    for task in outcome["tasks"]:
        asks[f"{task['kind']} to {task['target']}" if task["target"] else task["kind"]] = True
    also = "; needs a judge that compares answers across languages" if "judge" in outcome["requires"] else ""
    return f"would rewrite {count(len(outcome['tasks']), 'text')} ({', '.join(asks)}){also}"


def show(report: Mapping[str, Any], console: Console) -> None:
    """Print a record: what was read, a diff for each variant, and why the other perturbations don't apply."""
    _say(console, Text(f"Prompt ({report['api']})", style="bold"))
    for segment in report["segments"]:
        of_type = "" if segment["type"] == "text" else f", {segment['type'].replace('_', ' ')}"
        title = Text(f"{segment['kind'] + of_type:<32}", style="cyan")
        _say(console, f"  {segment['role']:<9} ", title, f" {_short(segment['text'])}")
    # Perturbations of a category with the same reason share a line: there are 80 language pairs.
    listed: dict[str, dict[tuple[str, str], list[str]]] = {
        "Sent again as it is": {},
        "Needs a rewriter": {},
        "Not applicable": {},
    }
    for found in report["perturbations"]:
        match found["status"]:
            case "unchanged":
                heading, why = "Sent again as it is", "shows the endpoint's own noise"
            case "needs_rewriter":
                heading, why = "Needs a rewriter", asked_of_rewriter(found)
            case "not_applicable":
                heading = "Not applicable"
                why = ": ".join(filter(None, (found["reason"], found["detail"])))
            case _:
                _changed(found, console)
                continue
        category = rewordings.category(found["name"]).name
        listed[heading].setdefault((category, why), []).append(found["name"])
    for heading, alike in listed.items():
        _listed(heading, alike, console)


def _say(console: Console, *pieces: Text | str) -> None:
    # Without markup and wrapping, so that each line of a diff stays a line.
    line = Text.assemble(*pieces)
    line.plain = visible(line.plain)
    console.print(line, soft_wrap=True, markup=False, highlight=False)


def _changed(found: Mapping[str, Any], console: Console) -> None:
    asks = ", ".join(filter(None, found["wanted"].values()))
    answer = f", answer in {asks}" if asks else ""
    title = f"--- prompt\n+++ {found['name']}  severity {found['severity']:g}{answer}"
    _say(console)
    _say(console, Text(title, style="bold"))
    for line in found["diff"]:
        _say(console, Text(line, style=_STYLES.get(line[:1], "")))


def _listed(heading: str, alike: Mapping[tuple[str, str], Sequence[str]], console: Console) -> None:
    named = {}
    for (_, why), names in alike.items():
        named[names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more like it"] = why
    if named:
        _say(console)
        _say(console, Text(heading, style="bold"))
    width = max(map(len, named), default=0)
    for name, why in named.items():
        _say(console, f"  {name:<{width}}  ", Text(why, style="dim"))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"


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
