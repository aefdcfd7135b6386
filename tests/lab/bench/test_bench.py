"""`evenkeel bench` against simulated models of planted fragility."""

import json
import re
import subprocess
import sys
import zlib
from statistics import fmean

import pytest

from evenkeel.simulate import (
    ModelState,
    Simulation,
    SimulationSettings,
    planted,
    serving,
)
from tests.cases import cases
from tests.kit.commands import run_command
from tests.kit.planted_issues import planted_issues
from tests.scripted_chat import ScriptedChat

CASES = cases(__file__)

FRAGILITY = {"middling": 0.15, "fragile": 0.4, "steady": 0.02}
PRICE = "1/4"


@pytest.fixture(scope="module")
def served():
    """Models whose answers depend on the prompt alone, and one that has nothing but errors."""
    states = [ModelState(name, fragility=share) for name, share in FRAGILITY.items()]
    states.append(ModelState("broken", error_rate=1.0))
    simulation = Simulation(states, SimulationSettings(salt=b"bench-2"))
    with serving(simulation) as url:
        yield simulation, f"{url}/v1"


def arguments(url, folder, *more, models=tuple(FRAGILITY), journal="journal"):
    found = ["bench", "--base-url", url, "--journal", str(folder / journal), "--yes", *map(str, more)]
    for name in (*models, "simulated-judge", "simulated-rewriter"):
        found += ["--price", f"{name}={PRICE}"]
    for name in models:
        found += ["--model", name]
    found += ["--judge-url", url, "--judge-model", "simulated-judge"]
    return [*found, "--rewriter-url", url, "--rewriter-model", "simulated-rewriter"]


def quick(folder, issues):
    """Options for one run of one task under one perturbation."""
    items = planted_issues(folder / "issues.jsonl", issues)
    return "--items", items, "--runs", 1, "--tasks", "case_summary", "--perturbations", "general.casing"


def done_run(found, exit_code=0):
    return run_command(*found, code=exit_code)


def run(found, exit_code=0):
    return done_run(found, exit_code).output


def calls(simulation, *names):
    return sum(simulation.calls[name] for name in names)


@pytest.fixture(scope="module")
def measured(served, tmp_path_factory):
    """A run over three models and twelve issues."""
    folder = tmp_path_factory.mktemp("bench")
    items = planted_issues(folder / "issues.jsonl", 12)
    more = [
        "--items", items, "--runs", 1, "--tasks", "case_summary,slot_filling",
        "--perturbations", "general.whitespace,general.casing,format.yaml",
        "--json", "--html", folder / "bench.html",
        "--trials", folder / "trials.jsonl",
    ]  # fmt: skip
    done = done_run(arguments(served[1], folder, *more))
    return folder, done.stderr, json.loads(done.stdout)


def test_each_planted_score_is_near_its_interval(measured):
    """The true overall score, the mean of a baseline without noise and two categories, is met."""
    for row in measured[2]["models"]:
        truth = planted(FRAGILITY[row["model"]], 0.0, 0.5)
        # Filled slots that differ are never as good: there each shift changes the quality.
        slots = 1 - truth.perturbed_content_delta
        perturbed = fmean([truth.perturbed_robustness, slots])
        overall = fmean([truth.baseline_robustness, *[perturbed] * 2])
        figure = row["overall"]["robustness"]
        delta = row["categories"]["general"]["content_delta"]
        for estimate, expected in ((figure, overall), (delta, truth.perturbed_content_delta)):
            # An interval of 95 % is wrong once in twenty, and every change of a rewording draws anew.
            slack = (estimate["upper"] - estimate["lower"]) / 2
            assert estimate["lower"] - slack <= expected <= estimate["upper"] + slack
        assert figure["upper"] - figure["lower"] < 0.3


def test_the_cost_was_known_by_rule_of_thumb(measured):
    """The estimate is of the right order without any call."""
    spent = sum(account["usd"] for account in measured[2]["spent"].values())
    assert 0.5 < measured[2]["estimate_usd"] / spent < 3


def test_tables_trials_and_page_tell_the_same(measured):
    """Every trial is in the JSON lines, and the page shows the overall scores of the JSON."""
    folder, output, found = measured
    trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    assert len(trials) == 12 * 2 * 3 * 4
    texts = trials[-1]["texts"]
    assert set(texts) == {"prompt", "variant", "reference", "candidate"}
    assert all(texts.values())
    assert found["models"][0]["likeness"].keys() >= {"rouge_l", "json_rouge"}
    page = (folder / "bench.html").read_text()
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=", page)
    for row in found["models"]:
        assert "entities_f1" in row
        assert "entities" not in row
        score = f"{row['overall']['robustness']['value'] * 100:.1f}"
        assert score in page
        assert score in output
    assert "Robustness by format" in output


