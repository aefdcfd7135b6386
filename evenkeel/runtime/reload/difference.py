"""What differs between two settings, in words that may stand in a log."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.settings import Settings

_LIVE: Final = frozenset(
    (
        "routes",
        "shadow",
        "archive",
        "budget",
        "judge",
        "rewriter",
        "languages",
        "compounds",
        "prices",
        "scoring",
        "alert",
        "changes",
        "console",
        "reload",
        "storage.verdicts",
        "storage.evidence",
        "storage.evidence_days",
        "telemetry.trace_url",
    )
)
"""Sections and settings that can change while evenkeel runs; every other one needs a restart."""
_UNSET: Final = "not set"
_HIDDEN: Final = "(hidden)"
_SHOWN_CHARACTERS: Final = 120
_SECRET: Final = re.compile(r"routes\.[^.]+\.headers(\..*)?|alert\.webhook")
"""Values of these may be credentials in themselves: a header rule may be about a key, and many addresses of
webhooks need no other."""
_USER: Final = re.compile(r"(?<=://)[^/@\s\"]+@")
_QUERY: Final = re.compile(r"(://[^?\s\"]*)\?[^\s\"]*")


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting that differs. Its values are fit to be shown: nothing of a credential is in them."""

    path: str
    """As in `routes.triage.sampling_rate`; routes go by their names."""
    before: str
    after: str

    @property
    def live(self) -> bool:
        """Whether it can change without a restart."""
        return any(self.path == name or self.path.startswith(f"{name}.") for name in _LIVE)

    def __str__(self) -> str:
        return f"{self.path}: {self.before} → {self.after}"


def difference(before: Settings, after: Settings) -> tuple[SettingChange, ...]:
    """Every setting that differs, in the order of its path.

    A route that is new or gone is one change, as is another order of the routes that stay. What is null or an
    empty mapping is "not set". Long values are cut.
    """
    old, new = _leaves(before), _leaves(after)
    found = [
        SettingChange(path, _shown(path, old.get(path)), _shown(path, new.get(path)))
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    ]
    return tuple(_whole_routes(found, before, after))


def _leaves(settings: Settings) -> dict[str, Any]:
    fields = settings.model_dump(mode="json")
    fields["routes"] = {route["name"]: route for route in fields["routes"]}
    return dict(_flat("", fields))


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, below in value.items():
            yield from _flat(f"{path}.{name}".lstrip("."), below)
    elif value is not None:
        yield path, value


def _shown(path: str, value: Any) -> str:
    if value is None:
        return _UNSET
    if _SECRET.fullmatch(path):
        return _HIDDEN
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = _QUERY.sub(r"\1?…", _USER.sub("…@", text))
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _whole_routes(found: list[SettingChange], before: Settings, after: Settings) -> Iterator[SettingChange]:
    names = [[route.name for route in settings.routes] for settings in (before, after)]
    one_sided = set(names[0]) ^ set(names[1])
    for change in found:
        route = next((name for name in one_sided if change.path.startswith(f"routes.{name}.")), None)
        if route is None:
            yield change
        elif change.path == f"routes.{route}.upstream":
            yield SettingChange(f"routes.{route}", change.before, change.after)
    stayed = [[name for name in side if name not in one_sided] for side in names]
    if stayed[0] != stayed[1]:
        yield SettingChange("routes", *(", ".join(side) for side in stayed))
