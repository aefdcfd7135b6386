"""The gate run by a program, as the pytest plugin does: nobody is asked, and a verdict is remembered."""

from __future__ import annotations

import hashlib
import io
import json
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from rich.console import Console

from evenkeel import __version__
from evenkeel.cli.gate import Outputs, gate, options_of
from evenkeel.monitor.detect.gate import Verdict
from evenkeel.release.calibration.calibration import calibration_to_yaml
from evenkeel.release.gate.clusters import clusters
from evenkeel.release.gate.reports import (
    as_json,
    as_junit,
    document,
    effort,
    goldens_asked,
    headline,
)
from evenkeel.release.gate.run import run_gate, shuffled
from evenkeel.release.gate.sides import Unasked, tasks
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.confirmation import NotConfirmedError
from evenkeel.release.kit.renderings import markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    import pytest

    from evenkeel.cli.gate import AnyPath
    from evenkeel.release.gate.run import GateOptions
    from evenkeel.release.gate.sides import Task


_NOT_KEYWORDS: Final = frozenset({"files", "yes", "plan", "noise", "as_json"})
"""Parameters of the command that make no sense in a test."""


class Wanted(NamedTuple):
    """A run, and the files to write."""

    options: GateOptions
    outputs: Outputs


def wanted_run(files: Iterable[AnyPath], keywords: Mapping[str, Any], folder: Path) -> Wanted:
    """A run as keywords say.

    Args:
        files: Goldens.
        keywords: Those of `GateKeywords`; one that is None counts as not given.
        folder: Where relative paths start.

    Raises: TypeError for a name that is no option; UserError in one line for a value or a file that
        cannot be used.
    """
    context = gate.make_context("gate", [])
    options = {option.name: option for option in gate.params if isinstance(option, click.Option)}
    given = {name: value for name, value in context.params.items() if name not in _NOT_KEYWORDS}
    for name, value in keywords.items():
        if name not in given:
            close = get_close_matches(name, given, 1)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise TypeError(f"the gate has no option {name!r}{meant}")
        if value is not None:
            given[name] = _read(options[name], value, context, folder)
    files_argument = next(param for param in gate.params if param.name == "files")
    found = tuple(_read(files_argument, file, context, folder) for file in files)
    outputs = Outputs.of(given)
    return Wanted(options_of(found, given), outputs)


def _read(param: click.Parameter, value: Any, context: click.Context, folder: Path) -> Any:
    """The value as the command line would have read it."""
    if isinstance(param.type, click.Path):
        value = folder / value
    elif param.name == "gate_on" and not isinstance(value, str):
        value = ",".join(value)
    try:
        return param.type.convert(value, param, context)
    except click.BadParameter as error:
        raise InputError(f"{param.name}: {error.message}") from error


@dataclass(frozen=True, slots=True)
class Ruling:
    """What came of a run."""

    verdict: Verdict
    headline: str
    """The verdict, its reason and what it took, on one line."""
    page: str
    """The report as Markdown."""
    junit: str = ""
    """The report as JUnit XML; "" if nobody was asked, since that was not allowed."""
    document: str = ""
    """Everything as JSON; "" in the same case."""


def ruling(
    wanted: Wanted,
    *,
    confirmed: bool,
    how: str,
    memory: pytest.Cache | None,
    clock: Callable[[], float] = time.time,
) -> Ruling:
    """Run the gate, unless the very same was settled before.

    Args:
        wanted: What to do.
        confirmed: Whether endpoints may be asked.
        how: What allows it, for the message if it is not.
        memory: Where verdicts are kept; what could not be measured is not, nor what recorded answers decide.
        clock: Unix time in seconds.

    Raises: InputError for what cannot be used.
    """
    options, outputs = wanted
    if options.recorded:
        memory = None  # what was true of the weights of yesterday says nothing about those of today
    key = f"evenkeel-gate/{_identity(options)}"
    known = memory.get(key, None) if memory is not None else None
    if known is not None:
        known["headline"] += f" (remembered of {known.pop('at')})"
        found = Ruling(**{**known, "verdict": Verdict(known["verdict"])})
    else:
        found = _run(options, confirmed=confirmed, how=how)
        if memory is not None and found.verdict is not Verdict.COULD_NOT_MEASURE:
            at = datetime.fromtimestamp(clock(), UTC).strftime("%Y-%m-%d %H:%M UTC")
            memory.set(key, {**asdict(found), "verdict": found.verdict.value, "at": at})
    if found.document:
        outputs.write_texts(found.page, found.junit, found.document)
    return found


def _run(options: GateOptions, *, confirmed: bool, how: str) -> Ruling:
    ahead: list[str] = []

    def confirm(estimate: object) -> None:
        ahead.append(str(estimate))
        if not confirmed:
            raise NotConfirmedError

    try:
        outcome = run_gate(options, err=Console(file=io.StringIO()), confirm=confirm)
    except NotConfirmedError:
        verdict = Verdict.COULD_NOT_MEASURE
        said = f"COULD NOT MEASURE: nobody was asked, which takes {how} ({ahead[-1]})."
        return Ruling(verdict, said, said)
    report = outcome.report
    line = f"{headline(report)} {goldens_asked(report)}; {effort(outcome)}"
    page = markdown(document(outcome), level=2)
    return Ruling(report.verdict, line, page, as_junit(outcome), as_json(outcome))


def _identity(options: GateOptions) -> str:
    """SHA-256 of everything that decides a verdict, in hex: what is asked, and how it is compared.

    Files count by what is in them; where reports go and how quickly is asked does not count.
    """
    asked = shuffled(tasks(options.goldens, options.sides), clusters(options.goldens), options.seed)
    calibration = options.calibration
    parts = [
        __version__,
        [_part(task) for task in asked],
        asdict(options.rules),
        [options.deciding, options.repeats, options.task],
        None if calibration is None else calibration_to_yaml(calibration),
        options.raters_name,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _part(task: Task | Unasked) -> list[Any]:
    golden = task.golden
    named = [golden.id, golden.version, golden.task, golden.cluster, asdict(golden.answer)]
    if isinstance(task, Unasked):
        return [*named, task.failure.reason]
    return [*named, {side: one.key.hex() for side, one in task.requests.items()}]
