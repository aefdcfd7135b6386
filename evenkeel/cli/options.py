"""Options that several commands share, and the settings that result from them."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
import time
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from evenkeel import logs
from evenkeel.core.errors import UserError
from evenkeel.core.figures import NO_JUDGE
from evenkeel.core.text import escaped
from evenkeel.runtime.reload import SettingsSource
from evenkeel.settings import Route, Settings, SettingsError, load, route_table
from evenkeel.settings.replay import BudgetSettings
from evenkeel.settings.scoring import JUDGE_KEY
from evenkeel.settings.server import Access, Listen
from evenkeel.settings.types import Section, upstream_url, variable_name
from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

    from evenkeel.llm.price import ModelPrice
    from evenkeel.metrics.tasks import Task
    from evenkeel.runtime.stores import Stores
    from evenkeel.stores.audit_log import What
    from evenkeel.stores.changes import ReleaseRun

_OPENAI: Final = "https://api.openai.com/v1"

FILE: Final = click.Path(path_type=Path)
EXISTING: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


class NumberRange(click.FloatRange):
    """Numbers in a range; "nan" is none, though click finds it in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


class _CheckedText(click.ParamType[str]):
    """Text that a check of the settings has to accept; an error does not repeat it."""

    def __init__(self, name: str, check: Callable[[str], str]) -> None:
        self.name = name
        self._check = check

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text. Fails with what the check says."""
        try:
            return self._check(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


VARIABLE = _CheckedText("variable", variable_name)
"""Name of the variable with a credential, in place of which somebody may have written the credential."""
UPSTREAM = _CheckedText("url", upstream_url)
"""URL of an endpoint."""

Decorator: TypeAlias = "Callable[[Any], Any]"

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
yes_option = click.option(
    "--yes", is_flag=True, help="Skip the confirmation before spending; required without a terminal."
)
note_option = click.option(
    "--note", default="", show_default=False, metavar="TEXT", help="Reason, for the record."
)
embeddings_option = click.option(
    "--embeddings/--no-embeddings", default=None, help="Use sentence embeddings.  [default: if installed]"
)
max_usd_option = click.option(
    "--max-usd", type=NumberRange(0), metavar="USD", help="Stop after spending this much."
)
severity_option = click.option(
    "--severity",
    type=NumberRange(0, 1),
    default=0.13,
    metavar="SHARE",
    help="Share of places to change: 0.07 = typing on a desktop, 0.13 = on a phone; 0.3 = stress.",
)


def _prices(
    _context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, ModelPrice]:
    from evenkeel.release.kit.arguments import named_price

    return dict(map(named_price, texts))


prices_option = click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="MODEL=IN/OUT",
    callback=_prices,
    help="Price in USD per million tokens, 0/0 = free; repeatable.",
)
route_option = click.option("--route", metavar="NAME", help="Only this route.")
by_option = click.option(
    "--by",
    envvar=["EVENKEEL_USER", "USER"],
    metavar="NAME",
    help="Your name, for the audit log.  [default: $EVENKEEL_USER, else $USER]",
)


class CommandFailedError(UserError):
    """Failure of a command that was called correctly. Exits with 1, not with 2 as wrong usage does."""

    exit_code = 1


def emit(value: Any) -> None:
    """Print a result as the one JSON document on standard output."""
    click.echo(escaped(json.dumps(value, ensure_ascii=False, indent=2)))


def named(by: str | None) -> str:
    """Return the name for the audit log that `by_option` got.

    Raises: click.UsageError without one.
    """
    if not by or not by.strip():
        raise click.UsageError("no name for the audit log: add --by NAME or set EVENKEEL_USER")
    return by.strip()


def audit(stores: Stores, what: What, by: str, subject: str, detail: str, at: float | None = None) -> None:
    """Write into the audit log what a command did; `at` is its Unix time in seconds, None = now."""
    # Loaded on demand: roles take their options from this module, too.
    from evenkeel.stores.audit_log import Action

    moment = round(time.time() if at is None else at, 3)
    stores.actions.record(Action(moment, by, "command", what, subject, detail))


@contextlib.contextmanager
def console_store(options: Mapping[str, Any]) -> Iterator[Stores | None]:
    """Open the store that --config or --data-dir names, for its console to list a run; None without them.

    Raises: UserError if it cannot be opened.
    """
    if options["config"] is None and options["data_dir"] is None:
        yield None
        return
    # Loaded on demand: a check without a store starts in half the time.
    from evenkeel.runtime.stores import opened, settings_of_stores

    with opened(settings_of_stores(options["config"], options["data_dir"])) as stores:
        yield stores


def keep_run(run: ReleaseRun, options: Mapping[str, Any]) -> None:
    """Have the console list a gate or a check, if the options name a store."""
    try:
        with console_store(options) as stores:
            if stores is not None:
                stores.changes.put_release(run)
    except (UserError, sqlite3.OperationalError) as error:
        # The verdict stands and has been printed; only the list of the console lacks it.
        click.echo(f"the console will not list this run: {error}", err=True)


def print_rows(
    heads: Sequence[str], rows: Iterable[Sequence[str | None]], *, wide: Collection[str] = ()
) -> None:
    """Print a table on standard output; see `show_rows`."""
    from evenkeel.release.kit.terminal import show_rows

    show_rows(table_console(), heads, rows, wide=wide)


def together(*options: Decorator) -> Decorator:
    """Combine several options into a decorator, in the order of the help."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def task_option(help: str) -> Decorator:  # noqa: A002 - click's word
    """Return --task; a name that is none is refused with the nearest that is one."""

    def read(_context: click.Context, _parameter: click.Parameter, name: str | None) -> Task | None:
        if name is None:
            return None
        # Loaded on demand: roles take their options from this module, too.
        from evenkeel.metrics.tasks import task_named

        try:
            return task_named(name)
        except ValueError as error:
            raise UserError(f"--task: {error}") from error

    return click.option("--task", metavar="NAME", callback=read, help=help)


