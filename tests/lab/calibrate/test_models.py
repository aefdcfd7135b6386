"""`evenkeel calibrate` with a judge, scripted on the loopback."""

import re

import pytest

from evenkeel.lab.calibrate.calibration import FailureMode
from tests.kit.commands import run_command
from tests.lab.calibrate.planted_goldens import calibration_in, write_goldens
from tests.scripted_chat import ScriptedChat, rating

STEPS = ["workflow_chain_f1", "workflow_bleu", "workflow_tau_weighted"]
QUICK = ["--no-embeddings", "--resamples", "50", "--metrics", ",".join(STEPS)]
SIDES = re.compile(r"<<<BEGIN [A-Z ]+ \w+>>>\n(.*?)\n<<<END", re.DOTALL)


def run(*arguments, exit_code=0, **options):
    return run_command("calibrate", *arguments, code=exit_code, **options).output


def asking(chat, *more):
    return ["--judge-model", "scripted", "--judge-url", chat.url, *QUICK, *more]


def by_length(prompt):
    """5 for two texts of about one length, 3 down to two thirds, 0 below."""
    sizes = [len(text) for text in SIDES.findall(prompt)[-2:]]
    share = min(sizes) / max(sizes)
    return rating(5 if share > 0.9 else 3 if share > 0.66 else 0)


def test_a_judge_scores_every_candidate_in_three_calls_and_its_price_is_measured(tmp_path):
    """Two goldens of 18 candidates: 120 tokens a call at 1 and 10 USD a million, three calls a score."""
    goldens = write_goldens(tmp_path / "goldens.jsonl", 2)
    with ScriptedChat(by_length) as chat:
        shown = run(goldens, "--out", tmp_path, *asking(chat, "--yes", "--price", "scripted=1/10"))
        calls = chat.prompts.total()
        found = calibration_in(tmp_path)
        run(goldens, "--out", tmp_path, *asking(chat, "--yes", "--price", "scripted=1/10"))
        assert chat.prompts.total() == calls
    assert "36 questions to scripted" in shown
    assert calls == 3 * 36
    judge = next(metric for metric in found.metrics if metric.name == "workflow_judge")
    assert (judge.family, judge.cost_usd) == ("judge", pytest.approx(0.0009))
    assert judge.time_ms > 0
    assert judge.sensitivity[FailureMode.MISSING].value > 0.5


def test_nothing_is_asked_without_consent_or_beyond_the_limit(tmp_path):
    """The estimate is shown first; "no", silence and a limit below it ask nothing."""
    goldens = write_goldens(tmp_path / "goldens.jsonl", 2)
    with ScriptedChat(by_length) as chat:
        arguments = [goldens, "--out", tmp_path, *asking(chat, "--price", "scripted=1/2")]
        assert "no more calls are made" in run(*arguments, exit_code=1, input="n\n")
        assert "36 questions to scripted, at most" in run(*arguments, exit_code=1, input="")
        shown = run(*arguments, "--yes", "--max-usd", "0.001", exit_code=1)
        assert "more than --max-usd 0.001; raise it, or ask about fewer goldens" in shown
        assert not chat.prompts


def test_a_model_that_does_not_work_is_one_line(tmp_path):
    """A key that the judge rejects stops at once; the line says how to go on."""
    goldens = write_goldens(tmp_path / "goldens.jsonl", 2)
    with ScriptedChat(by_length) as chat:
        chat.status = 401
        shown = run(goldens, "--out", tmp_path, *asking(chat, "--yes"), exit_code=1)
    assert "scripted cannot be used (unauthorized" in shown
    assert "give the same command again" in shown
