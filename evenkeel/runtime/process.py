"""Event loop, signals, threads, admin port and counters that all processes have in common."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import secrets
import sys
import threading
import time
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from evenkeel.core.trouble import Trouble
from evenkeel.stores.errors import StoreError
from evenkeel.stores.keys import ADMIN_TOKEN, METRICS_TOKEN, SESSION_KEY, kept, redeemed

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
    from pathlib import Path

    from litestar.types import ASGIApp

    from evenkeel.console.guard import SignIn, TokenGuard
    from evenkeel.settings import Settings
    from evenkeel.settings.server import Access
    from evenkeel.stores.counters import Snapshot


log = logging.getLogger("evenkeel")

_JOIN_S = 5.0
_MADE = (
    f"The token is in the file `{ADMIN_TOKEN}` of the data folder, `./evenkeel-data` unless set otherwise; "
    "only whoever runs evenkeel can read it. Starting evenkeel at a terminal prints a link that signs you in."
)
# Hint for people who need a token.
_NAMED = (
    "Your own token is the one of `access.people` in evenkeel's settings, the shared one that of the "
    "variable EVENKEEL_ADMIN_TOKEN; ask whoever runs evenkeel."
)
# Everything but the data plane gives way to it.
_NICENESS = 10
# Hours for which a sign-in with a browser is valid.
_SESSION_HOURS = 24.0
_PUBLISH_EVERY_S = 1.0
# Python's own turn of 5 ms would be added to requests that another thread delays.
_TURN_S = 0.0005
# New objects before a collection of the youngest generation, and collections before those of older ones.
_COLLECT_AFTER = (20_000, 20, 50)


def stay_responsive() -> None:
    """Keep the garbage collector from repeatedly traversing objects that live as long as the process.

    To be called once everything is loaded and before anything is served. A full collection holds up every
    thread until it is done: about 100 ms for the modules and the tables of languages and prices alone, and
    more with an encoder. What exists by now is left out of all later ones. What comes later is looked through
    less often than usual: that takes a tenth of the monitor's time otherwise.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


def take_short_turns() -> None:
    """Make threads that compute yield to the event loop's thread after half a millisecond, not five.

    For a data plane, whose hand-off computes, and a monitor, whose pages and fold do: an event that arrives
    meanwhile waits for its turn. `python -m benchmarks.proxy` measures how long.
    """
    sys.setswitchinterval(_TURN_S)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a uvloop event loop, or asyncio's own if uvloop is missing."""
    try:
        import uvloop  # noqa: PLC0415 - optional: not built for every platform
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


@contextlib.contextmanager
def threads(stopping: threading.Event, bodies: Sequence[Callable[[], object]]) -> Iterator[None]:
    """Run bodies in threads until the block ends; each of them watches `stopping`."""
    running = []
    for body in bodies:
        running.append(threading.Thread(target=body, daemon=True))
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in running:
            thread.join(_JOIN_S)


def step_aside() -> None:
    """Lower this process's priority: people wait for forwarded requests, but not for trials."""
    with contextlib.suppress(OSError):  # a container may forbid it; then the scheduler shares fairly
        os.nice(_NICENESS)


@contextlib.asynccontextmanager
async def served(
    make_app: Callable[[], ASGIApp | None], settings: Settings, sockets: list[socket.socket]
) -> AsyncIterator[None]:
    """Serve an application on the admin port while the block runs, guarded as the settings say.

    Without sockets nothing is served, made or loaded. Everything else should be loaded by now: what exists is
    left out of garbage collections from here on.
    """
    if not sockets:
        stay_responsive()
        yield
        return
    from evenkeel.console.server import serving  # noqa: PLC0415 - with the web framework; see above

    app = make_app()
    assert app is not None
    guard = guarded(app, settings.access, settings.data_dir)
    # After the application is made, since that loads the web framework.
    stay_responsive()
    async with serving(guard, sockets, settings.access.tls_context()):
        yield


