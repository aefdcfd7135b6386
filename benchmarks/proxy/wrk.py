"""Load by `wrk`, a generator in C: it is never slower than what it measures."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.proxy.machine import HOST, NotMeasured
from benchmarks.proxy.payloads import wrk_script

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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
