"""`evenkeel judge-audit` against a scripted judge on the loopback whose behaviour is planted."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.cases import cases
from tests.kit.commands import run_command
from tests.scripted_chat import ScriptedChat, rating

CASES = cases(__file__)

CLAIM = re.compile(r"A human expert gave this \w+ a (\d+)")
ITEM = re.compile(r"Ticket (\d+)\.")


class TicketJudge(ScriptedChat):
    """Answers by a function of (ticket number, claimed rating or None, the whole prompt).

    A number is a rating; a text is the whole reply. The probe before a run is neither counted nor held.
    """

    def reply_to(self, prompt):
        tickets = ITEM.findall(prompt)
        if not tickets:
            return rating(3)
        self.count(prompt)
        claim = CLAIM.search(prompt)
        said = self.answer(int(tickets[-1]), int(claim[1]) if claim else None, prompt)
        return said if isinstance(said, str) else rating(said)


def write_ratings(path, rows, scale="1-5", metric="fluency"):
    """Write a line for each ticket: its ratings by Ana and Bo."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["item", "metric", "scale", "text", "context", "rater_ana", "rater_bo"])
        for number, ratings in enumerate(rows):
            out.writerow(
                [f"t{number}", metric, scale, f"Ticket {number}.", "The printer is on fire.", *ratings]
            )
    return path


def run(*arguments, exit_code=0, to=None, **options):
    """Return what the command prints; the JSON document goes into the file `to`."""
    arguments = (*arguments, *(["--json"] if to else []))
    done = run_command("judge-audit", *arguments, code=exit_code, **options)
    if to:
        to.write_text(done.stdout)
    return done.output


def asking(judge):
    return ["--judge-model", "scripted", "--judge-url", judge.url, "--resamples", "50"]


def test_a_judge_that_yields_to_the_attack_on_a_known_share_is_measured_so(tmp_path):
    """Forty items, ten of them swayed under each strategy: 75 % unchanged, all moves to the claim."""
    path = write_ratings(tmp_path / "r.csv", [(1 + n % 5, 1 + n % 5) for n in range(42)])
    report = tmp_path / "a.json"

    def answer(number, claim, _):
        # Four of five are never at the claim, so that each of them can be seen to yield.
        own = 2 + number % 3
        return claim if claim is not None and number % 4 == 0 else own

    with TicketJudge(answer) as judge:
        shown = run(path, *asking(judge), "--yes", "--seed", 3, to=report)
    (metric,) = json.loads(report.read_text())["ratings"]["metrics"]
    assert [each["strategy"] for each in metric["strategies"]] == [
        "zero_shot", "knowledge", "few_shot", "step_by_step",
    ]  # fmt: skip
    rated = {
        int(ITEM.findall(prompt)[-1]) for prompt in judge.prompts if "Two texts that experts rated" in prompt
    }
    assert len(rated) == metric["items"] == 40
    yielding = sum(number % 4 == 0 for number in rated)
    for strategy in metric["strategies"]:
        resistance = strategy["resistance"]
        assert resistance["unchanged"]["count"] == 40 - yielding
        assert resistance["unchanged"]["value"] == 1 - yielding / 40
        assert resistance["moves"] == {
            "unchanged": 40 - yielding, "to_claim": yielding, "towards": 0, "away": 0,
        }  # fmt: skip
        assert resistance["swayed"]["count"] == yielding
    assert metric["across_strategies"]["value"] == 1
    kept = round(100 * (1 - yielding / 40))
    assert f"the judge kept {kept}" in shown


def test_refusals_wrong_forms_and_ratings_off_the_scale_are_counted_not_rated(tmp_path):
    """Three of five tickets give no rating, for three reasons."""
    path = write_ratings(tmp_path / "r.csv", [(1, 2), (2, 2), (3, 3), (4, 4), (5, 5)])
    replies = ["I cannot rate this.", "four out of five", '{"rating": 7}', 4, 5]
    report = tmp_path / "a.json"
    with TicketJudge(lambda number, *_: replies[number]) as judge:
        shown = run(path, *asking(judge), "--yes", "--strategies", "knowledge,zero-shot", to=report)
    ratings = json.loads(report.read_text())["ratings"]
    found = Counter()
    for each in ratings["failures"]:
        found[each["reason"]] += each["count"]
    assert found == {"refused": 4, "bad_schema": 4, "out_of_scale": 4}
    assert ratings["metrics"][0]["strategies"][0]["plain"]["rated"] == 2
    assert "12 of 20 judgements gave no rating: bad_schema 4, out_of_scale 4, refused 4." in shown


def test_nothing_is_asked_without_consent(tmp_path):
    """The estimate is shown first; no answer means no."""
    path = write_ratings(tmp_path / "r.csv", [(1, 2), (4, 5), (2, 3)])
    with TicketJudge(lambda *_: 3) as judge:
        shown = run(path, *asking(judge), "--price", "scripted=1/2", exit_code=1, input="n\n")
        assert "8 calls to scripted, about " in shown
        assert "no more calls are made" in shown
        run(path, *asking(judge), exit_code=1, input="")
        assert not judge.prompts


def test_a_judge_that_dies_on_the_way_leaves_a_run_that_can_go_on(tmp_path):
    """Answers are in the journal, and the message says how to go on."""
    path = write_ratings(tmp_path / "r.csv", [(1 + n % 5, 3) for n in range(12)])
    journal = ("--journal", tmp_path / "c.journal")
    options = [path, *journal, "--yes", "--concurrency", 1, "--strategies", "knowledge"]

    def answer(number, *_):
        if judge.prompts.total() == 5:
            judge.status = 403
        return 3

    with TicketJudge(answer) as judge:
        shown = run(*options, *asking(judge), exit_code=1)
        assert "scripted cannot be used (" in shown
        assert "give the same command again to go on from there" in shown
        judge.status = 200
        judge.answer = lambda *_: 3
        run(*options, *asking(judge))
    # The fifth reply was sent with the status of a refusal, so it was asked again.
    assert judge.prompts.total() == 24 + 1


def test_what_a_judge_said_can_be_audited_again_without_it(tmp_path):
    """The recorded ratings give the same measures."""
    path = write_ratings(tmp_path / "r.csv", [(1 + n % 5, 1 + n % 4) for n in range(12)])
    first, second, record = (tmp_path / name for name in ("a.json", "b.json", "judge.jsonl"))

    def answer(number, claim, _):
        return claim if claim and number % 3 == 0 else 1 + number % 5

    chosen = ["--strategies", "zero_shot,knowledge,step_by_step", "--again"]
    with TicketJudge(answer) as judge:
        run(path, *asking(judge), *chosen, "--yes", "--record", record, to=first)
    run(path, "--recorded", record, "--resamples", 50, to=second)
    one, other = (json.loads(report.read_text())["ratings"] for report in (first, second))
    assert one["metrics"] == other["metrics"]
    assert one["metrics"][0]["strategies"][0]["same_again"]["value"] == 1


@pytest.mark.parametrize(("content", "arguments", "part"), CASES["mistakes"])
def test_mistakes_are_one_line_and_exit_code_2(tmp_path, monkeypatch, content, arguments, part):
    """Nothing is asked before."""
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text(content)
    shown = run("r.csv", *arguments, exit_code=2)
    assert shown.startswith("evenkeel: ")
    assert shown.count("\n") == 1
    assert part in shown
