"""`evenkeel gate` against a simulated model whose fragility is planted."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.experiments.calibrate.calibration import (
    calibration_to_yaml,
)
from evenkeel.experiments.calibrate.score_table import FailureMode
from evenkeel.experiments.goldens.files import load_goldens
from evenkeel.metrics.judge.prompts import SIMILARITY
from evenkeel.metrics.registry import metric
from evenkeel.simulate import (
    Message,
    ModelState,
    SimulatedModel,
    Simulation,
    SimulationSettings,
    make_case,
    serving,
    summary_prompt,
)
from evenkeel.stores.goldens import GoldenStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.experiments.gate.planted_calibration import planted_calibration, watched

SYSTEM = "You write for engineers."


def goldens(path, count, *, first=0, **more):
    """Support cases with the good answers of the simulated model."""
    with path.open("w", encoding="utf-8") as file:
        for seed in range(first, first + count):
            prompt = summary_prompt(make_case(seed))
            answer = SimulatedModel().answer([Message("user", prompt)], random.Random(0))
            row = {
                "id": f"case-{seed}",
                "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}],
                "answer": answer,
                "model": "in-use",
                "task": "case_summary",
            }
            file.write(json.dumps({**row, **more}) + "\n")
    return path


def run(path, *arguments, exit_code, **options):
    """Run the command without embeddings; its output and its JSON report, None if it wrote none."""
    report = path.with_suffix(".report.json")
    report.unlink(missing_ok=True)
    done = CliRunner().invoke(
        main, ["gate", str(path), "--no-embeddings", "--json", str(report), *map(str, arguments)], **options
    )
    assert done.exit_code == exit_code, done.output
    found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
    return done.output, found


@pytest.fixture(scope="module")
def model():
    """A model in use, one that is equal, one that is far worse, and one that always gives errors."""
    states = [
        ModelState("in-use", fragility=0.02, noise=0.02),
        ModelState("equal", fragility=0.02, noise=0.02),
        ModelState("worse", fragility=0.4, noise=0.02),
        ModelState("broken", error_rate=1.0),
        ModelState("shaky", fragility=0.02, noise=0.02, error_rate=0.3),
    ]
    settings = SimulationSettings(strict_models=True)
    simulation = Simulation(states, settings, rng=random.Random(3))
    with serving(simulation) as url:
        yield simulation, f"{url}/v1"


def calls(simulation, name):
    return simulation.counts(simulation.find(name)).calls


def test_an_equal_model_passes_before_all_goldens_are_asked(tmp_path, model):
    """Exit code 0, settled by evidence, and the calls saved are told."""
    path = goldens(tmp_path / "goldens.jsonl", 150)
    output, found = run(path, "--base-url", model[1], "--model", "equal", "--yes", exit_code=0)
    assert found["verdict"] == "pass"
    assert found["report"]["settled"]
    assert found["planned_calls"] == 300
    assert found["saved_calls"] > 60
    assert found["ledger"]["calls"] + found["saved_calls"] == 300
    assert "saved by stopping early" in output
    assert "PASS: an excess of 10" in output


def test_a_worse_model_is_a_regression_with_reports_that_show_where(tmp_path, model):
    """Exit code 1; Markdown with diffs, JUnit with a failure, JSON with both answers."""
    path = goldens(tmp_path / "goldens.jsonl", 100)
    page, xml = tmp_path / "gate.md", tmp_path / "gate.xml"
    output, found = run(
        path, "--base-url", model[1], "--model", "worse", "--yes", "--markdown", page, "--junit", xml,
        exit_code=1,
    )  # fmt: skip
    assert "REGRESSION: " in output
    assert found["saved_calls"] > 100
    first = found["fallen"][0]
    assert first["approved"]["text"] != first["answer"]["text"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("## ❌ evenkeel gate: regression\n")
    assert "| content\\_shift | regression |" in text
    assert f"<summary>{first['golden']}: content_shift" in text
    assert "\n-Main problem in INC-" in text
    suites = ET.parse(xml).getroot()
    assert suites.get("failures") == str(len(suites.findall(".//failure")))
    assert int(suites.get("failures")) >= 1


def test_a_cache_makes_the_second_run_free_and_equal(tmp_path, model):
    """Every answer is remembered, so that a stopped run goes on and a finished one costs nothing."""
    path = goldens(tmp_path / "goldens.jsonl", 30)
    options = ("--base-url", model[1], "--model", "equal", "--cache", tmp_path / "answers")
    _, first = run(path, *options, "--yes", exit_code=0)
    before = calls(model[0], "equal") + calls(model[0], "in-use")
    output, second = run(path, *options, exit_code=0)
    assert calls(model[0], "equal") + calls(model[0], "in-use") == before
    assert second["ledger"]["remembered"] == 60
    assert second["report"] == first["report"]
    assert "Go ahead" not in output


def test_without_a_terminal_nothing_is_spent_unasked(tmp_path, model):
    """In CI the option --yes has to be there; the message says so."""
    path = goldens(tmp_path / "goldens.jsonl", 3)
    output, found = run(path, "--base-url", model[1], "--model", "equal", exit_code=2)
    assert "no terminal to ask on" in output
    assert "--yes" in output
    assert found is None


def test_on_a_terminal_the_price_is_asked_about_first(tmp_path, model, monkeypatch):
    """A no ends with exit code 2 and no call; a yes goes on."""
    monkeypatch.setattr("evenkeel.experiments.kit.confirmation.on_a_terminal", lambda: True)
    path = goldens(tmp_path / "goldens.jsonl", 3)
    options = ("--base-url", model[1], "--model", "equal", "--price", "1/2")
    before = calls(model[0], "equal")
    output, _ = run(path, *options, exit_code=2, input="n\n")
    assert "6 calls, at most " in output
    assert "at most $0.01. Go ahead?" in output.replace("<$", "$")
    assert "nothing was asked" in output
    assert calls(model[0], "equal") == before
    run(path, *options, exit_code=0, input="y\n")
    assert calls(model[0], "equal") == before + 3


def test_a_fault_of_the_gate_itself_does_not_read_as_a_regression(tmp_path, model, monkeypatch):
    """Whatever goes wrong inside, the exit code is 2."""
    path = goldens(tmp_path / "goldens.jsonl", 3)
    monkeypatch.setattr("evenkeel.cli.gate.show", lambda *_: 1 / 0)
    _, found = run(path, "--base-url", model[1], "--model", "equal", "--yes", exit_code=2)
    assert found is None


def test_undecided_goldens_pass_or_fail_as_asked_for(tmp_path, model):
    """Ten goldens settle nothing about an equal model; how many would is told."""
    path = goldens(tmp_path / "goldens.jsonl", 10)
    options = ("--base-url", model[1], "--model", "equal", "--yes")
    output, found = run(path, *options, exit_code=0)
    assert not found["report"]["settled"]
    assert "Not settled: content_shift" in output
    assert "10 goldens cannot settle a pass: it takes" in output
    output, _ = run(path, *options, "--undecided", "fail", exit_code=1)
    assert "REGRESSION only because what is undecided fails (--undecided)." in output


def test_an_endpoint_that_nobody_listens_on_is_found_out_at_once(tmp_path):
    """Exit code 2 after a handful of calls, not after all goldens."""
    path = goldens(tmp_path / "goldens.jsonl", 100)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        output, found = run(path, "--base-url", url, "--model", "x", "--yes", exit_code=2)
    assert "COULD NOT MEASURE: the " in output
    assert "-url, and that it is up" in output
    assert found["ledger"]["calls"] <= 10


def test_an_unknown_model_is_found_out_at_once(tmp_path, model):
    """A 404 is exit code 2 with the status and what to look at."""
    path = goldens(tmp_path / "goldens.jsonl", 100)
    output, found = run(path, "--base-url", model[1], "--model", "nobody", "--yes", exit_code=2)
    assert "the upstream answered 404" in output
    assert "check the model's name, --" in output
    assert found["ledger"]["calls"] <= 20


def test_a_wrong_key_is_found_out_by_the_first_call(tmp_path, monkeypatch):
    """A 401 needs no second try; the message names the options, never the key."""
    path = goldens(tmp_path / "goldens.jsonl", 50)
    monkeypatch.setenv("GATE_KEY", "wrong-secret")
    simulation = Simulation([ModelState("in-use")], SimulationSettings(api_key="right"))
    with serving(simulation) as url:
        output, found = run(
            path, "--base-url", url, "--model", "new", "--api-key-env", "GATE_KEY", "--yes", exit_code=2
        )
        monkeypatch.setenv("GATE_KEY", "right")
        run(path, "--base-url", url, "--model", "new", "--api-key-env", "GATE_KEY", "--yes", exit_code=0)
    assert "--api-key-env" in output
    assert "wrong-secret" not in output + json.dumps(found)
    assert found["ledger"]["calls"] <= 10


def test_an_endpoint_that_fails_often_is_no_pass(tmp_path, model):
    """Three in ten calls fail, so too many goldens are lost, even if each call is tried twice."""
    path = goldens(tmp_path / "goldens.jsonl", 60)
    _, found = run(path, "--base-url", model[1], "--model", "broken", "--yes", exit_code=2)
    assert found["report"]["unmeasured"].keys() <= {"server_error"}
    _, found = run(
        path, "--base-url", model[1], "--model", "shaky", "--max-failures", "0", "--yes", exit_code=2
    )
    assert found["report"]["unmeasured"] == {"server_error": 1}


def test_a_budget_that_runs_out_is_no_pass(tmp_path, model):
    """What was measured until then does not settle it, so the exit code is 2."""
    path = goldens(tmp_path / "goldens.jsonl", 40)
    output, found = run(
        path, "--base-url", model[1], "--model", "equal", "--price", "100/100", "--max-usd", "0.2", "--yes",
        exit_code=2,
    )  # fmt: skip
    assert "the budget was used up" in output
    assert 0.2 <= found["ledger"]["cost_usd"] < 1.0


def test_without_a_reference_the_report_says_that_noise_is_in_it(tmp_path, model):
    """Only the candidate is asked."""
    path = goldens(tmp_path / "goldens.jsonl", 30)
    before = calls(model[0], "in-use")
    output, found = run(
        path, "--base-url", model[1], "--model", "worse", "--no-reference", "--yes", exit_code=1
    )
    assert calls(model[0], "in-use") == before
    assert found["report"]["findings"][0]["reference"] is None
    assert "the noise floor could not be taken off" in output


def test_a_new_system_prompt_reaches_the_candidate_alone(tmp_path):
    """The reference keeps the golden's own; the file's text stands in the candidate's request."""
    path = goldens(tmp_path / "goldens.jsonl", 2)
    prompt = tmp_path / "system.txt"
    prompt.write_text("You answer in the format JSON.\nRespond as JSON.", encoding="utf-8")
    simulation = Simulation([ModelState("in-use")], SimulationSettings(deterministic=True))
    with serving(simulation) as url:
        output, found = run(path, "--base-url", url, "--prompt", prompt, "--yes", exit_code=0)
    assert found["ledger"]["calls"] == 4
    assert "system prompt of system.txt" in output
    assert found["candidate"] != found["reference"]


