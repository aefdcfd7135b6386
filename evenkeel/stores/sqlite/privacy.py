"""Permissions of a store's files: only their owner may read them.

The files hold prompts and answers. They are made with mode 0600 in a folder of mode 0700, whatever the umask
is; SQLite gives its write-ahead log and index the mode of the database. A store that was made otherwise, by
a copy, is repaired when it is opened.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from typing import TYPE_CHECKING

from evenkeel.stores.errors import StoreError
from evenkeel.stores.keys import KEY_FILES

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("evenkeel.store")

LOCK_FILE = "lock"
"""Name of the lock file in the data folder; the process that holds the folder locks it."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_OF_A_VOLUME = "lost+found"


def make_private(path: Path) -> None:
    """Make the file of a store, and its folder, if they are not there.

    Raises: OSError if they cannot be made.
    """
    path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    # Never one that is there: closing it would give up the locks that SQLite has on it in this process.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _FILE_MODE))


def keep_private(path: Path, *, folder_too: bool = True) -> None:
    """Take the rights of others away from the files of a store, and from its folder.

    The folder is left alone if it is somebody else's, or holds more than a store: then the files' own modes
    protect them.

    Args:
        path: The database.
        folder_too: Whether the folder is one for a store.

    Raises: StoreError if others may read or write a file and this process may not change that.
    """
    only_ours = True
    for entry in path.parent.iterdir():
        # SQLite's write-ahead log and index are named after the database.
        if entry.name.startswith(path.name) or entry.name == LOCK_FILE:
            _mend(entry)
        elif entry.name not in KEY_FILES and entry.name != _OF_A_VOLUME:
            only_ours = False
    if folder_too and only_ours:
        _mend_folder(path.parent)


def _mend(path: Path) -> None:
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or not status.st_mode & _OTHERS:
            return
        path.chmod(_FILE_MODE)
        changed = path.lstat()
    except FileNotFoundError:
        return  # A write-ahead log comes and goes.
    except OSError as error:
        raise StoreError(
            f"other users may read {path} (mode {stat.S_IMODE(status.st_mode):04o}) and this process may not "
            f"change that ({error.strerror}): have its owner (user id {status.st_uid}) run `chmod 600`, or "
            "choose another folder with --data-dir"
        ) from error
    if changed.st_mode & _OTHERS:
        raise StoreError(
            f"other users may read {path}, and its file system keeps the mode "
            f"{stat.S_IMODE(changed.st_mode):04o} whatever it is set to: choose a folder on another one with "
            "--data-dir"
        )
    log.warning("other users could read %s (mode %04o); it is 0600 now", path, stat.S_IMODE(status.st_mode))


def _mend_folder(folder: Path) -> None:
    status = folder.stat()
    shared = status.st_mode & stat.S_ISVTX  # A folder for everybody, as /tmp is.
    if shared or not status.st_mode & _OTHERS or status.st_uid != os.geteuid():
        return
    with contextlib.suppress(OSError):  # the files in it are private all the same
        folder.chmod(_FOLDER_MODE)
        log.warning(
            "other users could open %s (mode %04o); it is 0700 now", folder, stat.S_IMODE(status.st_mode)
        )
