"""`evenkeel score`, and the same from Python."""

import json

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.core.figures import NO_JUDGE
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.scoring import heuristic_scorer
from tests.cases import cases
from tests.kit.commands import run_command
from tests.scripted_chat import ScriptedChat

CASES = cases(__file__)

SAME_DATA = {"id": 7, "reference": '{"city": "Berlin"}', "candidate": '{"city":"Berlin"}'}
REWORDED = {"reference": "The parcel came late.", "candidate": "The delivery was delayed."}


def run(text, *arguments, code=0):
    result = run_command("score", "-", *arguments, code=code, input=text)
    return result.stdout if code == 0 else result.output


def lines(*rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_each_line_comes_out_again_with_what_was_found():
    """Lines come in order, with their own fields; blank ones are passed over."""
    first, second = map(json.loads, run(lines(SAME_DATA) + "\n" + lines(REWORDED)).splitlines())
    assert first == SAME_DATA | {
        "rating": 3,
        "similarity": 1.0,
        "decided_by": "equality",
        "explanation": "The data has the same values.",
        "qualities": [],
        "invalid": [],
    }
    assert (second["rating"], second["decided_by"]) == (None, "unsure")
    assert 0 < second["similarity"] < 0.5


def test_as_json_the_pairs_are_counted():
    shown = json.loads(run(lines(SAME_DATA, REWORDED), "--json"))
    assert len(shown["pairs"]) == 2
    assert shown["counts"] == {"3": 1, "unsure": 1}


def test_an_answer_that_ignores_what_was_asked_is_invalid():
    text = "The weather in Berlin was pleasant for most of the week, although it rained on Tuesday."
    rows = [
        {"reference": '{"a": 1}', "candidate": "a is 1", "wanted": {"format": "json"}},
        {"reference": text, "candidate": text, "wanted": {"language": "de"}},
    ]
    found = [json.loads(line) for line in run(lines(*rows)).splitlines()]
    assert [row["invalid"] for row in found] == [["format"], ["language"]]
    assert {row["decided_by"] for row in found} == {"invalid"}


@pytest.mark.parametrize(("line", "message"), CASES["wrong lines"])
def test_a_bad_line_is_named(line, message):
    """Exit code 2, the number of the line, and what is wrong with it."""
    shown = run(lines(SAME_DATA) + line + "\n", code=2)
    assert message in shown
    assert "Traceback" not in shown


def test_the_judge_of_the_settings_rates_what_is_not_identical(tmp_path, monkeypatch):
    """The reworded pair costs a call, the identical one none."""
    monkeypatch.setenv("EVENKEEL_JUDGE_API_KEY", "any")
    reply = json.dumps({"explanation": "the same", "rating": 3})
    with ScriptedChat(lambda _: reply) as chat:
        config = tmp_path / "evenkeel.yaml"
        config.write_text(f"judge: {{base_url: '{chat.url}', model: scripted}}\n")
        shown = [
            json.loads(line) for line in run(lines(SAME_DATA, REWORDED), "--config", config).splitlines()
        ]
        assert chat.prompts.total() == 1
    assert [(row["rating"], row["decided_by"]) for row in shown] == [(3, "equality"), (3, "judge")]


def test_thoughts_at_the_head_of_an_answer_are_set_aside(tmp_path):
    """Live answers are read so too: the format asked for is that of what follows them."""
    file = tmp_path / "pairs.jsonl"
    said = {"text": '<think>\nAs JSON then.\n</think>\n\n{"a": 1}'}
    pair = {"reference": '{"a": 1}', "candidate": said, "wanted": {"format": "json"}}
    file.write_text(json.dumps(pair), encoding="utf-8")
    outcome = CliRunner().invoke(main, ["score", str(file), "--json"])
    assert json.loads(outcome.output)["pairs"][0]["rating"] == 3, outcome.output


def test_whatever_leaves_pairs_open_the_missing_judge_is_named(tmp_path):
    """Also where a settings file is given and has no judge."""
    config = tmp_path / "evenkeel.yaml"
    config.write_text('routes: [{upstream: "https://a.example/v1"}]\n')
    for arguments in ((), ("--config", config)):
        done = CliRunner().invoke(main, ["score", "-", *map(str, arguments)], input=lines(REWORDED))
        assert NO_JUDGE in done.stderr


class UnsureJudge:
    """A judge on this machine that cannot read what it is given."""

    async def rate_all(self, pairs):
        return [Rating(None, "too long") for _ in pairs]


def test_a_judge_on_this_machine_that_is_unsure_is_not_called_missing(monkeypatch):
    """Its own reason is printed."""
    scorer = heuristic_scorer(local_judge=UnsureJudge())
    monkeypatch.setattr("evenkeel.cli.score._scorer", lambda *_: scorer)
    done = CliRunner().invoke(main, ["score", "-"], input=lines(REWORDED))
    assert json.loads(done.stdout)["explanation"] == "too long"
    assert NO_JUDGE not in done.stderr
