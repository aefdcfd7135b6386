"""How many connections of clients a data-plane process may have, by its limit on open files."""

from __future__ import annotations

import contextlib
import logging
import resource

log = logging.getLogger("evenkeel.proxy")

_MOST_FILES = 262_144
_MOST_CONNECTIONS = 65_536
_FILES_OF_ONE = 2
"""The client's connection and one to the upstream."""
_RESERVED = 128
"""For the store, the admin port, clients that are turned away, names that are resolved."""
_RESERVED_SHARE = 8
"""One file in so many as well, for connections to upstreams that are kept while nobody uses them."""


def raised_limit() -> int:
    """Open files that this process may have, once it has asked for as many as it may ask for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return _MOST_FILES if soft == resource.RLIM_INFINITY else soft
    with contextlib.suppress(OSError, ValueError):  # not everywhere the stated maximum is granted
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft


def connections_within(files: int) -> int:
    """Connections of clients that so many open files leave room for.

    Each may need two files. Some are kept back for everything else: half of them at most, however few there
    are.
    """
    reserved = min(files // 2, _RESERVED + files // _RESERVED_SHARE)
    return min(_MOST_CONNECTIONS, max(1, (files - reserved) // _FILES_OF_ONE))


def connection_limit(wanted: int | None) -> int:
    """Connections of clients that this process takes.

    Args:
        wanted: as the settings say; a warning is logged if there is no room for as many. None = all there is
            room for.
    """
    files = raised_limit()
    room = connections_within(files)
    if wanted is None or wanted <= room:
        return wanted or room
    log.warning(
        "listen.connections is %d, but %d open files leave room for %d connections: that is the limit; "
        "raise the hard one (ulimit -Hn)",
        wanted,
        files,
        room,
    )
    return room
