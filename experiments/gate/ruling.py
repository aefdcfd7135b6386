"""The gate run by a program: nobody is asked, nothing is printed, and a verdict is remembered."""

from __future__ import annotations

import hashlib
import io
import json
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console

from evenkeel import __version__
from evenkeel.experiments.calibrate.calibration import calibration_to_yaml
from evenkeel.experiments.gate.chosen_goldens import load
from evenkeel.experiments.gate.command import run_gate
from evenkeel.experiments.gate.reports import (
    VERDICTS,
    document,
    effort,
    goldens_asked,
    headline,
    junit,
    markdown,
)
from evenkeel.experiments.gate.run import shuffled
from evenkeel.experiments.gate.sides import Task, Unasked, request_key, sides_of, tasks
from evenkeel.experiments.kit.confirmation import NotConfirmedError
from evenkeel.monitor.detect.gate import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.experiments.gate.run_options import GateOptions


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


class Memory(Protocol):
    """Keeps JSON values from one run to the next, as pytest's cache does."""

    def get(self, key: str, default: Any) -> Any:
        """The value under a key, else the default."""
        ...

    def set(self, key: str, value: object) -> None:
        """Keep a value."""
        ...


def ruling(
    options: GateOptions,
    *,
    confirmed: bool,
    how: str,
    memory: Memory | None,
    clock: Callable[[], float] = time.time,
) -> Ruling:
    """Run the gate, unless the very same was settled before.

    Args:
        options: What to do.
        confirmed: Whether endpoints may be asked.
        how: What allows it, for the message if it is not.
        memory: Where verdicts are kept; what could not be measured is not.
        clock: Unix time in seconds.

    Raises: SettingsError for options and files that cannot be used; StoreError for such a store.
    """
    key = f"evenkeel-gate/{_identity(options)}"
    known = memory.get(key, None) if memory is not None else None
    if known is not None:
        known["headline"] += f" (remembered of {known.pop('at')})"
        found = Ruling(**{**known, "verdict": Verdict(known["verdict"])})
        _write(options, found)
        return found
    found = _run(options, confirmed=confirmed, how=how)
    if memory is not None and found.verdict is not Verdict.COULD_NOT_MEASURE:
        at = datetime.fromtimestamp(clock(), UTC).strftime("%Y-%m-%d %H:%M UTC")
        memory.set(key, {**asdict(found), "verdict": found.verdict.value, "at": at})
    return found


def _run(options: GateOptions, *, confirmed: bool, how: str) -> Ruling:
    ahead: list[str] = []

    def confirm(estimate: object) -> None:
        ahead.append(str(estimate))
        if not confirmed:
            raise NotConfirmedError

    nowhere = Console(file=io.StringIO())
    try:
        outcome = run_gate(options, out=nowhere, err=nowhere, confirm=confirm)
    except NotConfirmedError:
        verdict = Verdict.COULD_NOT_MEASURE
        said = f"{VERDICTS[verdict]}: nobody was asked, which takes {how} ({ahead[-1]})."
        return Ruling(verdict, said, said)
    report = outcome.report
    line = f"{headline(report)} {goldens_asked(report)}; {effort(outcome)}"
    return Ruling(report.verdict, line, markdown(outcome), junit(outcome), document(outcome))


def _write(options: GateOptions, found: Ruling) -> None:
    outputs = options.outputs
    for target, text in (
        (outputs.markdown, found.page),
        (outputs.junit, found.junit),
        (outputs.json, found.document),
    ):
        if target is not None:
            target.write_text(text, encoding="utf-8", errors="replace")


def _identity(options: GateOptions) -> str:
    """SHA-256 of everything that decides a verdict, in hex: what is asked, and how it is compared.

    Files count by what is in them; where reports go and how quickly is asked does not count.
    """
    source = load(options.files, options.settings, options.route)
    asked = shuffled(tasks(source.goldens, sides_of(options)), options.seed)
    calibration = options.calibration
    parts = [
        __version__,
        [_part(task) for task in asked],
        asdict(options.rules),
        [options.deciding, options.repeats, options.rated, options.task],
        None if calibration is None else calibration_to_yaml(calibration),
        options.settings.model_dump(mode="json"),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _part(task: Task | Unasked) -> list[Any]:
    golden = task.golden
    named = [golden.id, golden.version, golden.task, asdict(golden.answer)]
    if isinstance(task, Unasked):
        return [*named, task.failure.reason]
    return [*named, {side: request_key(side, one, 0).hex() for side, one in task.requests.items()}]
