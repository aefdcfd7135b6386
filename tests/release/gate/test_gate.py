"""`evenkeel gate` against a simulated model whose fragility is planted."""

import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from evenkeel.release.goldens.files import load_goldens
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, make_case, serving, summary_prompt
from evenkeel.stores.changes import ChangeStore
from evenkeel.stores.goldens import GoldenStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.kit.commands import run_command
from tests.release.gate.planted import planted_golden


@pytest.fixture(scope="module")
def model():
    """A model in use, one that is equal, one that is far worse, and one that always gives errors."""
    states = [
        ModelState("in-use"),
        ModelState("equal"),
        ModelState("worse", fragility=0.4, noise=0.02),
        ModelState("broken", error_rate=1.0),
        ModelState("dying", error_rate=0.3),
    ]
    settings = SimulationSettings(strict_models=True)
    simulation = Simulation(states, settings, rng=random.Random(3))
    with serving(simulation) as url:
        yield simulation, f"{url}/v1"


@pytest.fixture
def planted(tmp_path):
    """Writes goldens with a system prompt to `goldens.jsonl`, and gives their rows."""

    def write(count, *more, **fields):
        rows = []
        for seed in range(count):
            row = planted_golden(seed)
            system = {"role": "system", "content": "You write for engineers."}
            messages = [system, {"role": "user", "content": row.pop("prompt")}]
            rows.append({**row, "messages": messages, "task": "case_summary", **fields})
        lines = [json.dumps(row) for row in (*rows, *more)]
        (tmp_path / "goldens.jsonl").write_text("\n".join(lines), encoding="utf-8")
        return rows

    return write


@pytest.fixture
def gate(tmp_path, model):
    """Runs the command on `goldens.jsonl`: its output and its JSON report, None if it wrote none.

    The candidate is the named model of the simulation, or what the options say.
    """
    report = tmp_path / "report.json"

    def run(name, *options, code, files=(tmp_path / "goldens.jsonl",), yes=True, typed=None):
        report.unlink(missing_ok=True)
        candidate = ("--base-url", model[1], "--model", name) if name else ()
        arguments = (*files, "--json-file", report, *candidate, *options)
        command = ["gate", *map(str, arguments), *(["--yes"] if yes else [])]
        done = run_command(*command, code=code, input=typed)
        return done.output, json.loads(report.read_text(encoding="utf-8")) if report.exists() else None

    return run


@pytest.fixture
def calls(model):
    """Count how often a model was asked so far."""
    return lambda name: model[0].calls[name]


def test_an_equal_model_passes_before_all_goldens_are_asked(planted, gate):
    """Exit code 0, settled by evidence, and the calls saved are told."""
    planted(150)
    output, found = gate("equal", code=0)
    assert (found["verdict"], found["report"]["settled"], found["planned_calls"]) == ("pass", True, 300)
    assert found["saved_calls"] > 60
    assert found["ledger"]["calls"] + found["saved_calls"] == 300
    assert "saved by stopping early" in output
    assert "NOT SHOWN TO DIFFER: an excess of 10" in output