def test_a_template_edit_takes_the_inputs_over(tmp_path):
    """Goldens that fit are asked with the new words around the same case; one that does not is counted."""
    path = goldens(tmp_path / "goldens.jsonl", 20)
    prompt = summary_prompt(make_case(0))
    head, _, _ = prompt.partition("\n\n")
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text(head + "\n\n{case}\n", encoding="utf-8")
    new.write_text("Summarise this case in a few sentences.\n\n{case}\n", encoding="utf-8")
    lines = path.read_text(encoding="utf-8").splitlines()
    lines.append(json.dumps({"id": "other", "prompt": "Why does my printer stop?", "answer": "Jam."}))
    path.write_text("\n".join(lines), encoding="utf-8")
    with serving(Simulation([ModelState("in-use")])) as url:
        output, found = run(
            path, "--base-url", url, "--template", old, "--new-template", new, "--yes", exit_code=0
        )
    assert found["report"]["left_out"] == {"does_not_fit": 1}
    assert found["report"]["measured"] == 20
    assert "1 of 21 goldens cannot be asked (does_not_fit 1); does_not_fit: no message" in output


def test_repeats_ask_each_side_so_often(tmp_path, model):
    """Three calls a side and golden, each a draw of its own."""
    path = goldens(tmp_path / "goldens.jsonl", 4)
    _, found = run(path, "--base-url", model[1], "--model", "equal", "--repeats", 3, "--yes", exit_code=0)
    assert found["ledger"]["calls"] == 24


