"""Each page about integrations followed with the newest client: the answer is the direct one, and is scored.

Run from the root of the repository; it needs the package indexes of Python and Node, and some minutes:

    python -m tests.integrations.newest_clients
    python -m tests.integrations.newest_clients --only other-clients --keep /tmp/clients

For each program on a page of `docs/integrations`: what the page installs before it is installed, in an
environment of its own; the program is run with the page's exported variables, once with the simulated
model's address and once with evenkeel's; both must print the same; and the request must turn up
with a rating of its identical resend. Ends with 1 if that failed for any program.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel.lab.simulated_apis import APIS
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from tests.integrations.pages import blocks, every_program, exports
from tests.kit.relaying import running

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.integrations.pages import Block
    from tests.kit.relaying import Running

_INSTALL_S, _RUN_S, _SCORED_S = 600.0, 120.0, 20.0
_ANSWER_S = 120.0
"""The monitor may still be starting."""
_RATED = re.compile(r'^evenkeel_ratings_total\{.*rating="\d",.*trial="control"\} (\S+)', re.MULTILINE)
_SHOWN = re.compile(r"http://127\.0\.0\.1:8100")


class FailedError(Exception):
    """Following a page failed. The message says where."""


@dataclass(frozen=True, slots=True)
class Client:
    """An environment with what a page installs."""

    folder: Path
    install: tuple[str, ...]
    """The page's lines, `pip install …` or `npm install …`."""

    def prepare(self) -> None:
        """Make the environment, unless it is there from an earlier run."""
        if (self.folder / "ready").exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(line.startswith("pip ") for line in self.install):
            self._do([sys.executable, "-m", "venv", "venv"])
        for line in self.install:
            self._do(["sh", "-c", line])
        (self.folder / "ready").touch()

    def run(self, block: Block, variables: Mapping[str, str], text: str) -> str:
        """What the program prints."""
        program = self.folder / block.title
        program.write_text(text, encoding="utf-8")
        command = "python" if block.language == "python" else "node"
        return self._do([command, program.name], timeout_s=_RUN_S, variables=variables)

    def _do(
        self, command: list[str], timeout_s: float = _INSTALL_S, variables: Mapping[str, str] | None = None
    ) -> str:
        path = f"{self.folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, "PATH": path, **(variables or {})},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if done.returncode:
            why = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
            raise FailedError(f"`{' '.join(command)}` ended with {done.returncode}: {why}")
        return done.stdout.strip()


def installed_for(program: Block) -> tuple[str, ...]:
    """The last install line before a program: that of its section, else that of the page."""
    found: tuple[str, ...] = ()
    for block in blocks():
        if block == program:
            return found
        lines = [line for line in block.text.splitlines() if line.startswith(("pip install", "npm install"))]
        if block.page == program.page and block.language == "sh" and lines:
            found = tuple(lines)
    raise LookupError(program.title)


def at(address: str, text: str) -> str:
    """A text of a page with another address for evenkeel's, and a key that anybody may know."""
    return _SHOWN.sub(address, text).replace("…", "none")


def scored(evenkeel: Running) -> float:
    """How many exchanges have a rating of their identical resend."""
    page = evenkeel.page("/metrics")
    return sum(map(float, _RATED.findall(page)))


def follow(block: Block, client: Client, simulated: str, evenkeel: Running) -> str:
    """Run a program directly and through evenkeel, and wait for the verdict; what it printed.

    Raises: FailedError if it ended badly, printed something else, or was not scored.
    """
    said = []
    before = scored(evenkeel)
    for address in (simulated, evenkeel.url):
        variables = {name: at(address, value) for name, value in exports(block.page).items()}
        said.append(client.run(block, variables, at(address, block.text)))
    direct, through = said
    if direct != through or not direct:
        raise FailedError(f"direct it printed {direct!r}, through evenkeel {through!r}")
    deadline = time.monotonic() + _SCORED_S
    while scored(evenkeel) <= before:
        if time.monotonic() > deadline:
            raise FailedError(f"not scored after {_SCORED_S:.0f} s")
        time.sleep(0.2)
    return through


def main() -> int:
    """Follow the pages and print a line for each program; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", metavar="PAGE", help="one page, such as other-clients")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="keep the environments for the next run")
    options = parser.parse_args()
    chosen = [block for block in every_program() if options.only in (None, block.page)]
    model = Simulation(
        [ModelState("simulated-1", fragility=0, noise=0)], SimulationSettings(deterministic=True), apis=APIS
    )
    bad = 0
    with tempfile.TemporaryDirectory() as name, serving(model) as simulated:
        folder = Path(name)
        rates = ("--upstream", f"{simulated}/v1", "--sampling-rate", "1")
        with running("up", folder, *rates, admin=True) as evenkeel:
            for block in chosen:
                install = installed_for(block)
                place = re.sub(r"\W+", "-", " ".join(install)).strip("-")
                client = Client((options.keep or folder / "clients").absolute() / place, install)
                started = time.monotonic()
                try:
                    client.prepare()
                    outcome = f"same answer, scored: {follow(block, client, simulated, evenkeel)!r}"
                except (FailedError, subprocess.TimeoutExpired) as error:
                    bad += 1
                    outcome = f"FAILED: {error}"
                took = time.monotonic() - started
                print(f"{block.page:<15} {block.title:<11} {took:5.0f} s  {'; '.join(install)}  {outcome}")
    print(f"{len(chosen) - bad} of {len(chosen)} programs as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
