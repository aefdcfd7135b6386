"""`evenkeel challenge`: start, status with its exit code, list, stop."""

import json
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from evenkeel.cli import baseline
from evenkeel.cli.main import main
from evenkeel.runtime.stores import opened, settings_of_stores
from tests.release.challenge.test_challenge_figures import PAIR, WORSE

SETTINGS = """
data_dir: {folder}
routes:
  - {{name: support, upstream: "https://api.example.com/v1"}}
  - {{name: sales, upstream: "https://api.example.com/v1", match: {{prefix: /sales}}}}
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "evenkeel.yaml"
    path.write_text(SETTINGS.format(folder=tmp_path / "data"))
    with opened(settings_of_stores(path, None), create=True):
        pass
    return path


@pytest.fixture
def call(config):
    def run(*arguments):
        return CliRunner(env={"EVENKEEL_USER": "ann"}).invoke(
            main, ["challenge", *arguments, "--config", str(config)]
        )

    return run


@pytest.fixture
def fill(config):
    """Store pairs of the running challenger of a route."""

    def store(route, *parts):
        with opened(settings_of_stores(config, None)) as stores:
            running = stores.challenges.running(route)
            pairs = [pair for count, pair in parts for _ in range(count)]
            for number, pair in enumerate(pairs):
                stores.challenges.add(replace(pair, challenge=running.id, exchange=str(number), judged=True))

    return store


@pytest.mark.parametrize(
    ("parts", "code", "answer", "said"),
    [
        (((1200, PAIR),), 0, "may_switch", "small may take over on support."),
        (((300, PAIR), (100, WORSE)), 1, "must_not", "small must not take over on support: its answers are"),
        ((), 3, "not_yet", "No pair has been compared yet. "),
        (((40, PAIR),), 3, "not_yet", "Not yet known whether small may take over on support."),
    ],
)
def test_the_status_says_the_decision_and_its_exit_code(call, fill, parts, code, answer, said):
    assert call("--route", "support", "--model", "small").exit_code == 0
    fill("support", *parts)
    done = call("status", "--route", "support")
    assert done.exit_code == code, done.output
    assert said in " ".join(done.output.split())
    record = json.loads(call("status", "--json").output)
    assert record["decision"] == answer
    assert record["pairs"] == sum(count for count, _ in parts)


def test_a_challenger_is_stopped_and_what_it_has_shown_stays(call, fill):
    call("--route", "support", "--model", "small")
    fill("support", (5, PAIR))
    assert call("stop", "--route", "support").exit_code == 0
    assert "stopped already" in call("stop").output
    assert json.loads(call("list", "--json").output)[0]["pairs"] == 5


def test_another_challenger_of_the_route_takes_its_place(call):
    call("--route", "support", "--model", "small")
    done = call("--route", "support", "--model", "smaller")
    assert "small is stopped" in done.output
    states = {found["name"]: found["stopped_at"] for found in json.loads(call("list", "--json").output)}
    assert states["smaller"] is None
    assert states["small"] is not None


@pytest.mark.parametrize(
    ("running", "arguments", "said"),
    [
        ((), (), "name what is to be tried"),
        ((), ("--upstream", "nonsense"), "needs a scheme and a host"),
        ((), ("--model", "m", "--prompt", sys.executable), "is not UTF-8"),
        ((), ("--prompt", os.devnull), "/dev/null: is empty; a system message needs a text"),
        ((), ("--route", "nowhere", "--model", "m"), "no route 'nowhere'"),
        ((), ("status",), "no challenger; start one"),
        ((), ("stop", "--route", "sales"), "no challenger on route sales"),
        (("support", "sales"), ("status",), "add --route NAME"),
        # Dropped there, they would show the status of another route or store.
        ((), ("--route", "support", "status"), "write the options after status"),
    ],
)
def test_mistakes_are_said_with_what_to_do(call, running, arguments, said):
    for route in running:
        call("--route", route, "--model", "small")
    done = call(*arguments)
    assert done.exit_code == 2
    assert said in done.output


def test_nobody_starts_or_stops_a_challenger_without_a_name(config):
    for arguments in (("--route", "support", "--model", "small"), ("stop",)):
        whole = ["challenge", *arguments, "--config", str(config)]
        done = CliRunner(env={"EVENKEEL_USER": "", "USER": ""}).invoke(main, whole)
        assert done.exit_code == 2
        assert "no name for the audit log" in done.output


@pytest.mark.parametrize(
    ("route", "said"),
    [("support", ""), ("suport", "no route 'suport' is known to"), ("default", "it has support; if it is")],
)
def test_without_settings_a_route_is_one_that_was_measured(tmp_path, monkeypatch, route, said):
    """A challenger of a misspelt route would never be asked anything."""
    cells = [SimpleNamespace(key=SimpleNamespace(route="support"))]
    monkeypatch.setattr(baseline, "reports_of", lambda *_: cells)
    with opened(settings_of_stores(None, tmp_path), create=True):
        pass
    options = ["--route", route, "--model", "m", "--by", "ann", "--data-dir", str(tmp_path)]
    done = CliRunner().invoke(main, ["challenge", *options])
    assert (done.exit_code, said in done.output) == (2 if said else 0, True)
