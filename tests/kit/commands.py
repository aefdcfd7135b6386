"""Commands of evenkeel, run in the test's own process."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

from evenkeel.cli.main import main


def run_command(*words: object, code: int = 0, **options: Any) -> Result:
    """Run a command, which must end with the exit code; its output is the message of a failure."""
    done = CliRunner().invoke(main, [str(word) for word in words], **options)
    assert done.exit_code == code, f"{done.output}{done.exception!r}"
    return done