def test_a_worse_model_is_a_regression_with_reports_that_show_where(planted, gate, tmp_path):
    """Exit code 1; Markdown with diffs, JUnit with a failure, JSON with both answers."""
    planted(100)
    page, xml = tmp_path / "gate.md", tmp_path / "gate.xml"
    output, found = gate("worse", "--markdown", page, "--junit", xml, code=1)
    assert "DIFFERS: differs " in output
    assert found["saved_calls"] > 100
    first = found["fallen"][0]
    assert first["approved"]["text"] != first["answer"]["text"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("## ❌ evenkeel gate: differs\n")
    assert "| differs | regression |" in text
    assert f"<summary>{first['golden']}: differs" in text
    assert "\n-Main problem in INC-" in text
    suites = ET.parse(xml).getroot()
    assert suites.get("failures") == str(len(suites.findall(".//failure")))
    assert int(suites.get("failures")) >= 1


def test_a_cache_makes_the_second_run_free_and_equal(planted, gate, calls, tmp_path):
    """Every answer is remembered, so that a stopped run goes on and a finished one costs nothing."""
    planted(30)
    _, first = gate("equal", "--journal", tmp_path / "answers", code=3)
    before = calls("equal") + calls("in-use")
    output, second = gate("equal", "--journal", tmp_path / "answers", code=3, yes=False)
    assert calls("equal") + calls("in-use") == before
    assert second["ledger"]["remembered"] == 60
    assert second["report"] == first["report"]
    assert "Go ahead" not in output


def test_money_is_spent_only_with_a_yes(planted, gate, calls, monkeypatch):
    """Option `--yes` is required without a terminal; on one, a no ends with exit code 2 and no call."""
    planted(3)
    before = calls("equal")
    output, found = gate("equal", code=2, yes=False)
    assert "confirmation without a terminal" in output
    assert "--yes" in output
    assert found is None
    monkeypatch.setattr("evenkeel.release.kit.terminal.on_a_terminal", lambda: True)
    priced = ("--price", "equal=1/2", "--price", "in-use=0/0")
    output, _ = gate("equal", *priced, code=2, yes=False, typed="n\n")
    assert "up to 6 calls, about " in output
    assert "about $0.0015. Go ahead?" in output
    assert "no calls were made" in output
    assert calls("equal") == before
    gate("equal", *priced, code=3, yes=False, typed="y\n")
    assert calls("equal") == before + 3


def test_a_fault_of_the_gate_itself_does_not_read_as_a_regression(planted, gate, monkeypatch):
    """The exit code is 2, whatever goes wrong inside."""
    planted(3)
    monkeypatch.setattr("evenkeel.cli.gate.run_gate", lambda *_, **__: 1 / 0)
    assert gate("equal", code=2)[1] is None


def test_undecided_goldens_fail_with_a_code_of_their_own_unless_told_otherwise(planted, gate):
    """Ten goldens settle nothing about an equal model; how many would is told."""
    planted(10)
    output, found = gate("equal", code=3)
    assert (found["verdict"], found["report"]["settled"]) == ("undecided", False)
    assert "NOT SHOWN TO DIFFER after 10 goldens. Not settled: differs" in output
    assert "If no answer differs, a pass takes 31; there are 10 goldens." in output
    output, _ = gate("equal", "--undecided", "pass", code=0)
    assert "NOT SHOWN TO DIFFER only because what is undecided passes (--undecided)." in output


def test_an_endpoint_that_cannot_be_used_is_found_out_at_once(planted, gate, monkeypatch):
    """Nobody listens, an unknown model, a wrong key: exit code 2 and what to look at, after a few calls."""
    planted(100)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        output, found = gate("", "--base-url", url, "--model", "x", code=2)
    assert "COULD NOT MEASURE: the " in output
    assert "-url, and that it is up" in output
    assert found["ledger"]["calls"] <= 10
    output, found = gate("nobody", code=2)
    assert "the upstream answered 404" in output
    assert "check the model's name, --" in output
    assert found["ledger"]["calls"] <= 20
    monkeypatch.setenv("GATE_KEY", "wrong-secret")
    locked = SimulationSettings(api_key="right", deterministic=True)
    with serving(Simulation([ModelState("in-use")], locked)) as url:
        options = ("--base-url", url, "--model", "new", "--api-key-env", "GATE_KEY")
        output, found = gate("", *options, code=2)
        monkeypatch.setenv("GATE_KEY", "right")
        gate("", *options, code=0)
    assert "-key-env" in output  # of the side that was refused first
    assert "wrong-secret" not in output + json.dumps(found)
    assert found["ledger"]["calls"] <= 10


def test_goldens_that_name_no_model_say_which_option_does(planted, gate):
    """The endpoint's error names neither the side nor what to do."""
    planted(0, {"id": "bare", "prompt": "Why does my printer stop?", "answer": "Jam."})
    output, _ = gate("equal", code=2)
    assert "rejected: the reference at http://127.0.0.1" in output
    assert "the golden names no model: name one with --reference-model" in output


class Dying(random.Random):
    """Draws that are high, so that nothing fails, and after some of them low, so that every call fails."""

    def __init__(self, high):
        super().__init__(0)
        self.high = high

    def random(self):
        self.high -= 1
        return 0.0 if self.high < 0 else 0.9


def test_an_endpoint_that_fails_is_no_pass(planted, gate, model, monkeypatch):
    """Failures come from the start, or after some answers, when each call is tried twice."""
    planted(60)
    _, found = gate("broken", code=2)
    assert found["report"]["unmeasured"].keys() <= {"server_error"}
    monkeypatch.setattr(model[0], "rng", Dying(40))
    _, found = gate("dying", "--max-failures", "0", code=2)
    assert found["report"]["unmeasured"] == {"server_error": 1}


def test_a_budget_that_runs_out_is_no_pass(planted, gate):
    """The part that was measured does not settle it, so the exit code is 2."""
    planted(40)
    output, found = gate("equal", "--price", "equal=100/100", "--max-usd", "0.2", code=2)
    assert "the budget was used up" in output
    assert 0.2 <= found["ledger"]["cost_usd"] < 1.0


def test_without_a_reference_the_report_says_that_noise_is_in_it(planted, gate, calls):
    """Only the candidate is asked."""
    planted(30)
    before = calls("in-use")
    output, found = gate("worse", "--no-reference", code=1)
    assert calls("in-use") == before
    assert found["report"]["findings"][0]["reference"] is None
    assert "the noise floor could not be taken off" in output


def test_a_new_system_prompt_reaches_the_candidate_alone(planted, gate, tmp_path):
    """The reference keeps the golden's own; the file's text stands in the candidate's request."""
    planted(2)
    prompt = tmp_path / "system.txt"
    prompt.write_text("You answer in the format JSON.\nRespond as JSON.", encoding="utf-8")
    with serving(Simulation([ModelState("in-use")], SimulationSettings(deterministic=True))) as url:
        output, found = gate("", "--base-url", url, "--prompt", prompt, code=3)
    assert found["ledger"]["calls"] == 4
    assert "system prompt of system.txt" in output
    assert found["candidate"] != found["reference"]


def test_a_template_edit_takes_the_inputs_over(planted, gate, tmp_path):
    """Goldens that fit are asked with the new words around the same case; one that does not is counted."""
    planted(20, {"id": "other", "prompt": "Why does my printer stop?", "answer": "Jam."})
    head, _, _ = summary_prompt(make_case(0)).partition("\n\n")
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text(head + "\n\n{case}\n", encoding="utf-8")
    new.write_text("Summarise this case in a few sentences.\n\n{case}\n", encoding="utf-8")
    with serving(Simulation([ModelState("in-use")])) as url:
        output, found = gate("", "--base-url", url, "--template", old, "--new-template", new, code=3)
    assert (found["report"]["left_out"], found["report"]["measured"]) == ({"does_not_fit": 1}, 20)
    assert "1 of 21 goldens cannot be asked (does_not_fit 1); does_not_fit: no message" in output


def test_the_newest_version_in_use_is_asked_as_often_as_wanted(planted, gate):
    """Neither retired goldens nor older versions; three calls a side and golden, each a draw of its own."""
    first, second = planted(2)
    planted(2, {**first, "version": 2}, {**second, "version": 2, "retired_at": 1_900_000_000})
    _, found = gate("equal", "--repeats", 3, code=3)
    assert (found["report"]["goldens"], found["ledger"]["calls"]) == (1, 6)


def test_a_judge_that_rates_nothing_ends_the_gate(planted, gate, model):
    """The judge is named as what failed, or the candidate would seem to be down."""
    planted(60)
    output, _ = gate("worse", "--judge-model", "nobody", "--judge-url", model[1], code=2)
    assert (
        f"COULD NOT MEASURE: the judge nobody at {model[1]} rated nothing: The endpoint answered 404"
        in output
    )
    assert "name another with --judge-model" in output


def test_the_judge_can_rate(planted, gate, model):
    """The report says so, and the judge's tokens are counted."""
    planted(30)
    judge = ("--judge-model", "simulated-judge", "--judge-url", model[1])
    output, _ = gate("worse", *judge, code=2, yes=False)
    assert f"60 calls and those of the judge simulated-judge at {model[1]}, about" in output
    output, found = gate("worse", *judge, code=1)
    assert "rated by the judge" in output
    assert found["ledger"]["judge_tokens"] > 0


@pytest.fixture
def interruptible():
    """Programs that are started heed an interrupt, though the tests themselves may run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_run_does_not_read_as_a_regression(planted, gate, tmp_path):
    """Exit code 2, and the cache lets the next run go on."""
    planted(60)
    simulation = Simulation([ModelState("in-use", latency_s=0.25)])
    with serving(simulation) as url:
        options = ("--base-url", url, "--model", "new", "--journal", str(tmp_path / "answers"))
        program = [sys.executable, "-m", "evenkeel", "gate", str(tmp_path / "goldens.jsonl")]
        process = subprocess.Popen(
            [*program, "--yes", *options],
            stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert any("of 60 goldens" in line for line in iter(process.stderr.readline, ""))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=240)
        assert process.returncode == 2
        assert "stopped before the verdict; run it again to continue" in said
        simulation.change("in-use", {"latency_s": 0.0})
        output, found = gate("", *options, code=0)
    assert found["ledger"]["remembered"] >= 6
    assert "remembered" in output


def test_settings_name_the_routes_upstreams(planted, gate, model, tmp_path):
    """Goldens are put to the upstream of their route; the candidate may be elsewhere."""
    planted(10, route="support")
    config = tmp_path / "evenkeel.yaml"
    config.write_text(
        f"routes: [{{name: support, match: {{prefix: /support}}, upstream: '{model[1]}'}}]\n", "utf-8"
    )
    output, found = gate("", "--config", config, "--model", "equal", code=3)
    assert found["report"]["measured"] == 10
    assert "the upstreams of 1 route" in output
    assert gate("equal", "--config", config, code=3)[1]["report"]["measured"] == 10


def test_goldens_of_the_store_are_taken_without_a_file(planted, gate, tmp_path):
    """Goldens in use are taken, of the route that is named."""
    planted(6)
    database = Database(tmp_path / "evenkeel.db")
    store = GoldenStore(SqliteDocuments(database))
    store.add(load_goldens(tmp_path / "goldens.jsonl"), by="ana", at=1_900_000_000.0)
    database.close()
    _, found = gate("equal", "--data-dir", tmp_path, code=3, files=())
    assert found["report"]["goldens"] == 6
    # … and the console lists the run.
    with contextlib.closing(Database(tmp_path / "evenkeel.db")) as database:
        (run,) = ChangeStore(SqliteDocuments(database)).releases()
    assert (run.verdict, run.asked, run.kind) == ("undecided", "6 goldens", "gate")
    assert run.headline.startswith("NOT SHOWN TO DIFFER after 6 goldens")
