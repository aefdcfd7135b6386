"""All settings, and their loading from a file, the environment and the command line.

An error message is one line: where, what is wrong, what to do.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

import yaml
from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableVariableError

from evenkeel.core import network
from evenkeel.core.endpoint import Upstream
from evenkeel.core.errors import UserError
from evenkeel.settings.credentials import UpstreamKeys, keys_by_route
from evenkeel.settings.gone import GONE
from evenkeel.settings.replay import BudgetSettings, ReplaySettings, RewriterSettings
from evenkeel.settings.routes import PREFIX_PATTERN, Route, route_table
from evenkeel.settings.scoring import JUDGE_KEY, Alerts, JudgeSettings, default_judge, judge_of
from evenkeel.settings.server import Access, Listen, Telemetry
from evenkeel.settings.storage import ADDRESS_PATTERN, MonitorSection, Storage
from evenkeel.settings.types import NAME_PATTERN, TAG_PATTERN, Section, without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails


class Settings(BaseSettings):
    """All settings of `evenkeel up` and of the roles."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix="EVENKEEL_",
        env_nested_delimiter="__",
    )

    listen: Listen = Listen()
    routes: Annotated[list[Route], Field(min_length=1)]
    replays: ReplaySettings = ReplaySettings()
    judge: JudgeSettings | None = None
    budget: BudgetSettings = BudgetSettings()
    alerts: Alerts = Alerts()
    data_dir: Path = Path("evenkeel-data")
    """Folder of the store."""
    storage: Storage = Storage()
    access: Access = Access()
    telemetry: Telemetry = Telemetry()
    monitor: MonitorSection = MonitorSection()
    simulated: bool = False
    """Says on every page that the upstream is a simulation."""

    @model_validator(mode="after")
    def _routes_differ(self) -> Settings:
        # Keys are not required here: worker and monitor read the same file without the proxy's keys.
        route_table(self.routes, injecting=False)
        for number, route in enumerate(self.routes):
            for upstream in (route.upstream, *(fallback.url for fallback in route.fallbacks)):
                if self.listen.is_at(Upstream.parse(upstream)):
                    raise ValueError(
                        f"routes[{number}]: {upstream} is where evenkeel itself listens, so requests would "
                        "go round in circles; name the model endpoint, or listen on another port"
                    )
        network.check(route.upstream for route in self.routes)
        return self

    @model_validator(mode="after")
    def _judge_is_named(self) -> Settings:
        if self.judge is not None:
            judge: JudgeSettings | None = judge_of(self.judge, self.routes, self.replays)
        elif "judge" in self.model_fields_set:
            judge = None
        else:
            judge = default_judge(self.routes, self.replays)
        object.__setattr__(self, "judge", judge)  # frozen for everybody else
        return self

    @property
    def asks_references(self) -> bool:
        """True if reference prompts are stored and called. They need an archive of exchanges."""
        return self.replays.references.calls_per_day > 0 and self.storage.archive > 0

    @property
    def limits_dollars(self) -> bool:
        """True if the operator set a limit in dollars. Then models without a known price are not replayed.

        Under the default limit they are replayed at an assumed price, so self-hosted models are monitored.
        """
        routes = any(route.budget.usd_per_day is not None for route in self.routes)
        own = "usd_per_day" in self.budget.model_fields_set
        return routes or (own and self.budget.usd_per_day is not None)

    @property
    def keys(self) -> dict[str, tuple[UpstreamKeys, ...]]:
        """API keys of the upstreams by route, in the order in which they are tried."""
        return keys_by_route(self.routes, self.replays)

    def base_url(self, route: Route) -> str:
        """Base URL of a route for applications."""
        return f"http://{self.listen.address}{route.match.prefix}/v1"


NOWHERE: Final = "http://127.0.0.1:9"
"""Upstream of settings without one, for commands that forward nothing; never called."""
_OPENAI: Final = "https://api.openai.com/v1"
# An error repeats a wrong value up to this length; a longer one may be a key.
_LONGEST_SHOWN = 40
# Faults of a file that are named.
_MOST_FAULTS: Final = 20
_KEY_VARIABLES = ("api_key_env", "replay_key_env", "replays", "judge")


class SettingsError(UserError):
    """Settings that cannot be used. The message has a line for each fault: where, what, what to do."""


