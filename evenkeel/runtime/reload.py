"""Settings that change while evenkeel runs.

`difference` says what differs between two settings and what of it needs a restart. `Reloader` reads them
again, refuses what is not good as a whole, and remembers how that went. `Follower` asks it to, on SIGHUP and
when the file has changed. What then happens is up to the process (`evenkeel.runtime.launcher`): a data plane
takes the new routes for new requests, everything else finishes what it holds and starts again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenkeel import logs
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot


# Sections and settings that can change while evenkeel runs; every other one needs a restart.
_LIVE: Final = frozenset(
    (
        "routes",
        "replays",
        "judge",
        "budget",
        "alerts",
        "storage.archive",
        "storage.verdicts",
        "storage.evidence",
        "storage.evidence_days",
        "telemetry.log_level",
        "telemetry.log_format",
        "telemetry.trace_url",
    )
)
_UNSET: Final = "not set"
_HIDDEN: Final = "(hidden)"
_SHOWN_CHARACTERS: Final = 120
# Values of these may be credentials in themselves: a header rule may be about a key, and many addresses of
# webhooks need no other.
_SECRET: Final = re.compile(r"routes\.[^.]+\.match\.headers(\..*)?|alerts\.webhook")
# Credentials within an address.
_USER: Final = re.compile(r"(?<=://)[^/@\s\"]+@")
# Query of an address, in which keys may stand.
_QUERY: Final = re.compile(r"(://[^?\s\"]*)\?[^\s\"]*")


# Seconds between two checks of the file.
_POLL_S: Final = 2.0
log = logging.getLogger("evenkeel.settings")
# Sections that keep their values from the start, which hold the actual port and folder.
_AS_STARTED: Final = ("listen", "access", "data_dir")


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that differs. Its values can be shown: they never contain a credential."""

    path: str
    """Path such as `routes.triage.sampling_rate`; routes go by their names."""
    before: str
    after: str

    @property
    def live(self) -> bool:
        """Tell whether the setting can change without a restart."""
        return any(self.path == name or self.path.startswith(f"{name}.") for name in _LIVE)

    def __str__(self) -> str:
        return f"{self.path}: {self.before} → {self.after}"


def difference(before: Settings, after: Settings) -> tuple[SettingChange, ...]:
    """Return every setting that differs, in the order of its path.

    A route that is new or gone is one change, as is another order of the routes that stay. What is null or an
    empty mapping is "not set". Long values are cut.
    """
    old, new = _leaves(before), _leaves(after)
    changes = []
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            changes.append(SettingChange(path, _shown(path, old.get(path)), _shown(path, new.get(path))))
    return tuple(_whole_routes(changes, before, after))


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


def _whole_routes(changes: list[SettingChange], before: Settings, after: Settings) -> Iterator[SettingChange]:
    old = [route.name for route in before.routes]
    new = [route.name for route in after.routes]
    one_sided = set(old) ^ set(new)
    for change in changes:
        route = next((name for name in one_sided if change.path.startswith(f"routes.{name}.")), None)
        if route is None:
            yield change
        elif change.path == f"routes.{route}.upstream":
            yield SettingChange(f"routes.{route}", change.before, change.after)
    stayed_old = [name for name in old if name not in one_sided]
    stayed_new = [name for name in new if name not in one_sided]
    if stayed_old != stayed_new:
        yield SettingChange("routes", ", ".join(stayed_old), ", ".join(stayed_new))


class WatchedFile:
    """Detects that a file has changed and is no longer being written.

    An editor writes in steps: a change counts when two looks in a row have seen the same. Content is
    compared, a few kilobytes each time: a file that was only touched has not changed, and one that was
    replaced within the resolution of the file system's clock, or through a symbolic link as in Kubernetes,
    has.
    """

    def __init__(self, path: Path | None) -> None:
        """Args: path: the file, which has just been read; None = no file, which never changes."""
        self._path = path
        self._taken = self._seen = _content(self._path)

    def look(self) -> bool:
        """Return whether there is a change to load. Blocks on the file."""
        now = _content(self._path)
        settled = now == self._seen and now != self._taken
        self._seen = now
        if settled:
            self._taken = now
        return settled

    def taken(self) -> None:
        """Note that the file is being read for another reason: its current content is not a change."""
        self._taken = self._seen = _content(self._path)


