"""Small commands."""

from __future__ import annotations

import hashlib
import subprocess
import sys

from click.testing import CliRunner

from evenkeel.cli.main import COMMANDS, main


def test_fingerprint_names_a_key_without_showing_it():
    """The first 16 hex digits of its SHA-256."""
    done = CliRunner().invoke(main, ["fingerprint", "SOME_KEY"], env={"SOME_KEY": "sk-1"})
    assert done.output == hashlib.sha256(b"sk-1").hexdigest()[:16] + "\n"


def test_an_empty_variable_is_an_error():
    """One line, exit code 2."""
    done = CliRunner().invoke(main, ["fingerprint", "NO_SUCH_KEY"], env={"NO_SUCH_KEY": None})
    assert done.exit_code == 2
    assert "NO_SUCH_KEY is empty" in done.output


def test_every_command_has_help_that_fits():
    """`--help` of each command says what it does."""
    for name, summary in COMMANDS.items():
        if summary:
            assert CliRunner().invoke(main, [name, "--help"]).output.count("\n") > 4, name


def test_the_help_of_the_program_loads_no_command():
    """It lists what there is at once; the parts that only the supervisor starts are left out."""
    script = (
        "import sys; from evenkeel.cli.main import COMMANDS, main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted({'numpy', 'litestar', 'openai'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert [name for name, summary in COMMANDS.items() if summary and f"  {name} " not in shown] == []
    assert "child" not in shown
    assert shown.splitlines()[-1] == "[]"
