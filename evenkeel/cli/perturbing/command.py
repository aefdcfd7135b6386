"""The body of `evenkeel perturb`."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from evenkeel.cli.perturbing.page import show
from evenkeel.cli.perturbing.prompt import read_prompt
from evenkeel.cli.perturbing.record import record
from evenkeel.cli.perturbing.trying import try_all
from evenkeel.runtime import choices
from evenkeel.settings import SettingsError, load
from evenkeel.shadow.perturbations import BUILTIN, by_name
from evenkeel.shadow.prompt.template import TemplateLearner, fixed_template

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenkeel.settings import Route
    from evenkeel.shadow.perturbations import Perturbation
    from evenkeel.shadow.prompt import Api, Classifier

DEFAULT_SEVERITY = 0.3


@dataclass(frozen=True, slots=True)
class PerturbOptions:
    """What the command line says."""

    source: Path | None
    """None for standard input."""
    only: tuple[str, ...] = ()
    """Names, categories or patterns of kinds; none = all."""
    severity: float = DEFAULT_SEVERITY
    seed: str = "0"
    api: Api | None = None
    template: Path | None = None
    config: Path | None = None
    task: str | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class _Scope:
    """Which kinds, and how a prompt is cut."""

    kinds: tuple[Perturbation, ...]
    classify: Classifier


def run_perturb(options: PerturbOptions, console: Console | None = None) -> None:
    """Show what perturbations would do to a prompt.

    Args:
        options: What the command line says.
        console: Where to; None for standard output.

    Raises: SettingsError for what can't be read, chosen or found.
    """
    scope = _scope(options)
    where = str(options.source) if options.source else "standard input"
    view = read_prompt(_read(options.source), where, options.api, scope.classify)
    tried = try_all(view, scope.kinds, options.severity, options.seed)
    console = console or Console(highlight=False)
    if options.as_json:
        console.file.write(json.dumps(record(view, tried), indent=2) + "\n")
    else:
        show(view, tried, console)


def _scope(options: PerturbOptions) -> _Scope:
    known: Sequence[Perturbation] = BUILTIN
    asked: tuple[str, ...] = ()
    template: list[str] = []
    if options.config is not None:
        settings = load(options.config, {}, {})
        choices.check(settings, str(options.config))
        known = choices.perturbations(settings)
        route = _route(settings.routes, options)
        template, asked = route.template, tuple(route.perturbations)
    elif options.task is not None:
        raise SettingsError("--task chooses a route of a settings file; name the file with --config")
    if options.template is not None:
        template = [_read(options.template)]
    return _Scope(
        _kinds(options.only or asked, known),
        _stated(template) if template else TemplateLearner().classifier(""),
    )


def _route(routes: Sequence[Route], options: PerturbOptions) -> Route:
    if options.task is None:
        return routes[0]
    found = next((route for route in routes if route.task == options.task), None)
    if found is None:
        tasks = ", ".join(sorted({route.task for route in routes if route.task})) or "none"
        raise SettingsError(f"{options.config}: no route has the task {options.task!r}; there are: {tasks}")
    return found


def _kinds(patterns: tuple[str, ...], known: Sequence[Perturbation]) -> tuple[Perturbation, ...]:
    if not patterns:
        return tuple(known)
    try:
        return by_name(patterns, known)
    except ValueError as error:
        raise SettingsError(str(error)) from error


def _stated(template: list[str]) -> Classifier:
    try:
        return fixed_template(template)
    except ValueError as error:
        raise SettingsError(f"template: {error}") from error


def _read(source: Path | None) -> str:
    try:
        return sys.stdin.buffer.read().decode() if source is None else source.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{source}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        where = source or "standard input"
        raise SettingsError(f"{where}: is not UTF-8 at byte {error.start}; save it as UTF-8") from error
