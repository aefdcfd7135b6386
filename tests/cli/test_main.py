"""Small commands."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from evenkeel.__main__ import main as start
from evenkeel.cli.main import COMMANDS, main
from evenkeel.core.version import VERSION


@pytest.mark.parametrize("name", [name for name, summary in COMMANDS.items() if summary])
def test_every_command_has_help_with_an_example(name):
    """The help says what it does, first as in the list of commands, and has a line to copy."""
    shown = CliRunner().invoke(main, [name, "--help"]).output
    assert f"evenkeel {name}" in shown.split("Options:")[0].split("\n", 1)[1]


@pytest.mark.parametrize("arguments", [("-V",), ("--version",)])
def test_the_version(arguments):
    assert CliRunner().invoke(main, arguments).output == f"evenkeel, version {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("gat",), "gate"),
        (("incidents", "lst"), "list"),
        (("gate", "--modle", "m"), "--model"),
    ],
)
def test_a_slip_gets_a_suggestion(arguments, meant):
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "Did you mean" in done.stderr.splitlines()[-1]
    assert f"'{meant}'" in done.stderr.splitlines()[-1].split("Did you mean")[1]


@pytest.mark.parametrize("option", ["--limit", "--severity", "--budget-usd", "--timeout"])
def test_what_is_no_number_is_in_no_range(option):
    """A limit in dollars that is none would stop nothing."""
    done = CliRunner().invoke(main, ["check", "-", "--model", "simulated", option, "nan"], input="Hi?")
    assert (done.exit_code, "nan is not a number" in done.stderr) == (2, True)


def test_a_command_without_standard_output_does_its_work():
    """Python has no stream for a descriptor that was closed before it started."""
    shell = f"printf Hi | {sys.executable} -m evenkeel perturb - >&-"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_help_of_the_program_loads_no_command():
    """The help lists what there is at once, but the parts that only the supervisor starts."""
    script = (
        "import sys; from evenkeel.cli.main import COMMANDS, main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted({'numpy', 'litestar', 'openai'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert [name for name, summary in COMMANDS.items() if summary and f"  {name} " not in shown] == []
    assert "child" not in shown
    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("line", "exit_code", "shown"),
    [
        ("score - <&-", 0, "0 pairs"),
        ("--help >/dev/full", 2, "nothing more can be written: No space left on device"),
        ("score pairs.jsonl | head -1", 0, ""),
        ("--help | true", 0, ""),
        # Its own code for a store that is not there, also if nobody reads why.
        ("incidents list 2>&1 | true", 2, ""),
    ],
)
def test_what_the_shell_does_to_the_streams_is_one_line(tmp_path, line, exit_code, shown):
    """A closed input is an empty one, a full disk is said; no traceback."""
    pair = '{"reference": "a", "candidate": "a"}\n'
    (tmp_path / "pairs.jsonl").write_text(pair * 1_000)
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m evenkeel {line}"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == exit_code
    assert shown in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_is_no_result(monkeypatch):
    """Exit code 1 would read as a regression to whoever runs the gate."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("evenkeel.cli.score._read", interrupt)
    done = CliRunner().invoke(main, ["score", "-", "--json"])
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr == '{"error": {"message": "stopped", "exit_code": 130}}\n'


def test_ctrl_c_while_the_program_loads_is_no_result(monkeypatch):
    """Whoever starts the wrong command stops it in its first second, and gets no traceback."""

    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setattr("os.umask", lambda mask: mask)
    monkeypatch.setitem(sys.modules, "evenkeel.cli.main", Interrupted())
    with pytest.raises(SystemExit) as ended:
        start()
    assert ended.value.code == 130
