"""Secrets that evenkeel makes for itself, each a file of the data folder that only its owner can read.

Whoever can read the store could read prompts and answers anyway, so they may as well lie beside it. A file
that somebody else could have read, or has put there, is replaced and never trusted.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import secrets
import stat
from typing import TYPE_CHECKING, Final

from evenkeel.stores.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("evenkeel.store")

ADMIN_TOKEN: Final = "admin-token"  # noqa: S105 - the file's name
"""Name of the secret that opens everything on the admin port."""
METRICS_TOKEN: Final = "metrics-token"  # noqa: S105 - the file's name
"""Name of the secret that reads `/metrics` and nothing else."""
SESSION_KEY: Final = "session-key"
"""Name of the secret that encrypts the cookies of people who have signed in."""
LOGIN_CODE: Final = "login-code"
"""Login code in the link that the start-up banner prints; the file is removed once it was used."""
KEY_FILES: Final = frozenset({ADMIN_TOKEN, METRICS_TOKEN, SESSION_KEY, LOGIN_CODE})

LOGIN_CODE_S: Final = 3600.0
"""Seconds for which a login link can be used."""
_BYTES: Final = 32
# 32 random bytes in base64 have so many characters.
_LEAST_CHARACTERS: Final = 43
# A file with more is not a key.
_MOST_BYTES: Final = 4096
_FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def kept(folder: Path, name: str) -> str:
    """Return the secret of that name: 32 random bytes as URL-safe text, made if it does not exist.

    Processes that ask at the same time get the same one.

    Raises: StoreError if it cannot be read or kept, in one line that says what to do.
    """
    path = folder / name
    try:
        folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        secret = _read(path)
        if secret is None:
            secret = _make(path, replace=path.exists() or path.is_symlink())
    except OSError as error:
        raise StoreError(
            f"the {name} cannot be kept in {folder} ({error.strerror}): "
            "choose a writable folder with --data-dir"
        ) from error
    return secret


def fresh(folder: Path, name: str) -> str:
    """Replace the secret of that name by a new one. Raises: StoreError if it cannot be kept."""
    with contextlib.suppress(OSError):
        (folder / name).unlink()
    return kept(folder, name)


def redeemed(folder: Path, code: str, *, now: float) -> bool:
    """Return whether `code` is the login code, unused and not too old; it is then used up.

    If several processes ask at the same time, only one gets True.
    """
    path = folder / LOGIN_CODE
    try:
        secret = _read(path)
        if secret is None or not hmac.compare_digest(secret.encode(), code.encode("utf-8", "replace")):
            return False
        # Used up also when it is too old. Of several requests at once, one can remove the file.
        in_time = now - path.stat().st_mtime <= LOGIN_CODE_S
        path.unlink()
    except OSError:
        return False
    return in_time


def _read(path: Path) -> str | None:
    """Return the contents of a file that only its owner can access; None if there is none to trust."""
    try:
        # A link is not followed, and a pipe is not waited for: somebody else may have put it there.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:  # a link, or somebody else's
        log.warning("%s cannot be trusted and is made anew", path)
        return None
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(file.fileno())
        mode = stat.S_IMODE(state.st_mode)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or mode & _OTHERS:
            log.warning("other users could read or write %s (mode %04o); it is made anew", path, mode)
            return None
        text = file.read(_MOST_BYTES).decode("ascii", "replace").strip()
    return text if len(text) >= _LEAST_CHARACTERS and text.isascii() and text.isprintable() else None


def _make(path: Path, *, replace: bool) -> str:
    """Write a new secret and return it, or return the one that another process has written meanwhile."""
    made = secrets.token_urlsafe(_BYTES)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{made}\n")
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & _OTHERS:
            raise StoreError(
                f"other users could read {path}: its file system keeps the mode {mode:04o}; choose a folder "
                "on another one with --data-dir"
            )
        if replace:
            draft.replace(path)
            return made
        try:
            # A link makes the file appear whole, and only for the first of several processes.
            path.hardlink_to(draft)
        except FileExistsError:
            return _read(path) or made
        except OSError:  # a file system without hard links
            draft.replace(path)
        return made
    finally:
        draft.unlink(missing_ok=True)
