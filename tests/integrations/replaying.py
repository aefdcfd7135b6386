"""A replay, as a worker sends it."""

from evenkeel.shadow.replay import Replayer


async def replayed(target, view):
    """Return the upstream's answer to a replay of an unchanged prompt."""
    replayer = Replayer(concurrency=1, timeout_s=240)
    try:
        return await replayer.send(target, view.for_replay(), api=view.api)
    finally:
        await replayer.close()
