"""Real services and receivers of messages for tests: on the loopback, on free ports, stopped at the end."""

import contextlib
import json
import socket
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

_RESERVED = []
"""Sockets that are bound and do not listen, until the end of the process."""


def free_port():
    """A port for a server that is stopped and started as often as a test likes: nobody else gets it.

    It stays bound here without listening, which hinders no server with `SO_REUSEADDR`.
    """
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _RESERVED.append(sock)
    return sock.getsockname()[1]


def wait_for(question, what="", timeout_s=240):
    """The first true answer; a service that is not there yet has none."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            answer = question()
        except (httpx2.HTTPError, ValueError):
            answer = None
        if answer:
            return answer
        time.sleep(0.1)
    raise AssertionError(f"waited {timeout_s} s in vain {what}".strip())


@contextlib.contextmanager
def service(folder, command, *arguments):
    """A program of the Prometheus family, ready to answer; gives its address.

    Its log is written to the folder.
    """
    url = f"http://127.0.0.1:{free_port()}"
    listening = f"--web.listen-address={url.removeprefix('http://')}"
    with (folder / f"{command}.log").open("wb") as log:
        process = subprocess.Popen([command, *arguments, listening], stdout=log, stderr=log, cwd=folder)
        try:
            wait_for(lambda: httpx2.get(f"{url}/-/ready").is_success, f"for {command}")
            yield url
        finally:
            process.terminate()
            process.wait(240)


@contextlib.contextmanager
def prometheus(folder, config):
    """A Prometheus with a configuration of the folder; gives its address."""
    with service(
        folder, "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}"
    ) as url:
        yield url


@contextlib.contextmanager
def served(handler):
    """Serves HTTP by a handler class, in threads of its own; gives its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def receiver(status=200, keep=lambda post, body: body, read=json.loads):
    """Answers every message that is posted with a status; gives its address and what was kept of each."""
    messages = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            messages.append(keep(self, read(self.rfile.read(int(self.headers["content-length"])))))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with served(Receiver) as url:
        yield f"{url}/", messages


def installed(pytestconfig, tmp_path_factory, name, folder, command):
    """A folder that a program fills: once, and kept in pytest's cache if it has one; else the test skips."""
    cache = getattr(pytestconfig, "cache", None)
    kept = (cache.mkdir(name) if cache else tmp_path_factory.mktemp(name)) / folder
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=kept.parent) as fresh:
            done = subprocess.run(
                command, cwd=fresh, capture_output=True, text=True, timeout=500, check=False
            )
            if done.returncode:
                why = (done.stderr.strip().splitlines() or ["the installer failed"])[-1]
                pytest.skip(f"needs {name}: {' '.join(map(str, command))} ({why})")
            # Another process of the same run may have been faster.
            with contextlib.suppress(OSError):
                (Path(fresh) / folder).rename(kept)
    return kept
