"""Settings from a file, the environment and the command line, with errors of one line."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

from evenkeel.settings.everything import Settings
from evenkeel.settings.values import Section

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel


class SettingsError(Exception):
    """Settings that cannot be used. The message is one line: where, what is wrong, what to do."""


def load(path: Path | None, overrides: dict[str, Any], route: dict[str, Any]) -> Settings:
    """Read the settings file and the environment, and lay the command line's values over them.

    Args:
        path: the YAML file, None for none.
        overrides: nested values from the command line.
        route: command-line values of the route, for a setup that has one.

    Raises:
        SettingsError: with a one-line message.
    """
    raw = _read_yaml(path) if path else {}
    where = str(path) if path else "settings"
    if route:
        routes = raw.setdefault("routes", [{}])
        if not isinstance(routes, list) or len(routes) != 1 or not isinstance(routes[0], dict):
            raise SettingsError(
                f"{where}: has several routes; set {', '.join(sorted(route))} there, for each route"
            )
        routes[0].update(route)
    if "routes" not in raw and "EVENKEEL_ROUTES" not in os.environ:
        raise SettingsError(
            f"{where}: no upstream to forward to; name one with --upstream URL, or under `routes:` in a file"
        )

    class Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            del dotenv_settings, file_secret_settings
            return init_settings, env_settings, InitSettingsSource(settings_cls, raw)

    try:
        return Loaded(**overrides)
    except ValidationError as error:
        raise SettingsError(f"{where}: {_describe(error)}") from error


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        raise SettingsError(f"{path}:{line} is not YAML: {getattr(error, 'problem', error)}") from error
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise SettingsError(f"{path}: must be a mapping such as `routes: [...]`, not a {type(raw).__name__}")
    return raw


def _describe(error: ValidationError) -> str:
    """The first fault in one line, and how many more there are."""
    faults = error.errors()
    fault = faults[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    if fault["type"] == "extra_forbidden":
        unknown = str(fault["loc"][-1])
        near = difflib.get_close_matches(unknown, _known_names(), n=1)
        text = f"{place}: unknown setting" + (f"; did you mean {near[0]!r}?" if near else "")
    else:
        message = fault["msg"].removeprefix("Value error, ")
        given = "" if fault["type"] in {"missing", "value_error"} else f" (it is {fault['input']!r})"
        text = f"{place}: {message}{given}" if place else message
    return text + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else "")


def _known_names() -> list[str]:
    sections: list[type[BaseModel]] = [Settings, *Section.__subclasses__()]
    return [name for section in sections for name in section.model_fields]