class Follower:
    """Waits for reasons to reload, for as long as the process lives."""

    def __init__(self, reloader: Reloader) -> None:
        """Args: reloader: does the reloading."""
        self.reloader = reloader
        self._file = WatchedFile(reloader.source.path)
        self._asked = asyncio.Event()
        self._at_a_terminal = _terminal()

    async def run(self, apply: Callable[[Settings], None]) -> None:
        """Reload whenever there is a reason, until cancelled.

        Args:
            apply: Called in the event loop with settings that are good and differ.
        """
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._hung_up)
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), _POLL_S)
            asked = self._asked.is_set()
            self._asked.clear()
            settings = await asyncio.to_thread(self._reload, asked=asked)
            if settings is not None:
                apply(settings)

    def _reload(self, *, asked: bool) -> Settings | None:
        if asked:
            self._file.taken()
        elif not self._file.look():
            return None
        return self.reloader.reload()

    def _hung_up(self) -> None:
        if self._at_a_terminal and not _terminal():
            # Nobody asked to reload: the terminal in which evenkeel was started has been closed.
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            self._asked.set()


def _terminal() -> bool:
    """Tell whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class SettingsSource:
    """Source of the settings of a process."""

    path: Path | None
    """Path of the file; None for none."""
    read: Callable[[], Settings]
    """Reads file, environment and command line, and looks up the names in them. Raises SettingsError."""


class Reloader:
    """Holds the settings in effect. Used by one thread at a time."""

    def __init__(
        self, source: SettingsSource, written: Settings, running: Settings, *, clock: Callable[[], float]
    ) -> None:
        """Remember the settings at the start.

        Args:
            source: Source of the settings.
            written: Settings as read at the start.
            running: Settings as the process runs them, with the actual ports.
            clock: Unix time in seconds.
        """
        self.source = source
        self.running = running
        """Settings in effect."""
        self.problem = ""
        """Error in the settings last read; "" without one."""
        self._written = written
        self._contents = _contents(written)
        self._clock = clock
        self._reloaded_at = clock()

    def reload(self) -> Settings | None:
        """Read the settings and log the result.

        Returns: the settings if they are valid and differ, else None. Blocks.
        """
        try:
            settings = self.source.read()
            contents = _contents(settings)
            changes = difference(self._written, settings)
            changes += tuple(
                SettingChange(name, str(path), f"{path} (its new content)")
                for name, path in _files(settings).items()
                if contents[name] != self._contents[name] and path == _files(self._written)[name]
            )
        except SettingsError as error:
            self._refuse(str(error))
            return None
        except Exception as error:  # noqa: BLE001 - the boundary of what a person may have written
            self._refuse(f"{self._where()}: {type(error).__name__}: {error}")
            return None
        fixed = [change.path for change in changes if not change.live]
        if fixed:
            self._refuse(
                f"{self._where()}: restart needed for {', '.join(fixed)}; restart evenkeel, or take that "
                "back to have the rest applied"
            )
            return None
        self.problem = ""
        self._reloaded_at = self._clock()
        if not changes:
            log.info("settings read again from %s: nothing has changed", self._where())
            return None
        for change in changes:
            log.info("settings changed: %s", change)
        self._written, self._contents = settings, contents
        kept = {name: getattr(self.running, name) for name in _AS_STARTED}
        self.running = settings.model_copy(update=kept)
        logs.configure(settings.telemetry.log_level, settings.telemetry.log_format)
        return self.running

    def snapshot(self) -> Snapshot:
        """Return gauges of the last attempt's result and the time of the last success, as in Prometheus."""
        return {
            "counters": [],
            "gauges": [
                ["settings_reload_success", {}, 0 if self.problem else 1],
                ["settings_last_reload_timestamp_seconds", {}, self._reloaded_at],
            ],
        }

    def _refuse(self, problem: str) -> None:
        self.problem = problem
        log.error("settings not reloaded, the old ones stay in force: %s", problem)

    def _where(self) -> str:
        return str(self.source.path) if self.source.path else "the environment"


def _files(settings: Settings) -> dict[str, Path | None]:
    """Return the files that are named by settings and read with them, by setting."""
    return {"alerts.limits": settings.alerts.limits}


def _contents(settings: Settings) -> dict[str, str]:
    return {name: _content(path) for name, path in _files(settings).items()}


def _content(path: Path | None) -> str:
    """Return a digest of a file that the settings name; "" without one, or if it cannot be read."""
    if path is None:
        return ""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