# Another model would be asked than the report names, and a prompt has its place already.
_OF_THE_COMMAND: Final = ("model", "messages", "prompt", "input", "instructions", "system")


def parameters_option(help: str) -> Decorator:  # noqa: A002 - click's word
    """Return --parameters, a JSON object; {} without the option."""

    def read(_context: click.Context, _parameter: click.Parameter, text: str | None) -> dict[str, Any]:
        try:
            given = json.loads(text or "{}")
        except (ValueError, RecursionError) as error:
            raise UserError(f"--parameters: is not JSON: {error}") from error
        if not isinstance(given, dict):
            raise UserError('--parameters: is no JSON object such as {"temperature": 0}')
        for name in _OF_THE_COMMAND:
            if name in given:
                raise UserError(f"--parameters: must not hold `{name}`, which the command itself writes")
        return given

    return click.option("--parameters", metavar="JSON", callback=read, help=help)


def file_option(name: str, help: str, *, metavar: str = "FILE", **more: Any) -> Decorator:  # noqa: A002 - click's
    """Return an option that names a file or, with another `metavar`, a folder."""
    return click.option(name, type=FILE, metavar=metavar, help=help, **more)


def model_options(service: str, help: str, *, default: bool = False) -> Decorator:  # noqa: A002 - click's word
    """Return the options of a judge or rewriter: name (unless `help` is ""), endpoint, variable with its key.

    With `default` they have the defaults that the help names. Without, an omitted option is None, so the
    settings file decides.
    """
    url, variable = _OPENAI, f"EVENKEEL_{service.upper()}_API_KEY"
    named = [click.option(f"--{service}-model", service, metavar="NAME", help=help)] if help else []
    return together(
        *named,
        click.option(
            f"--{service}-url", metavar="URL", default=url if default else None, show_default=False,
            help=f"Base URL of the {service}.  [default: {url}]",
        ),
        click.option(
            f"--{service}-key-env", type=VARIABLE, metavar="VARIABLE", default=variable if default else None,
            show_default=False, help=f"Environment variable with its API key.  [default: {variable}]",
        ),
    )  # fmt: skip


def call_options(concurrency: int, timeout_s: float) -> Decorator:
    """Return --concurrency and --timeout, for a command that calls models."""
    return together(
        click.option(
            "--concurrency", type=click.IntRange(1, 256), default=concurrency, help="Concurrent calls."
        ),
        click.option(
            "--timeout",
            type=NumberRange(0.1),
            default=timeout_s,
            metavar="SECONDS",
            help="Timeout of one call.",
        ),
    )


def table_console() -> Console:
    """Return the console for tables on standard output."""
    # Loaded on demand, like rich itself: roles that serve print no table.
    from evenkeel.release.kit.terminal import consoles

    return consoles().out


store_options = together(
    file_option("--config", "Settings file of `evenkeel up`; names the store."),
    file_option(
        "--data-dir", "Data folder.  [default: $EVENKEEL_DATA_DIR, else ./evenkeel-data]", metavar="DIR"
    ),
)
"""Options of a command that reads the stores: their location."""


def announce(text: str) -> None:
    """Print text on standard output, or log it as an event if logs are JSON."""
    if logs.is_json():
        logs.log.info("%s", text)
    else:
        click.echo(text)


