"""The change response where several monitors could give it: the one that holds the lease does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenkeel.runtime.changes.responder import Responder
    from evenkeel.runtime.stores import Lease

log = logging.getLogger("evenkeel")

LEASE_S: Final = 30.0
_RENEW_S: Final = 10.0
_POLL_S: Final = 2.0


async def respond(stop: asyncio.Event, responder: Responder, lease: Lease) -> None:
    """Step while the lease is held, until `stop` is set. A store in trouble is tried again."""
    reported = ""
    while not stop.is_set():
        try:
            if await asyncio.to_thread(lease.hold):
                await _step(responder, lease)
            reported = ""
        except Exception as error:  # noqa: BLE001 - the boundary of this task: it must live on
            if repr(error) != reported:
                reported = repr(error)
                log.warning("changes cannot be responded to (%s); trying again", error)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _POLL_S)
    with contextlib.suppress(Exception):  # a courtesy: the lease runs out anyway
        await asyncio.to_thread(lease.leave)


async def _step(responder: Responder, lease: Lease) -> None:
    """One step, which may take minutes; the lease is renewed meanwhile."""
    renewing = asyncio.create_task(_renew(lease))
    try:
        await responder.step()
    finally:
        renewing.cancel()


async def _renew(lease: Lease) -> None:
    while True:
        await asyncio.sleep(_RENEW_S)
        with contextlib.suppress(Exception):  # tried again in time; if not, another one takes over
            await asyncio.to_thread(lease.hold)