def test_retired_goldens_and_older_versions_are_not_asked(tmp_path, model):
    """Of each id the newest version in use counts."""
    path = goldens(tmp_path / "goldens.jsonl", 2)
    lines = path.read_text(encoding="utf-8").splitlines()
    newer = {**json.loads(lines[0]), "version": 2}
    retired = {**json.loads(lines[1]), "version": 2, "retired_at": 1_900_000_000}
    path.write_text("\n".join([*lines, json.dumps(newer), json.dumps(retired)]), encoding="utf-8")
    _, found = run(path, "--base-url", model[1], "--model", "equal", "--yes", exit_code=0)
    assert found["report"]["goldens"] == 1


def test_the_judge_can_rate(tmp_path, model):
    """With a judge the report says so, and its tokens are counted."""
    path = goldens(tmp_path / "goldens.jsonl", 30)
    output, found = run(
        path, "--base-url", model[1], "--model", "worse", "--yes",
        "--judge-model", "simulated-judge", "--judge-url", model[1],
        exit_code=1,
    )  # fmt: skip
    assert "rated by the judge" in output
    assert found["ledger"]["judge_tokens"] > 0


@pytest.fixture
def interruptible():
    """Programs that are started heed an interrupt, though the tests themselves may run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_run_does_not_read_as_a_regression(tmp_path):
    """Exit code 2, and the cache lets the next run go on."""
    path = goldens(tmp_path / "goldens.jsonl", 60)
    cache = tmp_path / "answers"
    simulation = Simulation([ModelState("in-use", latency_s=0.25)])
    with serving(simulation) as url:
        arguments = [
            "gate",
            path,
            "--base-url",
            url,
            "--model",
            "new",
            "--no-embeddings",
            "--yes",
            "--cache",
            cache,
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "evenkeel", *map(str, arguments)],
            stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        lines = iter(process.stderr.readline, "")
        assert any("of 60 goldens" in line for line in lines)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 2
        assert "stopped before the verdict; run it again to go on" in said
        simulation.change("in-use", {"latency_s": 0.0})
        output, found = run(path, *arguments[2:], exit_code=0)
    assert found["ledger"]["remembered"] >= 6
    assert "remembered" in output


def calibration(path, *, harmless=False, missing="rouge_l"):
    """Missing parts are watched below 0.6, by ROUGE-L; rewording by GLEU below 0.9."""
    found = planted_calibration(
        [
            watched(FailureMode.MISSING, missing, 0.6),
            watched(FailureMode.REWORDED, "gleu", 0.9, harmless=harmless),
        ],
        [
            *((name, metric(name).version, "lexical") for name in ("rouge_l", "gleu")),
            ("judge_similarity", SIMILARITY.version, "judge"),
        ],
        form="prose",
    )
    path.write_text(calibration_to_yaml(found), encoding="utf-8")
    return path


def test_a_calibration_gives_a_verdict_for_each_failure_mode(tmp_path, model):
    """Its modes are the measures; rating comes on top only if it is asked for."""
    path = goldens(tmp_path / "goldens.jsonl", 80)
    limits = calibration(tmp_path / "calibration.yaml")
    options = ("--base-url", model[1], "--model", "worse", "--calibration", limits, "--yes")
    output, found = run(path, *options, exit_code=1)
    assert [each["measure"]["name"] for each in found["report"]["findings"]] == ["missing", "reworded"]
    assert "thresholds of 2031-05-17" in output
    _, found = run(path, *options, "--rate", exit_code=1)
    assert len(found["report"]["findings"]) == 4


def test_a_harmless_mode_alone_does_not_fail_the_gate(tmp_path, model):
    """It is reported, and marked as not deciding."""
    path = goldens(tmp_path / "goldens.jsonl", 80)
    limits = calibration(tmp_path / "calibration.yaml", harmless=True)
    _, found = run(
        path, "--base-url", model[1], "--model", "equal", "--calibration", limits, "--yes", exit_code=0
    )
    decides = {each["measure"]["name"]: each["measure"]["decides"] for each in found["report"]["findings"]}
    assert decides == {"missing": True, "reworded": False}


def test_a_mode_may_be_watched_by_the_judge(tmp_path, model):
    """It is asked for a score then, and has to be named."""
    path = goldens(tmp_path / "goldens.jsonl", 60)
    limits = calibration(tmp_path / "calibration.yaml", missing="judge_similarity", harmless=True)
    options = ("--base-url", model[1], "--model", "worse", "--calibration", limits, "--yes")
    output, _ = run(path, *options, exit_code=2)
    assert "a mode is watched by a judge; name it with --judge-model" in output
    before = calls(model[0], "simulated-judge")
    judged = ("--judge-model", "simulated-judge", "--judge-url", model[1], "--gate-on", "missing")
    _, found = run(path, *options, *judged, exit_code=1)
    assert found["report"]["findings"][2]["state"] == "regression"
    assert calls(model[0], "simulated-judge") > before


def test_a_calibration_for_another_form_of_answer_is_no_measure(tmp_path, model):
    """Thresholds made on prose say nothing about JSON: exit code 2 with the reason."""
    path = goldens(tmp_path / "goldens.jsonl", 20, answer='{"problem": "none", "cause": "none"}')
    limits = calibration(tmp_path / "calibration.yaml")
    output, _ = run(
        path, "--base-url", model[1], "--model", "equal", "--calibration", limits, "--yes", exit_code=2
    )
    assert "other_form: the calibration is about answers of the form prose" in output


def test_settings_name_the_routes_upstreams(tmp_path, model):
    """Goldens are put to the upstream of their route; the candidate may be elsewhere."""
    path = goldens(tmp_path / "goldens.jsonl", 10, route="support")
    config = tmp_path / "evenkeel.yaml"
    config.write_text(
        f"routes: [{{name: support, prefix: /support, upstream: '{model[1]}'}}]\n", encoding="utf-8"
    )
    output, found = run(path, "--config", config, "--model", "equal", "--yes", exit_code=0)
    assert found["report"]["measured"] == 10
    assert "upstreams of 1 route(s)" in output
    _, found = run(path, "--config", config, "--base-url", model[1], "--model", "equal", "--yes", exit_code=0)
    assert found["report"]["measured"] == 10


def test_goldens_of_the_store_are_taken_without_a_file(tmp_path, model):
    """Those that are in use, of the route that is named."""
    approved = load_goldens(goldens(tmp_path / "goldens.jsonl", 6))
    database = Database(tmp_path / "evenkeel.db")
    GoldenStore(SqliteDocuments(database)).add(approved, by="ana", at=1_900_000_000.0)
    database.close()
    report = tmp_path / "report.json"
    arguments = ["--data-dir", tmp_path, "--base-url", model[1], "--model", "equal", "--json", report]
    done = CliRunner().invoke(main, ["gate", "--no-embeddings", "--yes", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    assert json.loads(report.read_text(encoding="utf-8"))["report"]["goldens"] == 6
