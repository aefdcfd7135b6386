"""Small commands."""

from __future__ import annotations

import hashlib

from click.testing import CliRunner

from evenkeel.cli.main import main


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
    for name, command in main.commands.items():
        if not command.hidden:
            assert CliRunner().invoke(main, [name, "--help"]).output.count("\n") > 4, name
