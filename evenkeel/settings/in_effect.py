"""Settings in effect as YAML, with no credential among them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import yaml

from evenkeel.settings.types import without_credentials

if TYPE_CHECKING:
    from evenkeel.settings import Settings

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
