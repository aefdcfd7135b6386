"""Reads settings again: new ones if all is well with them, else the old ones stay."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.runtime.reload.difference import SettingChange, difference
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot

log = logging.getLogger("evenkeel.settings")

_AS_STARTED: Final = ("listen", "admin", "data_dir")
"""Never change, but are known better than the file says them: which port was free, where the folder is."""


@dataclass(frozen=True, slots=True)
class SettingsSource:
    """Where the settings of a process come from."""

    path: Path | None
    """The file; None for none."""
    read: Callable[[], Settings]
    """Reads file, environment and command line, and looks up what they name. Raises SettingsError."""


class Reloader:
    """Holds the settings that are in force. One thread at a time."""

    def __init__(
        self, source: SettingsSource, written: Settings, running: Settings, *, clock: Callable[[], float]
    ) -> None:
        """Wire it.

        Args:
            source: Where they come from.
            written: As they were read at the start.
            running: As the process runs them, with the ports that were free.
            clock: Unix time in seconds.
        """
        self.source = source
        self.running = running
        """The settings in force."""
        self.problem = ""
        """What is wrong with those last read; "" if nothing is."""
        self._written = written
        self._calibration = _content(written.scoring.calibration)
        self._clock = clock
        self._reloaded_at = clock()

    def reload(self) -> Settings | None:
        """Read the settings and log what came of it; those that are good and differ, else None. Blocks."""
        try:
            found = self.source.read()
            calibration = _content(found.scoring.calibration)
            changes = difference(self._written, found)
            if calibration != self._calibration and found.scoring == self._written.scoring:
                path = str(found.scoring.calibration)
                changes += (SettingChange("scoring.calibration", path, f"{path} (its new content)"),)
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
        self._written, self._calibration = found, calibration
        kept = {name: getattr(self.running, name) for name in _AS_STARTED}
        self.running = found.model_copy(update=kept)
        return self.running

    def snapshot(self) -> Snapshot:
        """Gauges of how the last attempt went and when the last good one was, as Prometheus has its own."""
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


def _content(path: Path | None) -> str:
    """Names what is in a file that the settings name; "" without one, or if it cannot be read."""
    if path is None:
        return ""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
