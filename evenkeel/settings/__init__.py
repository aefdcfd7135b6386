"""Settings: what may stand in `evenkeel.yaml`, on the command line and in the environment.

Precedence: command line, then `EVENKEEL_…` variables (`EVENKEEL_LISTEN__PORT=8200`), then the
file, then the defaults. Secrets never stand in settings: a setting names the environment variable.

`types` (types of values) → one module a group of sections (`server`, `routes`, `replay`, `scoring`,
`storage`) → `settings`. A new setting is one line in its section.
"""

from evenkeel.settings.routes import Credential, Fallback, Route, route_table
from evenkeel.settings.settings import NOWHERE, Settings, SettingsError, load
from evenkeel.settings.storage import Redis

__all__ = [
    "NOWHERE",
    "Credential",
    "Fallback",
    "Redis",
    "Route",
    "Settings",
    "SettingsError",
    "load",
    "route_table",
]
