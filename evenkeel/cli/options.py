"""Options that several commands share, and the settings they give."""

from __future__ import annotations

from dataclasses import asdict
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click

from evenkeel.runtime.reload import SettingsSource
from evenkeel.settings import Settings, SettingsError, load, route_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from evenkeel.llm.price import ModelPrice

NOWHERE: Final = "http://127.0.0.1:9"
"""Stands for the upstream that settings must have where none is named; never asked."""
PIPED_WIDTH: Final = 220
"""Columns of a table that goes into a file or a pipe, where nothing needs to be cut."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
by_option = click.option(
    "--by",
    envvar=["EVENKEEL_USER", "USER"],
    metavar="NAME",
    help="Who you are, for the record.  [the variable EVENKEEL_USER, else USER]",
)


def with_stores(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `store_options`, and call it with the stores that they name.

    Its first argument are the stores, open until it returns.
    """

    @wraps(command)
    def run(config: Path | None, data_dir: Path | None, **given: Any) -> None:
        # Loaded on demand: roles take their options from this module, too, and stay small.
        from evenkeel.runtime.stores import opened, settings_of_stores

        with opened(settings_of_stores(config, data_dir)) as stores:
            command(stores, **given)

    decorated: Callable[..., None] = store_options(run)
    return decorated


def table_console() -> Console:
    """Standard output for tables."""
    from evenkeel.experiments.kit.terminal import consoles

    return consoles(PIPED_WIDTH).out


def store_options(command: Any) -> Any:
    """Give a command that reads the stores the options that say where they are."""
    for option in (
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Settings file of `evenkeel up`; says where the store is, in a folder or a Redis.",
        ),
        click.option(
            "--data-dir",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Folder of the store.  [EVENKEEL_DATA_DIR, else ./evenkeel-data]",
        ),
    ):
        command = option(command)
    return command


def settings_options(command: Any) -> Any:
    """Give a command the options that stand for settings."""
    options = [
        click.option("--upstream", metavar="URL", help="OpenAI-compatible endpoint to forward to."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Settings file (YAML); the options below win over it.",
        ),
        click.option("--host", metavar="ADDRESS", help="Where applications connect.  [127.0.0.1]"),
        click.option("--port", type=int, help="Port for applications; 0 picks one.  [8100]"),
        click.option(
            "--processes", type=int, metavar="N", help="Data-plane processes that share the port.  [1]"
        ),
        click.option("--admin-port", type=int, help="Port for console and metrics.  [8101]"),
        click.option(
            "--data-dir", type=click.Path(path_type=Path), metavar="DIR", help="Store.  [./evenkeel-data]"
        ),
        click.option("--redis-url", metavar="URL", help="Redis in place of the store, for several roles."),
        click.option(
            "--sampling-rate", type=float, metavar="SHARE", help="Share of requests replayed, 0–1.  [0.1]"
        ),
        click.option("--task", help="Task of the requests, e.g. case_summary."),
        click.option("--budget-usd", type=float, metavar="USD", help="Most spent on replays a day.  [10]"),
        click.option("--budget-tokens", type=int, metavar="N", help="Most tokens a day.  [5000000]"),
        click.option(
            "--judge-model", metavar="NAME", help="Model that rates answers; without one, heuristics do."
        ),
        click.option(
            "--judge-url", metavar="URL", help="Endpoint of the judge.  [https://api.openai.com/v1]"
        ),
        click.option(
            "--judge-key-env",
            metavar="VARIABLE",
            help="Variable that holds its key.  [EVENKEEL_JUDGE_API_KEY]",
        ),
        click.option("--webhook", metavar="URL", help="Gets each alert as a JSON POST."),
        click.option("--simulated", is_flag=True, default=None, hidden=True),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def settings_of(
    config: Path | None,
    given: dict[str, Any],
    more: dict[str, Any] | None = None,
    *,
    injecting: bool = False,
) -> Settings:
    """The settings of a file with those options laid over them, and `more`, by section.

    Args:
        config: the file, if there is one.
        given: the options.
        more: further values, by section.
        injecting: whether the keys that routes send upstream must be there.

    Raises: SettingsError with a one-line message.
    """
    places = {
        "host": ("listen", "host"),
        "port": ("listen", "port"),
        "processes": ("listen", "processes"),
        "admin_port": ("admin", "port"),
        "data_dir": ("data_dir",),
        "budget_usd": ("budget", "usd_per_day"),
        "budget_tokens": ("budget", "tokens_per_day"),
        "judge_model": ("judge", "model"),
        "judge_url": ("judge", "base_url"),
        "judge_key_env": ("judge", "api_key_env"),
        "webhook": ("alert", "webhook"),
        "redis_url": ("redis", "url"),
        "simulated": ("simulated",),
    }
    overrides: dict[str, Any] = {**more} if more else {}
    for name, path in places.items():
        if given[name] is not None:
            section = overrides
            for part in path[:-1]:
                section = section.setdefault(part, {})
            section[path[-1]] = given[name]
    route = {name: given[name] for name in ("upstream", "sampling_rate", "task") if given[name] is not None}
    settings = load(config, overrides, route)
    if injecting:
        try:
            route_table(settings.routes)
        except ValueError as error:
            raise SettingsError(f"{config or 'settings'}: {error}") from error
    return settings


def settings_source(
    config: Path | None,
    given: dict[str, Any],
    more: dict[str, Any] | None = None,
    *,
    injecting: bool = False,
    checked: bool = True,
) -> SettingsSource:
    """Where the settings of a role come from: a file and options.

    Args:
        config: As `settings_of`, and so the next two and `injecting`.
        given: The options.
        more: Further values.
        injecting: Whether the keys that routes send upstream must be there.
        checked: Whether what the settings name (perturbations, tasks, a calibration) is looked up each time.
    """

    def read() -> Settings:
        settings = settings_of(config, given, more, injecting=injecting)
        if checked:
            from evenkeel.runtime.choices import check  # Loaded on demand: brings every metric.

            check(settings, str(config or "settings"))
        return settings

    return SettingsSource(config, read)


def experiment_settings(
    given: Mapping[str, Any],
    *,
    services: Sequence[str] = ("judge",),
    prices: Mapping[str, ModelPrice] = MappingProxyType({}),
) -> Settings:
    """The settings of an experiment: those of --config with its other options laid over them.

    Args:
        given: The options: `config`, `embeddings`, `data_dir` if there is one, and for each service
            `…_model`, `…_url` and `…_key_env`.
        services: Sections of models that are asked, such as "rewriter".
        prices: Of models, by name.

    Raises: SettingsError with a one-line message.
    """
    overrides: dict[str, Any] = {}
    if given.get("data_dir") is not None:
        overrides |= {"data_dir": given["data_dir"], "redis": None}
    for section in services:
        named = {
            name: given[f"{section}_{option}"]
            for name, option in (("model", "model"), ("base_url", "url"), ("api_key_env", "key_env"))
            if given[f"{section}_{option}"] is not None
        }
        if named:
            overrides[section] = named
    if given["embeddings"] is not None:
        overrides["scoring"] = {"embeddings": {"enabled": given["embeddings"]}}
    if prices:
        overrides["prices"] = {model: asdict(price) for model, price in prices.items()}
    config = given["config"]
    return load(config, overrides, {} if config else {"upstream": NOWHERE})
