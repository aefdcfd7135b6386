"""Completion in bash."""

import os
import subprocess
import sys

import pytest

from evenkeel.cli.main import COMMANDS

PROGRAM = "from evenkeel.__main__ import main\nmain()\n"


@pytest.fixture
def environment(tmp_path):
    """Variables with `evenkeel` on the path."""
    program = tmp_path / "evenkeel"
    program.write_text(f"#!{sys.executable}\n{PROGRAM}")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb"}


def test_bash_completes_commands_options_and_choices(environment):
    """The last word of each line is begun."""
    script = 'eval "$(_EVENKEEL_COMPLETE=bash_source evenkeel)"\n'
    for line in ("evenkeel in", "evenkeel incidents list --st", "evenkeel incidents list --state res"):
        script += (
            f"COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}; COMPREPLY=()\n"
            "_evenkeel_completion evenkeel 2>/dev/null\n"
            'printf "%s\\n" "${COMPREPLY[*]}"\n'
        )
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["incidents", "--state", "resolved"]


def test_completing_a_command_loads_none(environment):
    """The first word is answered from the list of commands, so a key press takes no seconds."""
    asked = {"_EVENKEEL_COMPLETE": "bash_complete", "COMP_WORDS": "evenkeel ", "COMP_CWORD": "1"}
    program = "import sys, atexit\natexit.register(lambda: print('numpy' in sys.modules, file=sys.stderr))\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}sys.argv = ['evenkeel']\n{PROGRAM}"],
        env={**environment, **asked}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = [line.partition(",")[2] for line in done.stdout.splitlines()]
    assert names == [name for name in COMMANDS if COMMANDS[name]]
    assert done.stderr.strip() == "False"