def test_a_model_that_answers_everything_alike_fails_each_format_and_language_but_its_own(served, tmp_path):
    """One fixed English JSON: 100 on JSON, at most 20 on all else; the share of invalid answers is shown."""
    fixed = json.dumps({"summary": "A customer reported a problem with the printer, and support solved it."})
    more = (
        "--items", planted_issues(tmp_path / "issues.jsonl", 2), "--runs", 1, "--tasks", "case_summary",
        "--perturbations", "format,multilingual,crosslingual.en_to_de", "--json",
    )  # fmt: skip
    with ScriptedChat(lambda _: fixed) as chat:
        found = arguments(served[1], tmp_path, *more, models=("fixed",))
        found[found.index("--base-url") + 1] = chat.url
        done = done_run(found)
    (row,) = json.loads(done.stdout)["models"]
    scores = {
        name: 100 * one["robustness"]["value"] for name, one in (row["formats"] | row["languages"]).items()
    }
    assert {"yaml", "xml", "html", "markdown", "de", "fr", "ja"} <= set(scores)
    assert scores.pop("json") == 100
    assert max(scores.values()) <= 20
    assert min(scores["invalid"] for scores in row["languages"].values()) > 0.8
    assert "N/A" in done.stderr


def test_a_killed_run_goes_on_without_repeating_a_call(served, tmp_path):
    """Only the call under way at a SIGKILL is made again; a third run makes none."""
    simulation, url = served
    more = (
        "--items", planted_issues(tmp_path / "issues.jsonl", 6), "--runs", 1, "--tasks", "chat_summary",
        "--concurrency", 1, "--perturbations", "general.casing,multilingual.de",
    )  # fmt: skip
    found = arguments(url, tmp_path, *more, models=("scripted",))
    with ScriptedChat(lambda prompt: f"Answer {zlib.crc32(prompt.encode())}", hold_after=14) as chat:
        found[found.index("--base-url") + 1] = chat.url
        process = subprocess.Popen([sys.executable, "-m", "evenkeel", *found], stderr=subprocess.DEVNULL)
        assert chat.holding.wait(240)
        process.kill()
        process.wait()
        chat.release.set()
        others = ("simulated-judge", "simulated-rewriter")
        before = calls(simulation, *others)
        run(found)
        # Original, resend and two variants of each issue; what was under way when it was killed comes twice.
        assert chat.prompts.total() == 24 + 1
        made = calls(simulation, *others)
        assert made > before
        assert "24 answers remembered" in run(found)
        assert (chat.prompts.total(), calls(simulation, *others)) == (25, made)


def test_a_run_stops_at_the_limit_and_goes_on_later(served, tmp_path):
    """`--max-usd` ends a run with exit code 1; without it the same command takes up its answers."""
    found = arguments(served[1], tmp_path, *quick(tmp_path, 4), models=("steady",))
    output = run([*found, "--max-usd", "0.002"], exit_code=1)
    assert "above --max-usd" in output
    assert "stopped at --max-usd" in output
    output = run(found)
    assert int(re.search(r"(\d+) answers remembered", output)[1]) > 0
    assert "steady" in output


def test_a_run_ends_once_no_model_answers(served, tmp_path):
    """The run does not go through the other issues, and says what the endpoint did and what to do."""
    before = calls(served[0], "broken")
    found = arguments(served[1], tmp_path, *quick(tmp_path, 12), models=("broken",))
    output = run(found, exit_code=1)
    assert "no model answers any more" in output
    assert "the upstream answered 500 (" in output
    assert "); check that it is up" in output
    assert "same command again" in output
    # Three failures, and the calls of the three other prompts that were under way.
    assert calls(served[0], "broken") - before <= 6


@pytest.mark.parametrize(("more", "said"), CASES["wrong options"])
def test_wrong_options_are_told_in_a_line(more, said):
    """Exit code 2, and what to do instead."""
    done = run_command("bench", "--yes", *more.split(), code=2)
    assert said in done.output
    assert len(done.output.splitlines()) == 1


def test_nothing_is_asked_without_consent(served, tmp_path):
    """The run ends before its first call, with the estimate, where there is no terminal and no --yes."""
    before = calls(served[0], "steady")
    found = arguments(served[1], tmp_path, "--perturbations", "general.casing", models=("steady",))
    found.remove("--yes")
    output = run(found, exit_code=2)
    assert "by rule of thumb" in output
    assert f"; judge: simulated-judge at {served[1]}; rewriter: " in output
    assert "add --yes" in output
    assert calls(served[0], "steady") == before
