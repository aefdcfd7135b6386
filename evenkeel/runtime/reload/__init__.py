"""Settings that change while evenkeel runs.

`difference` says what differs between two settings and what of it needs a restart. `Reloader` reads them
again, refuses what is not good as a whole, and remembers how that went. `Follower` asks it to, on SIGHUP and
when the `watched` file has changed. What then happens is up to the process: a data plane takes the new routes
for new requests, everything else finishes what it holds and starts again (`supervised`, `renewed`).
"""

from evenkeel.runtime.reload.difference import SettingChange, difference
from evenkeel.runtime.reload.following import Follower
from evenkeel.runtime.reload.reloader import Reloader, SettingsSource
from evenkeel.runtime.reload.renewal import renewed
from evenkeel.runtime.reload.supervision import supervised
from evenkeel.runtime.reload.watched import WatchedFile

__all__ = [
    "Follower",
    "Reloader",
    "SettingChange",
    "SettingsSource",
    "WatchedFile",
    "difference",
    "renewed",
    "supervised",
]
