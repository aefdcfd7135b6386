"""Options of the gate as keyword arguments, for callers in Python: those of the command, by its names."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

import click

from evenkeel.cli.gate import gate
from evenkeel.experiments.gate.arguments import options_of
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from evenkeel.experiments.gate.run_options import GateOptions

    AnyPath: TypeAlias = str | os.PathLike[str]


class GateKeywords(TypedDict, total=False):
    """Every option of `evenkeel gate`; `evenkeel gate --help` says what each does."""

    data_dir: AnyPath
    route: str
    base_url: str
    model: str
    prompt: AnyPath
    template: AnyPath
    new_template: AnyPath
    reference_url: str
    reference_model: str
    no_reference: bool
    api_key_env: str
    reference_key_env: str
    api_key_header: str
    config: AnyPath
    calibration: AnyPath
    rate: bool
    task: str
    judge_model: str
    judge_url: str
    judge_key_env: str
    embeddings: bool
    gate_on: str | Iterable[str]
    tolerance: float
    margin: float
    alpha: float
    beta: float
    undecided: Literal["pass", "fail"]
    max_failures: float
    repeats: int
    seed: int
    concurrency: int
    timeout: float
    max_usd: float
    price: str
    cache: AnyPath
    markdown: AnyPath
    junit: AnyPath
    json: AnyPath


def options_from(files: Iterable[AnyPath], keywords: Mapping[str, Any], folder: Path) -> GateOptions:
    """The options of a run.

    Args:
        files: Goldens.
        keywords: Those of `GateKeywords`; one that is None counts as not given.
        folder: Where relative paths start.

    Raises: TypeError for a name that is no option; SettingsError in one line for a value or a file that
        cannot be used.
    """
    context = gate.make_context("gate", [])
    options = {option.name: option for option in gate.params if isinstance(option, click.Option)}
    given = {name: value for name, value in context.params.items() if name not in {"files", "yes"}}
    for name, value in keywords.items():
        if name not in given:
            close = get_close_matches(name, given, 1)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise TypeError(f"the gate has no option {name!r}{meant}")
        if value is not None:
            given[name] = _read(options[name], value, context, folder)
    files_argument = next(param for param in gate.params if param.name == "files")
    found = tuple(_read(files_argument, file, context, folder) for file in files)
    return options_of(found, given)


def _read(param: click.Parameter, value: Any, context: click.Context, folder: Path) -> Any:
    """The value as the command line would have read it."""
    if isinstance(param.type, click.Path):
        value = folder / value
    elif param.name == "gate_on" and not isinstance(value, str):
        value = ",".join(value)
    try:
        return param.type.convert(value, param, context)
    except click.BadParameter as error:
        raise SettingsError(f"{param.name}: {error.message}") from error