def probes(
    settings: Settings,
    read: Callable[[], Iterable[Snapshot]],
    problems: Callable[[], dict[str, str]] | None = None,
) -> ASGIApp:
    """Return an application with metrics and health, for a process without a console.

    Args:
        settings: Name the judge.
        read: Reads the counters.
        problems: Returns what keeps it from measuring, by part; None for a process that only forwards.
    """
    # Loaded on demand: a process without an admin port stays small.
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415

    from evenkeel.console import create_probes  # noqa: PLC0415
    from evenkeel.monitor.export.snapshots import SnapshotCollector  # noqa: PLC0415

    registry = CollectorRegistry()
    registry.register(SnapshotCollector(read))
    judge = settings.judge.title if settings.judge else ""
    return create_probes(lambda: generate_latest(registry), problems, judge)


def guarded(app: ASGIApp, admin: Access, folder: Path) -> TokenGuard:
    """Return the application behind the guard that the settings require.

    Args:
        app: Application to guard.
        admin: Access settings.
        folder: The data folder; holds the tokens if the settings name none, and the key of sessions.

    Raises: ValueError if a token of somebody cannot be read any more.
    """
    # Loaded on demand: brings the web framework, which only a process that serves needs.
    from evenkeel.console.access import LoginProxy, Visitor  # noqa: PLC0415
    from evenkeel.console.guard import TokenGuard  # noqa: PLC0415

    people = []
    for person in admin.people:
        if (secret := person.token) is not None:
            people.append((secret, Visitor(person.name, person.role, "token")))
    login = None
    if admin.login is not None:
        networks = tuple(ip_network(network) for network in admin.login.addresses)
        roles = {}
        for person in admin.people:
            roles[person.name] = person.role
        login = LoginProxy(admin.login.header, networks, roles, admin.login.role)
    token = admin.token
    if admin.makes_tokens:
        token = _made(folder, ADMIN_TOKEN)
        # Prometheus keeps its token in a file, so it gets one that opens nothing but `/metrics`.
        people.append((_made(folder, METRICS_TOKEN), Visitor(role="scraper")))
    sign_in = _sign_in(admin, folder, token) if token or people else None
    return TokenGuard(app, token, admin.hosts, people, login, sign_in=sign_in)


def _made(folder: Path, name: str) -> str:
    """Return the token made at the first start; if it cannot be stored, return one that nobody knows."""
    try:
        return kept(folder, name)
    except StoreError as error:
        log.warning("the admin port has a new %s until the next start: %s", name, error)
        return secrets.token_urlsafe(32)


def _sign_in(admin: Access, folder: Path, token: str | None) -> SignIn:
    # Loaded on demand, as the guard that it is for.
    from evenkeel.console.guard import Sessions, SignIn  # noqa: PLC0415

    def redeem(code: str) -> str | None:
        return token if admin.makes_tokens and redeemed(folder, code, now=time.time()) else None

    return SignIn(
        Sessions(
            admin.session_key or _made(folder, SESSION_KEY),
            _SESSION_HOURS,
            time.time,
            secure=admin.tls is not None,
        ),
        time.time,
        whereabouts=_MADE if admin.makes_tokens else _NAMED,
        redeem=redeem,
    )


async def attend(main: Coroutine[Any, Any, None], *beside: Coroutine[Any, Any, None]) -> None:
    """Run `main` to its end, with the others beside it; cancel these when it ends."""
    tasks = [asyncio.create_task(token) for token in beside]
    try:
        await main
    finally:
        for task in tasks:
            task.cancel()


def publish_counters(
    stopping: threading.Event, publish: Callable[[Snapshot], None], snapshot: Callable[[], Snapshot]
) -> None:
    """Publish counters at once and every second until `stopping` is set, and then once more.

    Args:
        stopping: Ends the loop.
        publish: Hands the counters to the supervisor, or to the store.
        snapshot: Reads the counters.
    """
    trouble = Trouble(log, "counters cannot be published (%s); everything else goes on")
    last = False
    while True:
        with trouble:
            publish(snapshot())
        if last:
            return
        # Known before it publishes: what was counted until the stop is published, too.
        last = stopping.wait(_PUBLISH_EVERY_S)
