"""Run the tutorial as it is written and take its pictures: `.venv/bin/python -m tests.docs.pictures`.

The pages of `docs/tutorial` are followed in order, in an empty folder: titled blocks become files, blocks of
`sh` are run (those titled "terminal …" in the background, to the end). At each
`<!-- picture: NAME PLACE HEIGHT -->` the script waits until all that was sampled is scored and takes
`docs/pictures/NAME.png` of that page of the console. Blocks that begin with `make` are left out: they set up
what this script runs with. Needs Chromium; `--keep-pictures` follows the pages without it.
"""

import argparse
import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import httpx2
from PIL import Image

from evenkeel.simulate.demo import free_port
from tests.kit.chromium import browser
from tests.services import wait_for

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ("index.md", "alert.md")
PICTURES = ROOT / "docs" / "pictures"
_PROXY, _ADMIN, _SIMULATION = 8100, 8101, 8102
_STEP = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$'
    r"|^<!-- picture: (?P<picture>\S+) (?P<place>\S+)(?: (?P<height>\d+))? -->$",
    re.MULTILINE | re.DOTALL,
)
_EXPORT = re.compile(r"^export (\w+)=(.*)$", re.MULTILINE)
_LARGEST_BYTES = 120_000
_WIDTH, _HEIGHT = 1200, 900
_START_S = 240.0
_SETTLE_S = 300.0
_QUIET_LOOKS = 4


class Walk:
    """The state of somebody who follows the tutorial."""

    def __init__(self, folder, page):
        self._folder = folder
        self._page = page
        self._ports = {port: free_port(port) for port in (_PROXY, _ADMIN, _SIMULATION)}
        self._console = f"http://127.0.0.1:{self._ports[_ADMIN]}"
        self._background = []
        self._environment = {name: value for name, value in os.environ.items() if name[:9] != "EVENKEEL_"}

    def follow(self, text):
        """Do what a page says, in order."""
        for step in _STEP.finditer(text):
            language, title, content = step["language"], step["title"] or "", self._local(step["text"] or "")
            if step["picture"]:
                self._settle()
                self._shoot(step["picture"], step["place"], int(step["height"] or _HEIGHT))
            elif title == "install":
                continue  # what is walked is installed already
            elif language in {"yaml", "python"}:
                (self._folder / title).write_text(content, encoding="utf-8")
            elif language == "sh" and title:
                self._start(title, content)
            elif language == "sh":
                self._environment.update(_EXPORT.findall(content))
                print("$", content.strip(), flush=True)
                subprocess.run(
                    ["/bin/sh", "-ec", content], cwd=self._folder, env=self._environment, check=True
                )

    def stop(self):
        """End what runs in the background."""
        for process in reversed(self._background):
            process.terminate()
            process.wait(_START_S)

    def _local(self, text):
        for port, ours in self._ports.items():
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{ours}")
        return text

    def _start(self, title, command):
        simulation = "simulate" in command
        port = self._ports[_SIMULATION if simulation else _PROXY]
        healthy = self._ports[_SIMULATION if simulation else _ADMIN]
        extra = "" if simulation else f" --admin-port {healthy}"
        command = f"exec {command.strip()}{extra} --port {port}"
        print(f"[{title}] $", command, flush=True)
        log = self._folder / f"{title}.log"
        with log.open("wb") as said:
            self._background.append(
                subprocess.Popen(
                    ["/bin/sh", "-c", command],
                    cwd=self._folder,
                    env=self._environment,
                    stdout=said,
                    stderr=said,
                )
            )

        def answers():
            with socket.socket() as probe:
                is_well = httpx2.get(f"http://127.0.0.1:{healthy}/healthz").is_success
                return is_well and probe.connect_ex(("127.0.0.1", port)) == 0

        wait_for(answers, f"for {title}, which writes {log}")

    def get(self, path):
        """Answer of the admin API."""
        answer = httpx2.get(f"{self._console}{path}", headers=self._token(), timeout=240.0)
        return answer.raise_for_status().json()

    def _token(self):
        token = (self._folder / "evenkeel-data" / "admin-token").read_text(encoding="ascii").strip()
        return {"authorization": f"Bearer {token}"}

    def settled_cells(self):
        """All cells, once everything that was sampled is scored."""
        self._settle()
        return cast("list[dict[str, Any]]", self.get("/api/cells")["cells"])

    def _settle(self):
        """Wait until all that was sampled is scored."""
        deadline = time.monotonic() + _SETTLE_S
        quiet = 0
        while quiet < _QUIET_LOOKS:  # what was captured is handed over in batches
            pipeline = self.get("/api/pipeline")
            quiet = quiet + 1 if not pipeline["waiting"] + pipeline["leased"] else 0
            time.sleep(0.5)
            if time.monotonic() > deadline:
                sys.exit("the queue does not empty")

    def _shoot(self, name, place, height):
        if self._page is None:
            return
        shifted = "/trials?model=helpdesk-2&perturbation=general.spelling&rating=1"
        if place == "first-shifted":
            place = self._first_link(shifted, "/verdicts/")
        elif place == "first-incident":
            place = self._first_link("/incidents", "/incidents/")
        elif place == "first-change":
            place = self._first_link("/incidents", "/changes/")
        self._page.set_extra_http_headers(self._token())
        answer = self._page.goto(f"{self._console}{place}")
        if answer is None or not answer.ok:
            sys.exit(f"{place} cannot be shown")
        self._page.wait_for_timeout(500)
        self._page.evaluate("document.fonts.ready")
        height = min(height, int(self._page.evaluate("document.body.scrollHeight")))
        path = PICTURES / f"{name}.png"
        shot = Image.open(
            BytesIO(self._page.screenshot(clip={"x": 0, "y": 0, "width": _WIDTH, "height": height}))
        ).convert("RGB")
        shot.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path, optimize=True)
        size = path.stat().st_size
        print(f"{path.relative_to(ROOT)}: {size:,} bytes", flush=True)
        if size > _LARGEST_BYTES:
            sys.exit(f"{path.name} is larger than {_LARGEST_BYTES:,} bytes")

    def _first_link(self, place, prefix):
        """The first link on a page of the console that leads to one below the prefix."""
        assert self._page is not None
        self._page.goto(f"{self._console}{place}")
        return str(self._page.locator(f"main a[href^='{prefix}']").first.get_attribute("href"))


def main():
    """Follow the tutorial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep-pictures", action="store_true", help="follow the pages, take no pictures")
    given = parser.parse_args()
    with contextlib.ExitStack() as held:
        page = None
        if not given.keep_pictures:
            page = held.enter_context(browser()).new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-tutorial-")))
        (folder / ".venv").symlink_to(ROOT / ".venv")
        walk = Walk(folder, page)
        held.callback(walk.stop)
        started = time.monotonic()
        for name in TUTORIAL:
            walk.follow((ROOT / "docs" / "tutorial" / name).read_text(encoding="utf-8"))
        print(f"\nfollowed {', '.join(TUTORIAL)} in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
