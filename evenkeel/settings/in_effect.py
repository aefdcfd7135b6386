"""Settings in effect, section by section, with no credential among them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from evenkeel.console import SettingLine, SettingsSection
from evenkeel.settings.types import meanings, without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

    from evenkeel.settings import Settings

# Settings whose names end so name the environment variable that holds a credential.
_VARIABLES: Final = "_env"
# Lists of such variables; of these even the number that is set says enough.
_NAMES_OF_VARIABLES: Final = frozenset({"alerts.notify"})
# Addresses that are credentials themselves: whoever knows the path may post there.
_SECRET_PATHS: Final = frozenset({"alerts.webhook"})
# Mappings whose values may be credentials, such as the header that selects a route.
_VALUES_HIDDEN: Final = frozenset({"routes.match.headers"})


def settings_in_effect(settings: Settings) -> tuple[SettingsSection, ...]:
    """Every section with the settings that differ from their defaults, in the order of the reference page.

    Of a credential there is only "set" or "not set": not even the name of its variable, in place of which
    somebody may have written the credential.
    """
    return tuple(_sections("", "", settings))


def _sections(shown: str, place: str, section: BaseModel) -> Iterator[SettingsSection]:
    """A section and those within it.

    Args:
        shown: its name with numbers, such as "routes[0]".
        place: the same without.
        section: its values.
    """
    lines: list[SettingLine] = []
    below: list[tuple[str, str, BaseModel]] = []
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        # At the top, where the place is empty, nothing stands before the dot.
        within = f"{place}.{name}".lstrip(".")
        inside = list(_inside(name, value))
        for own, subsection in inside:
            below.append((f"{shown}.{own}".lstrip("."), within, subsection))
        # A section has lines of its own below; anything else is one line here.
        if not inside and not _is_default(value, field):
            lines.append(_line(name, within, value, meanings(type(section)).get(name, "")))
    if lines:
        yield SettingsSection(shown, tuple(lines))
    for own, within, value in below:
        yield from _sections(own, within, value)


def _inside(name: str, value: object) -> Iterator[tuple[str, BaseModel]]:
    if isinstance(value, BaseModel):
        yield name, value
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if isinstance(item, BaseModel):
                yield f"{name}[{number}]", item
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, BaseModel):
                yield f"{name}.{key}", item


def _is_default(value: Any, field: FieldInfo) -> bool:
    default = field.default if field.default_factory is None else None
    return default is not PydanticUndefined and bool(value == default)


def _line(name: str, place: str, value: Any, meaning: str) -> SettingLine:
    credential = name.endswith(_VARIABLES) or place in _NAMES_OF_VARIABLES | _SECRET_PATHS
    return SettingLine(
        name=name,
        value=_credential(place, value) if credential else _shown(place, value),
        meaning=" ".join(meaning.split()),
        credential=credential,
    )


def _credential(place: str, value: Any) -> str:
    if place in _NAMES_OF_VARIABLES:
        held = []
        for variable in value:
            if os.environ.get(variable):
                held.append(variable)
        return f"{len(held)} of {len(value)} set" if value else "not set"
    is_set = bool(value) if place in _SECRET_PATHS else bool(value and os.environ.get(value))
    return "set" if is_set else "not set"


def _shown(place: str, value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(_shown(place, item) for item in value)
    if isinstance(value, dict):
        hidden = place in _VALUES_HIDDEN
        lines = []
        for key, item in value.items():
            lines.append(f"{key}: {'set' if hidden else _shown(place, item)}")
        return ", ".join(lines)
    return without_credentials(str(value))
