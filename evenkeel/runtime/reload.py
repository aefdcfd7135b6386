"""Settings that change while evenkeel runs.

`changed` names what differs between two settings, and `is_live` what needs no restart. `Reloader` reads them
again, on SIGHUP and when the file has changed, refuses what is not good as a whole, and remembers how that
went. What then happens is up to the process (`evenkeel.runtime.launcher`): a data plane takes the new routes
for new requests, everything else finishes what it holds and starts again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenkeel import logs
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot


# Sections and settings that can change while evenkeel runs; every other one needs a restart, because a port,
# a store or an exporter is open already.
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
# Seconds between two checks of the file: a reload is awaited by a person, and a look costs microseconds.
_POLL_S: Final = 2.0
log = logging.getLogger("evenkeel.settings")
# Sections that keep their values from the start, which hold the actual port and folder.
_AS_STARTED: Final = ("listen", "access", "data_dir")


def changed(before: Settings, after: Settings) -> list[str]:
    """Return the paths of the settings that differ, such as `alerts.threshold` and `routes.triage`.

    A route that differs in anything is one path; another order of the routes is the path `routes`.
    """
    old, new = _values(before), _values(after)
    paths = []
    for path in old.keys() | new.keys():
        if old.get(path) != new.get(path):
            paths.append(path)
    return sorted(paths)


def is_live(path: str) -> bool:
    """Tell whether a setting can change without a restart."""
    return path in _LIVE or path.partition(".")[0] in _LIVE


def _values(settings: Settings) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, section in settings.model_dump(mode="json").items():
        if name == "routes":
            # Of routes that match alike the first one wins, so their order counts.
            values["routes"] = [route["name"] for route in section]
            for route in section:
                values[f"routes.{route['name']}"] = route
        elif isinstance(section, dict):
            for setting, value in section.items():
                values[f"{name}.{setting}"] = value
        else:
            values[name] = section
    return values


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
    """Holds the settings in effect, and reads them again whenever there is a reason."""

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
        self.running = running
        """Settings in effect."""
        self.problem = ""
        """Error in the settings last read; "" without one."""
        self._source = source
        self._file = WatchedFile(source.path)
        self._written = written
        # This file is read at the start of what uses it, so a change of its content counts too.
        self._limits = _content(written.alerts.limits)
        self._clock = clock
        self._reloaded_at = clock()

    async def follow(self, apply: Callable[[Settings], None]) -> None:
        """Reload on SIGHUP, and when the file has changed, until cancelled.

        Args:
            apply: Called in the event loop with settings that are good and differ.
        """
        asked = asyncio.Event()
        at_a_terminal = _terminal()

        def hung_up() -> None:
            if at_a_terminal and not _terminal():
                # Nobody asked to reload: the terminal in which evenkeel was started has been closed.
                os.kill(os.getpid(), signal.SIGTERM)
            else:
                asked.set()

        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hung_up)
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asked.wait(), _POLL_S)
            if asked.is_set() or await asyncio.to_thread(self._file.look):
                asked.clear()
                settings = await asyncio.to_thread(self.reload)
                if settings is not None:
                    apply(settings)

    def reload(self) -> Settings | None:
        """Read the settings and log the result.

        Returns: the settings if they are valid and differ, else None. Blocks.
        """
        try:
            settings = self._source.read()
            limits = _content(settings.alerts.limits)
            paths = changed(self._written, settings)
            if limits != self._limits and "alerts.limits" not in paths:
                paths.append("alerts.limits (the content of the file)")
        except SettingsError as error:
            self._refuse(str(error))
            return None
        except Exception as error:  # noqa: BLE001 - the boundary of what a person may have written
            self._refuse(f"{self._where()}: {type(error).__name__}: {error}")
            return None
        fixed = []
        for path in paths:
            if not is_live(path):
                fixed.append(path)
        if fixed:
            self._refuse(
                f"{self._where()}: restart needed for {', '.join(fixed)}; restart evenkeel, or take that "
                "back to have the rest applied"
            )
            return None
        self.problem = ""
        self._reloaded_at = self._clock()
        if not paths:
            log.info("settings read again from %s: nothing has changed", self._where())
            return None
        # Without their values, which may be credentials.
        log.info("settings changed: %s", ", ".join(paths))
        self._written, self._limits = settings, limits
        kept = {}
        for name in _AS_STARTED:
            kept[name] = getattr(self.running, name)
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
        return str(self._source.path) if self._source.path else "the environment"


def _content(path: Path | None) -> str:
    """Return a digest of a file that the settings name; "" without one, or if it cannot be read."""
    if path is None:
        return ""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
