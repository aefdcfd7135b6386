"""Completion, in the shells themselves where they are installed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import COMMANDS, main

PROGRAM = "from evenkeel.__main__ import main\nmain()\n"


@pytest.fixture
def environment(tmp_path):
    """Variables with `evenkeel` on the path."""
    program = tmp_path / "evenkeel"
    program.write_text(f"#!{sys.executable}\n{PROGRAM}")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb"}


@pytest.fixture
def in_bash(environment):
    """What bash offers after some words, the last of which may be begun."""

    def offered(line):
        words = shlex.split(line) + ([""] if line.endswith(" ") else [])
        listed = " ".join(map(shlex.quote, words))
        script = (
            'eval "$(evenkeel completion bash)"\n'
            f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}\n"
            "_evenkeel_completion evenkeel 2>/dev/null\n"
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "--norc", "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    return offered


def test_bash_completes_commands_options_and_choices(in_bash):
    """By the script that `evenkeel completion bash` prints, in bash itself."""
    assert in_bash("evenkeel in") == ["incidents"]
    assert in_bash("evenkeel incidents list --st") == ["--state"]
    assert in_bash("evenkeel incidents list --state res") == ["resolved"]


@pytest.mark.parametrize(("shell", "check"), [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_each_script_is_one_of_its_shell(tmp_path, shell, check):
    """Read by the shell, where it is installed; it calls `evenkeel` and nothing else of ours."""
    script = CliRunner().invoke(main, ["completion", shell]).stdout
    assert f"_EVENKEEL_COMPLETE={shell}_complete" in script
    if shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(script)
        subprocess.run([shell, check, path], check=True)


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes_without_a_framework(environment, tmp_path):
    """The line in the documentation is all that a new `.zshrc` needs."""
    script = 'eval "$(evenkeel completion zsh)"; print $_comps[evenkeel]'
    done = subprocess.run(
        ["zsh", "-fc", script],
        env={**environment, "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("_evenkeel_completion\n", "")


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_choices(environment, tmp_path):
    """From the folder in which the documentation puts the script."""
    folder = tmp_path / ".config" / "fish" / "completions"
    folder.mkdir(parents=True)
    (folder / "evenkeel.fish").write_text(CliRunner().invoke(main, ["completion", "fish"]).stdout)
    done = subprocess.run(
        ["fish", "-c", "complete -C 'evenkeel incidents list --state '"],
        env={**environment, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    offered = {found.partition("\t")[0] for found in done.stdout.splitlines()}
    assert offered == {"open", "acknowledged", "resolved"}


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