def load(
    path: Path | None, overrides: dict[str, Any], route: dict[str, Any], *, forwards: bool = True
) -> Settings:
    """Read the settings file and the environment, and lay the command line's values over them.

    Args:
        path: YAML file; None for none.
        overrides: Nested values from the command line.
        route: Command-line values for the only route; several routes in the file are an error.
        forwards: False for a command that forwards nothing, so that no upstream is required.

    Raises: SettingsError with a one-line message.
    """
    raw = _read_yaml(path) if path else {}
    where = str(path) if path else "settings"
    if not forwards and "routes" not in raw and "EVENKEEL_ROUTES" not in os.environ:
        _stand_in(raw)
    if route:
        routes = raw.setdefault("routes", [{}])
        if not isinstance(routes, list) or len(routes) != 1 or not isinstance(routes[0], dict):
            raise SettingsError(
                f"{where}: has several routes; set {', '.join(sorted(route))} there, for each route"
            )
        _check_key_stays("upstream", _with_shared_keys(raw, routes[0]), route)
        routes[0].update(route)
    rewriter = {name: RewriterSettings.model_fields[name].default for name in ("base_url", "api_key_env")}
    judge = {"api_key_env": JUDGE_KEY, "base_url": _judge_upstream(raw)}
    models = (
        ("judge", judge, raw.get("judge"), overrides.get("judge")),
        (
            "rewriter",
            rewriter,
            _inner(raw, "replays").get("rewriter"),
            _inner(overrides, "replays").get("rewriter"),
        ),
    )
    for section, usual, own, values in models:
        if isinstance(own, dict) and isinstance(values, dict):
            _check_key_stays(section, usual | own, values)
    _check_variables()
    if "routes" not in raw and "EVENKEEL_ROUTES" not in os.environ:
        raise SettingsError(f"{where}: {_without_routes(raw)}")

    # A class of its own for each load, because pydantic-settings asks the class for the sources.
    class LoadedSettings(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            # Settings come from three places; a `.env` that lies about would be a fourth that nobody sees.
            del dotenv_settings, file_secret_settings
            return init_settings, env_settings, InitSettingsSource(settings_cls, raw)

    try:
        # Earlier sources win: the command line, the environment, the file.
        return LoadedSettings(**overrides)
    except ValidationError as error:
        raise SettingsError("\n".join(_faults(error, where, overrides))) from error
    except UnreadableVariableError as error:
        # The library names the section alone.
        section = str(error).split('"')[1].upper()
        raise SettingsError(
            f"EVENKEEL_{section}, or EVENKEEL_{section}__…: is not JSON ({error.__cause__}); lists and "
            "sections in variables are"
        ) from error


def _without_routes(raw: Mapping[str, Any]) -> str:
    """Say what is wrong with settings that name no route."""
    odd = next((name for name in raw if name not in Settings.model_fields), None)
    if odd is not None:  # usually "routes", mistyped
        return f"{odd}: {_unknown((odd,))}"
    return (
        "no upstream to forward to; name one under `routes:` in the file of --config, or with the option "
        "--upstream of `up` and `proxy`"
    )


def _stand_in(raw: dict[str, Any]) -> None:
    """Add a route to `NOWHERE`. A judge without an endpoint would use that route's, so it gets OpenAI's."""
    raw["routes"] = [{"upstream": NOWHERE}]
    judge = _inner(raw, "judge")
    if judge.get("model") and not judge.get("base_url"):
        judge["base_url"] = _OPENAI


def _check_variables() -> None:
    """Refuse variables of an unknown section, such as `EVENKEEL_ALERT__WEBHOOK`, which pydantic ignores."""
    for variable in os.environ:
        # Names without two underscores in a row are credentials, such as EVENKEEL_JUDGE_API_KEY.
        section, divider, _ = variable.removeprefix("EVENKEEL_").lower().partition("__")
        if divider and variable.startswith("EVENKEEL_") and section not in Settings.model_fields:
            raise SettingsError(f"{variable}: {_unknown((section,))}")


def _with_shared_keys(raw: Mapping[str, Any], route: Mapping[str, Any]) -> dict[str, Any]:
    """Return a route of the file, with the key variables of replays and judge that its upstream gets."""
    replays, judge = _inner(raw, "replays"), _inner(raw, "judge")
    usual = replays.get("api_key_env", ReplaySettings().api_key_env)
    return {
        **route,
        "replays": usual,
        "judge": None if judge.get("base_url") else judge.get("api_key_env"),
    }


def _judge_upstream(raw: Mapping[str, Any]) -> str | None:
    """Return the first route's upstream if the judge section names a key; that key is for this upstream."""
    routes, judge = raw.get("routes"), _inner(raw, "judge")
    first = routes[0] if isinstance(routes, list) and routes else None
    return first.get("upstream") if isinstance(first, dict) and judge.get("api_key_env") else None


def _inner(values: Mapping[str, Any], section: str) -> dict[str, Any]:
    inner = values.get(section)
    return inner if isinstance(inner, dict) else {}


def _check_key_stays(section: str, own: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse an option that replaces the file's endpoint but not its key: the key would go to another server.

    Raises: SettingsError.
    """
    setting = "upstream" if section == "upstream" else "base_url"
    held = None
    for name in _KEY_VARIABLES:
        variable = None if name in values else own.get(name)
        if held is None and variable and os.environ.get(str(variable)):
            held = variable
    if held is None or setting not in values or own.get(setting) is None:
        return
    try:
        same = Upstream.parse(str(own[setting])).same_origin(Upstream.parse(str(values[setting])))
    except ValueError:
        return  # Validation reports the invalid URL.
    if same:
        return
    # Keys of judge and rewriter can be named on the command line; a route's key only in the file.
    if section == "upstream":
        option, remedy = "--upstream", "set the upstream there, with its own key"
    else:
        option, remedy = f"--{section}-url", f"name its key with --{section}-key-env"
    raise SettingsError(
        f"{option} names another server than the file, and would send it the key in {held}; {remedy}"
    )


class _UniqueKeys(yaml.SafeLoader):
    """Reads YAML, and refuses a mapping with a name that stands twice, of which YAML takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - as in the base class
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                line = key.start_mark.line + 1
                if key.value in lines:
                    raise SettingsError(
                        f"{key.value!r} stands in lines {lines[key.value]} and {line}; write it once"
                    )
                lines[key.value] = line
        return super().construct_mapping(node, deep)


# Tag of `<<`, which takes over what another mapping holds.
_MERGE: Final = "tag:yaml.org,2002:merge"


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)  # noqa: S506 - made of the safe loader
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: is not text in UTF-8, so no settings file") from error
    except RecursionError as error:
        raise SettingsError(f"{path}: is nested too deeply") from error
    # For some tags the YAML library lets Python's own conversion errors through.
    except (yaml.YAMLError, ValueError, LookupError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", error)).split())
        if "'\\t'" in problem:
            problem = "a line begins with a tab; indent with spaces"
        raise SettingsError(f"{path}:{line} is not YAML: {problem}") from error
    if raw is None:  # an empty file, or one of comments alone
        return {}
    if not isinstance(raw, dict):
        raise SettingsError(f"{path}: must be a mapping such as `routes: [...]`, not a {type(raw).__name__}")
    odd = next((name for name in raw if not isinstance(name, str)), None)
    if odd is not None:
        raise SettingsError(f"{path}: {odd!r} is not the name of a setting")
    return raw


def _faults(error: ValidationError, file: str, overrides: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line about each fault, with the file or the variable in which it is.

    Unknown names come first: a mistyped name is often the cause of a "missing" setting as well.
    """
    faults = sorted(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
    for fault in faults[:_MOST_FAULTS]:
        path = ""
        for part in fault["loc"]:
            path += f"[{part}]" if isinstance(part, int) else f".{part}"
        path = path.removeprefix(".")
        where = _outside(fault["loc"], overrides) or file
        # A check of a whole section, say of two settings that exclude each other, may have no path.
        said = f"{where}: {path}: " if path else f"{where}: "
        if fault["type"] == "extra_forbidden":
            yield f"{said}{_unknown(fault['loc'])}"
        else:
            yield f"{said}{_in_words(fault)}{_wrong_value(fault) if path else ''}"
    if len(faults) > _MOST_FAULTS:
        yield f"and {len(faults) - _MOST_FAULTS} more like these"


def _outside(location: tuple[int | str, ...], overrides: Mapping[str, Any]) -> str:
    """Return the variable that holds a setting, or the section around it; "" if the file holds it."""
    inner: Any = overrides if location else None
    name = "EVENKEEL"
    variable = ""
    for depth, part in enumerate(location):
        inner = inner.get(part) if isinstance(inner, dict) else None
        name += f"{'__' if depth else '_'}{str(part).upper()}"
        if name in os.environ:
            variable = name
    return variable if inner is None else "the command line"


_MAPPING: Final = "must be a mapping, with a blank behind each colon"
# Messages by type of pydantic's fault, where its own would need knowledge of pydantic.
_WORDS: Final = {
    "missing": "is missing",
    "too_short": "has too few entries",
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "path_type": "must be a path",
}
_PATTERNS: Final = {
    NAME_PATTERN: "must be 1 to 63 lower-case letters, digits, “_”, “.” or “-”, "
    "beginning with a letter or digit",
    PREFIX_PATTERN: "must be a path such as /support: with a slash before each part and none at the end",
    ADDRESS_PATTERN: "must be an address such as redis.example:6379",
    TAG_PATTERN: "must be a language tag such as en, pt-BR or zh-Hans",
}
_SHARE: Final = "; it is a share: 10 % is 0.1"


def _in_words(fault: ErrorDetails) -> str:
    """Return the fault in words that need no knowledge of pydantic."""
    context, value = fault.get("ctx", {}), fault["input"]
    if fault["type"] == "string_pattern_mismatch":
        return _PATTERNS.get(context["pattern"], f"must match {context['pattern']}")
    words = fault["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    words = words.partition(", unable to")[0]
    # Who writes 10 or 10% where at most 1 may stand means a share.
    is_share = 1 in {context.get("le"), context.get("lt")}
    is_share = is_share or (str(value).endswith("%") and "float" in fault["type"])
    return _WORDS.get(fault["type"], words) + (_SHARE if is_share else "")


def _wrong_value(fault: ErrorDetails) -> str:
    """Return the wrong value in parentheses; "" if it is long or nested, or may hold a credential."""
    value = fault["input"]
    # The messages of our own checks repeat what may be repeated.
    if fault["type"] in {"missing", "value_error"} or not isinstance(value, str | int | float | None):
        return ""
    # An address may hold a password, and what is long or stands in these sections a token.
    if isinstance(value, str) and ("://" in value or len(value) > _LONGEST_SHOWN):
        return ""
    if {"headers", "people", "tokens"} & set(fault["loc"]):
        return ""
    return f" (it is {'empty' if value is None else repr(value)})"


def _unknown(location: tuple[int | str, ...]) -> str:
    """Return the message about an unknown setting: its removal, or the setting with the most similar name."""
    names = [part for part in location if isinstance(part, str)]
    if names[:2] == ["budget", "prices"]:
        del names[2:3]  # the model, which users name
    remedy = GONE.get(".".join(names))
    if remedy is not None:
        return f"is gone: {remedy}"
    *section, unknown = names
    # Names of the section itself, then those of all, for which it may be meant.
    siblings: dict[str, str] = {}
    others: dict[str, str] = {}
    for path in _places(Settings):
        others.setdefault(path[-1], ".".join(path))
        if list(path[:-1]) == section:
            siblings[path[-1]] = path[-1]
    for known in (siblings, others):
        for near in difflib.get_close_matches(unknown.lower(), known, n=1):
            return f"unknown setting; did you mean {known[near]!r}?"
    return "unknown setting; docs/reference/settings.md lists all there are"


def _places(section: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each setting below a section, as a tuple of names."""
    for name, field in section.model_fields.items():
        yield (name,)
        for inner in _sections_in(field.annotation):
            yield from ((name, *rest) for rest in _places(inner))


def _sections_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in get_args(annotation):
        yield from _sections_in(part)


# Settings whose names end so name the environment variable that holds a credential.
_VARIABLES: Final = "_env"
# A list of such variables.
_NOTIFIED: Final = "alerts.notify"
# An address that is a credential itself: whoever knows the path may post there.
_WEBHOOK: Final = "alerts.webhook"
# A mapping whose values may be credentials: the header that selects a route.
_HEADERS: Final = "routes.match.headers."


def settings_in_effect(settings: Settings) -> str:
    """Return the settings that differ from their defaults, in the order of the reference page.

    Of a credential there is only "set" or "not set": not even the name of its variable, in place of which
    somebody may have written the credential.
    """
    changed = _without_secrets("", settings.model_dump(mode="json", exclude_defaults=True))
    return yaml.safe_dump(changed, sort_keys=False, allow_unicode=True)


def _without_secrets(place: str, value: Any) -> Any:
    """Return a value, or a whole section, as it may be shown; `place` is its dotted name without numbers."""
    if isinstance(value, dict):
        shown = {}
        for name, item in value.items():
            shown[name] = _without_secrets(f"{place}.{name}".lstrip("."), item)
        return shown
    if isinstance(value, list):
        return [_without_secrets(place, item) for item in value]
    if place.endswith(_VARIABLES) or place == _NOTIFIED:
        return "set" if value and os.environ.get(value) else "not set"
    if value and (place == _WEBHOOK or place.startswith(_HEADERS)):
        return "set"
    return without_credentials(value) if isinstance(value, str) else value
