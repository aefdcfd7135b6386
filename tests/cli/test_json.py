"""`--json`: each command that has a result prints it as one document; each error is one, too."""

import json

import click
import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.runtime.stores import opened, settings_of_stores
from tests.cases import cases
from tests.stores.examples import ARCHIVED

CASES = cases(__file__)

SERVING = {"up", "proxy", "worker", "monitor", "simulate", "demo", "child"}
"""These run until they are stopped; their events are JSON (`--log-format`)."""
LINES = {"goldens export", "feedback export"}
"""These print JSON lines, which other commands read."""
SCRIPTS = {"completion"}
"""Prints what a shell reads."""


def commands():
    def walk(command, path):
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                yield from walk(command.get_command(context, name), (*path, name))
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield " ".join(path)

    return set(walk(main, ()))


WITH_RESULT = sorted(commands() - SERVING - LINES - SCRIPTS)


@pytest.mark.parametrize("name", WITH_RESULT)
def test_wrong_use_is_a_document_on_standard_error(name):
    """The document has the message and the exit code; the option is a flag and takes no word behind it."""
    done = CliRunner().invoke(main, [*name.split(), "--json", "--no-such-option"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert json.loads(done.stderr) == {
        "error": {"message": "No such option '--no-such-option'.", "exit_code": 2}
    }


@pytest.fixture
def run(tmp_path):
    """Runs a command on a store with one archived exchange; gives its document."""
    with opened(settings_of_stores(None, tmp_path), create=True) as stores:
        stores.archive.put(ARCHIVED)

    def run(*arguments, code=0, store=True):
        place = ("--data-dir", str(tmp_path)) if store else ()
        done = CliRunner(env={"EVENKEEL_USER": "ann"}).invoke(main, [*arguments, "--json", *place])
        assert done.exit_code == code, done.output
        assert code == 0 or done.stdout == ""
        return json.loads(done.stdout if code == 0 else done.stderr.splitlines()[-1])

    return run


@pytest.mark.parametrize(("arguments", "said"), CASES["impossible"])
def test_what_cannot_be_done_is_a_document(run, arguments, said):
    error = run(*arguments, code=2)["error"]
    assert said in error["message"]
    assert error["exit_code"] == 2


def test_what_a_no_leaves_undone_has_exit_code_1(run):
    """Nothing is approved without a terminal to say yes at."""
    assert run("goldens", "approve", "--sample", "1", code=1)["error"] == {
        "message": "nothing approved; --yes approves a choice without asking",
        "exit_code": 1,
    }


def test_results_of_commands_that_change_something(run):
    (approved,) = run("goldens", "approve", ARCHIVED.id, "--name", "kettle")
    assert approved == {"id": "kettle", "version": 1, "route": ARCHIVED.route}
    assert run("goldens", "retire", "kettle") == [approved]
    assert run("goldens", "unretire", "kettle") == [approved]
    assert run("changes", "forget-references", "--by", "ann") == {"deleted": 0, "routes": []}


@pytest.mark.parametrize("name", ["incidents list", "changes list", "baseline list", "goldens list"])
def test_lists_without_an_entry_are_empty_arrays(run, name):
    assert run(*name.split()) == []


def test_settings_are_checked_with_a_document():
    """Problems are the result, with exit code 1."""
    done = CliRunner().invoke(main, ["check-config", "--upstream", "http://127.0.0.1:9", "--json"])
    found = json.loads(done.stdout)
    assert (done.exit_code, found["ok"], done.stderr) == (1, False, "")
    assert "cannot be reached" in found["problems"][0]
    members = "ok challengers problems judge notes keys limits reference_prompts checks"
    assert found.keys() == set(members.split())
