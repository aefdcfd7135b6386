"""What is sent and answered: bodies as applications send them, in three sizes.

Load by `wrk`, a generator in C: it is never slower than what it measures.
"""

from __future__ import annotations

import base64
import json
import random
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.proxy.machine import HOST, NotMeasured

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


KB = 1 << 10

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "User-Agent": "OpenAI/Python",
    "Authorization": "Bearer not-a-key-just-a-usual-length-of-one-000000000000",
    "X-Stainless-Lang": "python",
    "X-Stainless-OS": "Linux",
}
"""Besides `Host` and `Content-Length`."""

_SENTENCE = "The customer reports that the device restarts whenever the charger is connected. "


def _body(content: object, *, stream: bool) -> bytes:
    fields: dict[str, object] = {"model": "m", "messages": [{"role": "user", "content": content}]}
    if stream:
        fields["stream"] = True
    return json.dumps(fields, separators=(",", ":")).encode()


def text_body(size: int, *, stream: bool = False) -> bytes:
    """A chat request with about so many bytes of text."""
    text = (_SENTENCE * (size // len(_SENTENCE) + 1))[: max(1, size - 70)]
    return _body(text, stream=stream)


def image_body(size: int) -> bytes:
    """A chat request with an image of about so many bytes, in base64 as the API wants it."""
    image = base64.b64encode(random.Random(1).randbytes(size * 3 // 4)).decode()
    url = {"url": f"data:image/png;base64,{image}"}
    return _body([{"type": "text", "text": _SENTENCE}, {"type": "image_url", "image_url": url}], stream=False)


def request_bytes(path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """A whole POST request."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in {**HEADERS, **headers}.items()]
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def wrk_script(path: str, headers: Mapping[str, str], body_file: str) -> str:
    """The same request for `wrk`, which then prints what it counted as one line of numbers."""
    lines = ['wrk.method = "POST"', f'wrk.path = "{path}"']
    lines += [f'wrk.headers["{name}"] = "{value}"' for name, value in {**HEADERS, **headers}.items()]
    lines += [
        f'wrk.body = io.open("{body_file}", "rb"):read("*a")',
        "done = function(summary, latency, requests)",
        "  local e = summary.errors",
        '  print(string.format("counted %d %d %d %d", summary.requests, summary.duration, summary.bytes,',
        "    e.connect + e.read + e.write + e.status + e.timeout))",
        "end",
    ]
    return "\n".join(lines) + "\n"


_COUNTED = re.compile(r"counted (\d+) (\d+) (\d+) (\d+)")
_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Counted:
    """What `wrk` counted."""

    requests: int
    seconds: float
    size_bytes: int
    """Received, heads included."""
    errors: int


class Wrk:
    """One request, to be sent again and again."""

    def __init__(self, path: str, headers: Mapping[str, str], body: bytes, folder: Path) -> None:
        """Write the script.

        Args:
            path: Of the request.
            headers: Besides the usual ones.
            body: Of the request.
            folder: For the script and the body.
        """
        body_file = folder / "body"
        body_file.write_bytes(body)
        self._script = folder / "post.lua"
        self._script.write_text(wrk_script(path, headers, str(body_file)))

    def run(self, port: int, connections: int, seconds: float) -> Counted:
        """Send it for a while.

        Raises: NotMeasured with what `wrk` printed if it does not count.
        """
        # Its unit is whole seconds.
        for_s = max(1, round(seconds))
        command = ["wrk", "-t1", f"-c{connections}", f"-d{for_s}s", "--timeout", f"{_PATIENCE_S:g}s"]
        try:
            done = subprocess.run(
                [*command, "-s", str(self._script), f"http://{HOST}:{port}"],
                capture_output=True,
                text=True,
                check=False,
                timeout=for_s + _PATIENCE_S,
            )
        except subprocess.TimeoutExpired as error:
            raise NotMeasured(f"wrk did not end within {for_s + _PATIENCE_S:g} s") from error
        found = _COUNTED.search(done.stdout)
        if found is None:
            raise NotMeasured(f"wrk: {(done.stderr or done.stdout).strip()[:200]}")
        requests, micros, size, errors = map(int, found.groups())
        return Counted(requests, micros / 1e6, size, errors)
