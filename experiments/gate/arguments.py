"""From the command line's words to options; from errors to messages and exit codes."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from evenkeel import settings as settings_module
from evenkeel.experiments.calibrate.calibration import read_calibration
from evenkeel.experiments.gate.command import run_gate
from evenkeel.experiments.gate.edits import EditError, NewSystemPrompt, NewTemplate
from evenkeel.experiments.gate.run_options import CandidateOptions, GateOptions, Outputs, ReferenceOptions
from evenkeel.experiments.kit.arguments import InputError, price, words
from evenkeel.experiments.kit.confirmation import NotConfirmedError, confirmation
from evenkeel.experiments.kit.terminal import consoles
from evenkeel.metrics.tasks import task_named
from evenkeel.monitor.detect.gate import GateRules, Verdict
from evenkeel.runtime import choices
from evenkeel.settings import SettingsError
from evenkeel.stores.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenkeel.experiments.calibrate.calibration import Calibration
    from evenkeel.experiments.gate.edits import Edit
    from evenkeel.settings import Settings

log = logging.getLogger("evenkeel")

EXIT_CODES = {Verdict.PASS: 0, Verdict.REGRESSION: 1, Verdict.COULD_NOT_MEASURE: 2}
_COULD_NOT_MEASURE = 2
_PIPED_WIDTH = 140
"""Columns of the table where the output is not a terminal."""
_NOWHERE = "http://127.0.0.1:9"
"""Stands for the upstream that settings must have where none is named; never asked."""


def run_from_command_line(files: tuple[Path, ...], given: Mapping[str, Any], *, confirmed: bool) -> int:
    """Run the gate as the options say.

    Returns: the exit code: 0 pass, 1 regression, 2 could not measure. A fault of the gate itself is 2 as
        well: 1 would read as a verdict.
    Raises: SettingsError for options and files that cannot be used; StoreError for such a store.
    """
    out, err = consoles(_PIPED_WIDTH)
    try:
        confirm = confirmation(confirmed=confirmed, in_pipelines=True)
        outcome = run_gate(options_of(files, given), out=out, err=err, confirm=confirm)
    except NotConfirmedError:
        click.echo("evenkeel: nothing was asked; --yes asks without confirmation", err=True)
        return _COULD_NOT_MEASURE
    except KeyboardInterrupt:
        again = "run it again to go on from there" if given["cache"] else "with --cache FILE it could go on"
        click.echo(f"evenkeel: stopped before the verdict; {again}", err=True)
        return _COULD_NOT_MEASURE
    except (SettingsError, InputError, StoreError):
        raise
    except Exception:
        log.exception("the gate failed; nothing is known about the candidate")
        return _COULD_NOT_MEASURE
    return EXIT_CODES[outcome.report.verdict]


def options_of(files: tuple[Path, ...], given: Mapping[str, Any]) -> GateOptions:
    """The options of a run.

    Raises: SettingsError in one line.
    """
    settings = _settings(given)
    calibration = _calibration(given["calibration"], settings)
    return GateOptions(
        settings=settings,
        has_routes=given["config"] is not None,
        files=files,
        route=given["route"],
        task=_task(given["task"]),
        candidate=CandidateOptions(
            url=given["base_url"],
            model=given["model"],
            edit=_edit(given),
            key_env=given["api_key_env"] or settings.shadow.api_key_env,
        ),
        reference=_reference(given, settings),
        key_header=given["api_key_header"] or settings.shadow.api_key_header,
        calibration=calibration,
        rated=calibration is None or settings.judge is not None or given["rate"],
        deciding=words(given["gate_on"]),
        rules=_rules(given),
        repeats=given["repeats"],
        seed=given["seed"],
        concurrency=given["concurrency"],
        timeout_s=given["timeout"],
        cache=given["cache"],
        most_usd=given["max_usd"],
        outputs=Outputs(markdown=given["markdown"], junit=given["junit"], json=given["json"]),
    )


def _settings(given: Mapping[str, Any]) -> Settings:
    config, url = given["config"], given["base_url"]
    if config is None and url is None:
        raise SettingsError(
            "which endpoint is asked? Name it with --base-url, or give the routes' upstreams with --config"
        )
    overrides: dict[str, Any] = {}
    if given["data_dir"] is not None:
        overrides |= {"data_dir": given["data_dir"], "redis": None}
    judge = {
        name: given[option]
        for name, option in (
            ("model", "judge_model"),
            ("base_url", "judge_url"),
            ("api_key_env", "judge_key_env"),
        )
        if given[option] is not None
    }
    if judge:
        overrides["judge"] = judge
    if given["embeddings"] is not None:
        overrides["scoring"] = {"embeddings": {"enabled": given["embeddings"]}}
    if given["price"] is not None:
        if given["model"] is None:
            raise SettingsError("--price: is that of the candidate; name it with --model")
        overrides["prices"] = {given["model"]: asdict(price(given["price"]))}
    return settings_module.load(config, overrides, {} if config else {"upstream": _NOWHERE})


def _reference(given: Mapping[str, Any], settings: Settings) -> ReferenceOptions | None:
    named = [name for name in ("reference_url", "reference_model") if given[name] is not None]
    if given["no_reference"]:
        if named:
            option = named[0].replace("_", "-")
            raise SettingsError(
                f"--no-reference and --{option}: either there is a reference, or there is none"
            )
        return None
    return ReferenceOptions(
        url=given["reference_url"],
        model=given["reference_model"],
        key_env=given["reference_key_env"] or given["api_key_env"] or settings.shadow.api_key_env,
    )


def _rules(given: Mapping[str, Any]) -> GateRules:
    try:
        return GateRules(
            alpha=given["alpha"],
            beta=given["beta"],
            tolerance=given["tolerance"],
            margin=given["margin"],
            undecided=given["undecided"],
            most_unmeasured=given["max_failures"],
        )
    except ValueError as error:
        raise SettingsError(str(error)) from error


def _edit(given: Mapping[str, Any]) -> Edit | None:
    prompt, old, new = given["prompt"], given["template"], given["new_template"]
    if prompt is not None and (old is not None or new is not None):
        raise SettingsError("--prompt and --template: change one of them at a time")
    try:
        if prompt is not None:
            return NewSystemPrompt(_text(prompt), f"system prompt of {prompt.name}")
        if (old is None) != (new is None):
            raise SettingsError(
                "--template and --new-template: give both, the text before and after the edit"
            )
        if old is not None:
            return NewTemplate(_text(old), _text(new), f"template {new.name} in place of {old.name}")
    except EditError as error:
        raise SettingsError(f"{prompt or old}: {error}") from error
    return None


def _calibration(path: Path | None, settings: Settings) -> Calibration | None:
    try:
        return choices.calibration(settings) if path is None else read_calibration(_text(path))
    except ValueError as error:
        raise SettingsError(f"{path or 'scoring.calibration'}: {error}") from error


def _task(name: str | None) -> str | None:
    try:
        return None if name is None else task_named(name)
    except ValueError as error:
        raise SettingsError(f"--task: {error}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: is not UTF-8 (byte {error.start}); save it as UTF-8") from error
