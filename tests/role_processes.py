"""The roles as processes: started from a settings file, waited for by their banner, stopped by SIGTERM."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2

ADMIN = ("anyone", "a-token-for-the-tests")
"""Credentials of the admin ports."""


class Role:
    """A running process of `evenkeel`."""

    def __init__(self, folder, command, config, *arguments, environment=None):
        self.log = folder / f"{command}-{time.monotonic_ns()}.log"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "evenkeel", command, "--config", str(config), *arguments],
                stdout=output,
                stderr=output,
                env={
                    **os.environ,
                    "PYTHONUNBUFFERED": "1",
                    "EVENKEEL_ADMIN_TOKEN": ADMIN[1],
                    **(environment or {}),
                },
            )

    def find(self, pattern, timeout_s=240):
        """Wait for a line of the log; returns its first group."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(pattern, self.log.read_text())
            if found:
                return found[1]
            time.sleep(0.05)
        raise AssertionError(f"no {pattern} in:\n{self.log.read_text()}")

    def end(self):
        """Wait for the end of a process that was asked to stop: its exit code."""
        try:
            return self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def send(self, number):
        """Send a signal to all processes of the role: a worker is below a supervisor of its own."""
        below = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in (self.process.pid, *map(int, below)):
            os.kill(pid, number)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def stopping(roles):
    """Stop what was started, and look at how it ended."""
    try:
        yield
    finally:
        left = [role for role in roles if role.process.poll() is None]
        for role in left:
            role.send(signal.SIGCONT)
        for role in left:
            role.process.send_signal(signal.SIGTERM)
        # Asked once: a second signal would meet an interpreter that has taken its handlers down.
        codes = [role.end() for role in left]
    for role, code in zip(left, codes, strict=True):
        assert code == 0, role.log.read_text()
        assert "Traceback" not in role.log.read_text(), role.log.read_text()


def series(url):
    """Series that a process exports: name with labels → value."""
    found = {}
    for line in httpx2.get(f"{url}/metrics", auth=ADMIN, timeout=240).text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found
