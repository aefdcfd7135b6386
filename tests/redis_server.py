"""A real Redis for tests: on a free port, with a folder of its own, stopped at the end."""

import contextlib
import itertools
import os
import signal
import subprocess
import time
from dataclasses import replace

import redis

from evenkeel.stores.redis.connection import RedisPlace, RedisStore
from tests.services import free_port


class RedisServer:
    """A server process; it can be killed, stopped and started again on its port and files."""

    def __init__(self, folder, *arguments, port=None):
        self.folder = folder
        self.port = port or free_port()
        self.arguments = arguments
        self.process = None
        self.start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self):
        self.process = subprocess.Popen(
            [
                "redis-server",
                *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)),
                *("--save", "", "--appendonly", "no", "--logfile", str(self.folder / "redis.log")),
                *self.arguments,
            ]
        )
        with redis.Redis(port=self.port, retry=None) as client:
            deadline = time.monotonic() + 240
            while time.monotonic() < deadline:
                with contextlib.suppress(redis.ConnectionError, redis.BusyLoadingError):
                    client.ping()
                    return
                with contextlib.suppress(redis.AuthenticationError):
                    return
                time.sleep(0.02)
        raise AssertionError((self.folder / "redis.log").read_text())

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(240)


_numbers = itertools.count()


def a_store(server, **place):
    """A store of its own in the server: no test sees what another has left."""
    given = RedisPlace(url=server.url, prefix=f"test{os.getpid()}.{next(_numbers)}")
    return RedisStore(replace(given, **place))
