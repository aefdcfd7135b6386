"""`evenkeel goldens record` against a simulated model, and the gate on what it recorded."""

from __future__ import annotations

import asyncio
import json
import random
import signal

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.release.goldens.files import load_goldens
from evenkeel.release.kit.asking import Asker
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from tests.release.gate.planted import planted_golden


@pytest.fixture
def model():
    """The model in use, which varies a little, behind an endpoint that knows no other."""
    settings = SimulationSettings(strict_models=True)
    simulation = Simulation([ModelState("in-use")], settings, rng=random.Random(3))
    with serving(simulation) as url:
        yield simulation, f"{url}/v1"


@pytest.fixture
def file(tmp_path):
    """Writes so many goldens, and further lines, to a file."""

    def write(count, *more):
        path = tmp_path / "goldens.jsonl"
        rows = [{**planted_golden(seed), "task": "case_summary"} for seed in range(count)]
        path.write_text("\n".join(json.dumps(row) for row in (*rows, *more)), encoding="utf-8")
        return path

    return write


@pytest.fixture
def record(model):
    """Runs the command; gives what it printed."""

    def run(path, *options, code=0, yes=True, typed=None):
        command = ["goldens", "record", path, "--base-url", model[1], *options, *(["--yes"] if yes else [])]
        done = CliRunner().invoke(main, list(map(str, command)), input=typed)
        assert done.exit_code == code, done.output
        return done.output

    return run


@pytest.fixture
def calls(model):
    """How often the model was asked so far."""
    return lambda: model[0].counts(model[0].find("in-use")).calls


def test_missing_samples_are_asked_for_and_written_beside_the_answer(file, record, calls):
    """Three goldens get two samples each by six calls; then three by three more; the rest stays as it was."""
    path = file(3)
    before = load_goldens(path)
    output = record(path, "--samples", 2)
    assert "6 calls, about " in output
    assert f"{path}: 6 of 6 samples recorded" in output
    found = load_goldens(path)
    assert [len(golden.samples) for golden in found] == [2, 2, 2]
    assert [(golden.id, golden.request, golden.answer) for golden in found] == [
        (golden.id, golden.request, golden.answer) for golden in before
    ]
    assert {sample.model for golden in found for sample in golden.samples} == {"in-use"}
    record(path, "--samples", 3)
    assert calls() == 9
    grown = load_goldens(path)
    assert [golden.samples[:2] for golden in grown] == [golden.samples for golden in found]
    assert "0 of 0 samples recorded" in record(path, yes=False)
    assert calls() == 9


def test_a_file_of_its_own_keeps_versions_that_are_not_asked(file, record, calls, tmp_path):
    """Older versions, retired goldens and answers without a request are written as they were."""
    first = planted_golden(0)
    path = file(
        1,
        {**first, "version": 2, "answer": "Another."},
        {**planted_golden(1), "retired_at": 1_900_000_000},
        {"id": "alone", "answer": "Forty-two."},
    )
    text = path.read_bytes()
    out = tmp_path / "recorded.jsonl.gz"
    output = record(path, "--samples", 1, "--out", out)
    assert "1 of 1 sample recorded" in output
    assert "1 golden cannot be asked: no request 1" in output
    found = load_goldens(out)
    assert [(one.id, one.version, len(one.samples)) for one in found] == [
        ("case-0", 1, 0), ("case-0", 2, 1), ("case-1", 1, 0), ("alone", 1, 0),
    ]  # fmt: skip
    assert (calls(), path.read_bytes()) == (1, text)


def test_failed_calls_are_counted_and_can_be_asked_for_again(file, record, model):
    """Some of thirty calls fail, even if tried twice: the others are written, the next run adds the rest."""
    path = file(10)
    model[0].change("in-use", {"error_rate": 0.5})
    output = record(path, "--concurrency", 1, code=1)
    added = sum(len(golden.samples) for golden in load_goldens(path))
    assert 0 < added < 30
    assert f"{added} of 30 samples recorded" in output
    assert "failed: server error" in output
    model[0].change("in-use", {"error_rate": 0.0})
    assert f"{30 - added} of {30 - added} sample" in record(path)


@pytest.fixture
def interruptible():
    """Heeds an interrupt, though the tests may run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_what_was_recorded_is_written_if_the_run_ends_early(file, record, calls, monkeypatch):
    """A budget that is used up, and an interrupt after four calls: the samples so far are in the file."""
    path = file(10)
    output = record(path, "--price", "100/100", "--max-usd", "0.05", "--concurrency", 1, code=1)
    added = sum(len(golden.samples) for golden in load_goldens(path))
    assert 0 < added == calls() < 30
    assert "as much as --max-usd allows" in output

    ask, asked = Asker.ask, []

    async def interrupted(self, call):
        if len(asked) == 4:
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()
        asked.append(call)
        return await ask(self, call)

    monkeypatch.setattr(Asker, "ask", interrupted)
    output = record(path, "--concurrency", 1, code=1)
    assert "stopped: interrupted; record " in output
    assert sum(len(golden.samples) for golden in load_goldens(path)) == added + 4


def test_the_gate_tells_new_weights_from_the_recorded_ones(file, record, model, calls):
    """With two recorded samples a golden the same weights pass, asked once each, and worse ones regress."""
    path = file(80)
    record(path, "--samples", 2)
    before = calls()
    gate = ["gate", str(path), "--base-url", model[1], "--against", "recorded", "--no-embeddings", "--yes"]
    done = CliRunner().invoke(main, gate)
    assert done.exit_code == 0, done.output
    assert calls() - before <= 80
    model[0].change("in-use", {"fragility": 0.5})
    done = CliRunner().invoke(main, gate)
    assert done.exit_code == 1, done.output
    assert "DIFFERS: differs" in done.output
