"""The environment of another tool: its interpreter and the commands beside it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.upgrades.detectors import NotInstalledError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LONGEST_S = 600


class RivalError(RuntimeError):
    """A tool that failed; the message holds what it said."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a tool is installed."""

    tool: str
    python: str
    """Path of the interpreter; "" = none was given."""

    def command(self, *arguments: str) -> list[str]:
        """The tool's own command with arguments.

        Raises: NotInstalledError.
        """
        return [str(self._beside(self.tool)), *arguments]

    def script(self, source: Path, *arguments: str) -> list[str]:
        """A script that imports the tool, run by its interpreter.

        Raises: NotInstalledError.
        """
        return [str(self._beside(Path(self.python).name)), str(source), *arguments]

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        fine: Sequence[int] = (0,),
        stdin: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder that is also its home.

        Args:
            command: With its arguments.
            folder: Where it runs, and keeps what it keeps.
            fine: Exit codes that are no failure.
            stdin: What it is given to read.
            variables: Of the environment, beyond the search path and the home.

        Raises: RivalError if it exits with another code.
        """
        done = subprocess.run(
            command,
            cwd=folder,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
            check=False,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **(variables or {})},
        )
        if done.returncode not in fine:
            said = (done.stderr or done.stdout).strip()[-800:]
            raise RivalError(f"{self.tool} ended with {done.returncode}: {said}")
        return done

    def _beside(self, name: str) -> Path:
        if not self.python:
            how = f"pip install {self.tool} in an environment of its own, then --rival {self.tool}=PYTHON"
            raise NotInstalledError(how)
        found = Path(self.python).parent / name
        if not found.is_file():
            raise NotInstalledError(f"no {found}")
        return found