def _logging(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Configure logging at once, so that errors in the other options are logged the same way."""
    assert parameter.name is not None
    # Both options are eager and each configures anew: neither knows whether the other one follows.
    chosen = context.meta.setdefault("evenkeel.log", {})
    chosen[parameter.name] = value
    # People read the output of check-config even in a CI log, so it is never JSON by default.
    usual: logs.Format = "text" if context.command.name == "check-config" else "auto"
    logs.configure(chosen.get("log_level") or "info", chosen.get("log_format") or usual)
    return value


log_options = together(
    click.option(
        "--log-level", type=click.Choice(logs.LEVELS), envvar=logs.LEVEL_VARIABLE, is_eager=True,
        callback=_logging, help="Minimum level to log.  [default: info]",
    ),
    click.option(
        "--log-format", type=click.Choice(logs.FORMATS), envvar=logs.FORMAT_VARIABLE, is_eager=True,
        callback=_logging, help="Log format, on standard error.  [default: text on a terminal, else json]",
    ),
)  # fmt: skip
"""Options of a command that runs until it is stopped."""


def _setting_option(
    name: str, section: type[Section], field: str, said: str, metavar: str | None = None
) -> Decorator:
    """Return an option that overrides a setting; it has the setting's type, and its help says the default."""
    value = section.model_fields[field].default
    default = f"{value:g}" if isinstance(value, float) else value
    return click.option(name, type=type(value), metavar=metavar, help=f"{said}  [default: {default}]")


_upstream_option = click.option(
    "--upstream", metavar="URL", help="OpenAI-compatible endpoint to forward to; with or without /v1."
)
_config_option = file_option("--config", "Settings file (YAML); options override it.")
_listen_options = together(
    _setting_option("--host", Listen, "host", "Address to listen on for applications.", "ADDRESS"),
    _setting_option("--port", Listen, "port", "Port for applications; 0 picks a free one."),
    _setting_option("--processes", Listen, "processes", "Data-plane processes.", "N"),
)
_console_option = _setting_option(
    "--admin-port", Access, "port", "Port for console, API and metrics; 0 picks a free one."
)
# A proxy or worker serves no port unless asked: several of them share a machine.
_metrics_option = click.option(
    "--admin-port", type=int, help="Port for metrics and health; 0 picks a free one.  [default: none]"
)
_data_dir_option = file_option("--data-dir", "Data folder.  [default: ./evenkeel-data]", metavar="DIR")
_redis_option = click.option(
    "--redis-url", metavar="URL", help="Redis with queue and verdicts, instead of the data folder."
)
_sampling_option = _setting_option(
    "--sampling-rate", Route, "sampling_rate", "Share of requests to replay, 0 to 1.", "SHARE"
)
_scoring_options = together(
    _setting_option("--budget-usd", BudgetSettings, "usd_per_day", "Daily budget for replays.", "USD"),
    _setting_option(
        "--budget-tokens", BudgetSettings, "tokens_per_day", "Daily token budget for replays.", "N"
    ),
    click.option(
        "--judge",
        metavar="MODEL",
        help="Model that rates answers, at the upstream.  [default: a small one of the provider, if known]",
    ),
    click.option("--no-judge", is_flag=True, help="Rate no answers: contradictions cannot be seen."),
    click.option("--judge-url", metavar="URL", help="Base URL of another endpoint for the judge."),
    click.option(
        "--judge-key-env",
        type=VARIABLE,
        metavar="VARIABLE",
        help="Environment variable with the judge's API key.  "
        f"[default: that of replays; with --judge-url {JUDGE_KEY}]",
    ),
)

settings_options = together(
    _upstream_option,
    _config_option,
    _listen_options,
    _console_option,
    _data_dir_option,
    _redis_option,
    _sampling_option,
    _scoring_options,
    log_options,
)
"""All options that override settings: those of `evenkeel up`."""
proxy_options = together(
    _upstream_option,
    _config_option,
    _listen_options,
    _metrics_option,
    _data_dir_option,
    _redis_option,
    _sampling_option,
    log_options,
)
"""Options of `evenkeel proxy`, the data plane alone."""
worker_options = together(_config_option, _redis_option, _metrics_option, _scoring_options, log_options)
"""Options of a worker. It has no --upstream: the settings file names its upstreams."""
monitor_options = together(_config_option, _redis_option, _console_option, log_options)
"""Options of a monitor."""


def with_stores(command: Callable[..., None]) -> Callable[..., None]:
    """Add `store_options` to a command and pass it the opened stores as its first argument.

    The stores are closed when the command returns.
    """

    @wraps(command)
    def run(config: Path | None, data_dir: Path | None, **options: Any) -> None:
        # Loaded on demand: roles take their options from this module, too, and stay small.
        from evenkeel.runtime.stores import opened, settings_of_stores

        with opened(settings_of_stores(config, data_dir)) as stores:
            command(stores, **options)

    decorated: Callable[..., None] = store_options(run)
    return decorated


def note_judge(stores: Stores) -> None:
    """Print a note on standard error if the newest trial was rated without a judge."""
    # The settings say what is to come; the newest trial says how what is stored was rated.
    newest = stores.verdicts.latest(1)
    if newest and newest[0].scoring.scorer != "judge":
        click.echo(NO_JUDGE, err=True)


def _overrides(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the command line by section, but those of routes."""
    paths: dict[str, tuple[str, ...]] = {
        "host": ("listen", "host"),
        "port": ("listen", "port"),
        "processes": ("listen", "processes"),
        "admin_port": ("access", "port"),
        "data_dir": ("data_dir",),
        "budget_usd": ("budget", "usd_per_day"),
        "budget_tokens": ("budget", "tokens_per_day"),
        "judge": ("judge", "model"),
        "judge_url": ("judge", "base_url"),
        "judge_key_env": ("judge", "api_key_env"),
        "rewriter": ("replays", "rewriter", "model"),
        "rewriter_url": ("replays", "rewriter", "base_url"),
        "rewriter_key_env": ("replays", "rewriter", "api_key_env"),
        "redis_url": ("storage", "redis", "url"),
        "name": ("monitor", "name"),
        "log_level": ("telemetry", "log_level"),
        "log_format": ("telemetry", "log_format"),
    }
    overrides: dict[str, Any] = {}
    for name, path in paths.items():
        if options.get(name) is not None:
            section = overrides
            for part in path[:-1]:
                section = section.setdefault(part, {})
            section[path[-1]] = options[name]
    if options.get("no_judge"):
        # The options contradict each other. Guessing could spend money that the user wanted to save.
        if "judge" in overrides:
            raise SettingsError("--no-judge cannot be combined with --judge, --judge-url, --judge-key-env")
        overrides["judge"] = None
    return overrides


def settings_source(
    config: Path | None,
    options: Mapping[str, Any],
    *,
    injecting: bool = False,
    guarding: bool = False,
    checked: bool = True,
) -> SettingsSource:
    """Return the source of a role's settings: a file, the environment, and the options over them.

    Args:
        config: Settings file; None for defaults and options alone.
        options: Values of the command's options, by name; absent ones and None override nothing.
        injecting: True to fail if an upstream API key that a route injects is not set.
        guarding: True to fail unless the secrets of the admin port can be used.
        checked: True to fail for unknown names of perturbations, tasks and limits.
    """
    overrides = _overrides(options)
    route = {}
    for name in ("upstream", "sampling_rate"):
        if options.get(name) is not None:
            route[name] = options[name]

    # Read again by a role that is told to reload, hence a function.
    def read() -> Settings:
        settings = load(config, overrides, route)
        # Here and not in `load`, since a command that only reads the file uses none of these secrets.
        try:
            settings.storage.seal.check()
            if injecting:
                route_table(settings.routes)
            if guarding:
                settings.access.check_secrets()
        except (SealError, ValueError) as error:
            raise SettingsError(f"{config or 'settings'}: {error}") from error
        if checked:
            from evenkeel.runtime.choices import check  # Loaded on demand: brings every metric.

            check(settings, str(config or "settings"))
        return settings

    return SettingsSource(config, read)


def experiment_settings(
    options: Mapping[str, Any],
    prices: Mapping[str, ModelPrice] = MappingProxyType({}),
) -> Settings:
    """Load the settings of an experiment: those of --config, overlaid with the other options.

    Args:
        options: Values of the command's options, by name: `config` and those that `settings_source` knows.
        prices: Prices of models, by name.

    Raises: SettingsError with a one-line message.
    """
    overrides = _overrides(options)
    if options.get("data_dir") is not None:
        # A folder that is named wins over a Redis in the file.
        overrides["storage"] = {"redis": None}
    if prices:
        overrides.setdefault("budget", {})["prices"] = {
            model: asdict(price) for model, price in prices.items()
        }
    if options["config"] is None and "judge" in overrides:
        # Without a file there is no upstream whose endpoint and key the judge could share.
        overrides["judge"].setdefault("base_url", _OPENAI)
    return load(options["config"], overrides, {}, forwards=False)
