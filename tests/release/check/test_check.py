"""`evenkeel check` from the command line and from Python, against simulated and scripted models."""

import asyncio
import json
import random
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

import evenkeel
from evenkeel.cli.main import main
from evenkeel.core.errors import UserError
from evenkeel.release.check.prompts import read_prompts
from evenkeel.release.check.rounds import VariantMaker
from evenkeel.release.check.run import ModelAt
from evenkeel.shadow.perturbations.contrast import CONTRASTS
from evenkeel.shadow.prompt import CHAT
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, make_case, serving, summary_prompt
from evenkeel.stores.changes import ChangeStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.cases import cases, tupled

CASES = tupled(cases(__file__))

PROMPT = summary_prompt(make_case(7))
"""A prompt whose answer the simulated models know."""


@pytest.fixture(scope="module")
def endpoint():
    """A simulated endpoint: a steady model, and one that every second rewording moves."""
    states = [ModelState("simulated-steady"), ModelState("simulated-fragile", fragility=0.5)]
    with serving(Simulation(states, rng=random.Random(0))) as url:
        yield f"{url}/v1"


@pytest.fixture
def prompt(tmp_path, monkeypatch):
    """A file with the prompt, in a folder of its own that is the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "prompt.txt"
    path.write_text(PROMPT)
    return path


def run(*arguments):
    """Run the command."""
    return CliRunner().invoke(main, ["check", *map(str, arguments)])


@pytest.fixture
def check(prompt, endpoint):
    """Runs the command on the prompt with a model of the endpoint."""

    def run_with(*options, model="simulated-steady"):
        return run(prompt, "--model", model, "--base-url", endpoint, *options)

    return run_with


def test_a_steady_and_a_fragile_model_are_told_apart(prompt, check):
    """The figures of both, which one is more fragile, and exit code 1 in a pipeline."""
    narrowed = ("--perturbations", "general", "--rounds", 60)
    done = check("--against", "simulated-fragile", *narrowed, "--ci", "--json")

    found = json.loads(done.stdout)
    steady, fragile = (model["categories"][0] for model in found["models"])
    assert steady["points_above_noise"]["value"] == 0
    assert fragile["standing"] == "over"
    assert found["comparisons"][0]["more_fragile"] == "second"
    assert found["judge"] == "simulated-judge"
    assert done.exit_code == 1
    cases = ET.parse(prompt.parent / "evenkeel-check.xml").getroot().findall(".//testcase")
    assert [len(case) and case[0].tag for case in cases][1] == "failure"


def test_a_category_that_one_prompt_rules_out_keeps_no_check_running(prompt, check):
    """It has no comparison, and the check ends as soon as the rest is settled."""
    new = prompt.parent / "new.txt"
    new.write_text(PROMPT + "\n\nReply with exactly one sentence.")
    done = check(
        "--against-prompt", new, "--perturbations", "general,format", "--markdown", "check.md", "--json"
    )

    found = json.loads(done.stdout)
    assert [model["categories"][1]["not_applicable"] for model in found["models"]] == [None, "own_form"]
    assert not found["stopped"]
    assert "| format | – | not tried |" in (prompt.parent / "check.md").read_text()


def test_the_page_says_what_the_terminal_says(prompt, check):
    """Standing, single rewordings, sensitivity and basis, in one HTML file without requests."""
    page, comment = prompt.parent / "check.html", prompt.parent / "comment.md"

    done = check("--rounds", 12, "--html", page, "--markdown", comment, "--yes", model="simulated-fragile")

    assert done.exit_code == 0, done.output
    html = page.read_text()
    for text in ("simulated-fragile", "general.spelling", "Sensitivity", "rated by the judge"):
        assert text in html
    assert "not tried: the prompt has no documents or items to reorder" in done.output
    assert "The limit is 10 points above noise." in done.output
    assert "A simulated model says nothing about a real one" in done.output
    assert comment.read_text().startswith("## How fragile is")


def test_tools_are_reworded_where_there_are_any(check):
    """Also those of --parameters, and not in place of what another order of them made."""
    tools = []
    for name in ("first", "second"):
        tools.append({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}})

    plain = json.loads(check("--rounds", 2, "--json").stdout)
    done = json.loads(
        check("--rounds", 2, "--parameters", json.dumps({"tools": tools, "max_tokens": 50}), "--json").stdout
    )

    assert "tools" not in [each["category"] for each in plain["models"][0]["categories"]]
    (of_tools,) = [each for each in done["models"][0]["categories"] if each["category"] == "tools"]
    assert of_tools["points_above_noise"]["n"] == 2


def test_a_stopped_check_goes_on_from_its_journal(check):
    """The model's answers of the first run are remembered by the second, and the figures are the same."""
    options = ("--perturbations", "general", "--json", "--rounds", 5)
    first = json.loads(check(*options).stdout)

    second = json.loads(check(*options).stdout)

    assert first["calls"] > 0
    assert second["remembered"] == 5 * 3 + 5
    assert second["calls"] < 5
    assert second["models"][0]["categories"] == first["models"][0]["categories"]


def test_without_a_judge_content_is_unmeasured_and_a_pipeline_fails(check):
    """Similarity is all there is, and nothing is called within its limit."""
    done = check("--rounds", 4, "--no-judge", "--ci", "--json")

    found = json.loads(done.stdout)
    assert {each["standing"] for each in found["models"][0]["categories"]} == {"unmeasured"}
    assert found["models"][0]["categories"][0]["similarity_loss"]["n"] == 4
    assert "contradictions cannot be seen" in done.stderr
    assert done.exit_code == 3


def test_a_check_with_a_store_is_listed_by_its_console(prompt, check):
    """The record says where each category stands, and how sensitive the answer is."""
    Database(prompt.parent / "evenkeel.db").close()

    check("--rounds", 8, "--data-dir", ".")

    database = Database(prompt.parent / "evenkeel.db")
    (kept,) = ChangeStore(SqliteDocuments(database)).releases()
    database.close()
    assert kept.details[0].startswith("simulated-steady: general: ")
    assert "answers moved when the question was another one" in kept.details[-1]


def test_the_budget_ends_a_check_with_what_there_is(check):
    """A dear model and a small budget: the figures so far, and the reason."""
    done = check("--price", "simulated-steady=1000/1000", "--budget-usd", "0.5", "--json")

    found = json.loads(done.stdout)
    assert "budget" in found["stopped"]
    assert found["usd"] < 5


@pytest.mark.parametrize(("arguments", "said"), CASES["mistakes"])
def test_mistakes_are_named_before_anything_is_asked(prompt, monkeypatch, arguments, said):
    """The command prints one line; the exit code is 2."""
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)

    done = run(prompt, *arguments, "--yes")

    assert done.exit_code == 2, done.output
    assert said in done.stderr


def test_a_check_that_measures_nothing_is_not_passed(prompt, check):
    """A prompt of one word has nothing to reorder; that is no figure within its limit."""
    prompt.write_text("Hello")
    done = check("--perturbations", "positional", "--rounds", 2, "--ci")

    assert done.exit_code == 2
    assert "nothing was measured: no rewording of the chosen categories applies" in done.stderr


def test_a_judge_that_rates_nothing_ends_the_check(prompt):
    """Counted alone, the answers that need no judge since they are identical would look steady."""
    fragile = Simulation([ModelState("m", fragility=0.5)], SimulationSettings(strict_models=True))
    with serving(fragile) as url:
        done = run(prompt, "--model", "m", "--base-url", f"{url}/v1", "--judge", "nobody", "--ci")

    assert done.exit_code == 2
    assert "the judge nobody rated nothing: " in done.stderr
    assert "name another with --judge" in done.stderr


def test_an_endpoint_that_is_down_is_no_regression(prompt):
    """A pipeline gets "could not measure", exit code 2, and what to look at."""
    done = run(prompt, "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--ci")

    assert done.exit_code == 2
    assert "m does not answer" in done.stderr
    assert "--base-url" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--price", "simulated-steady=100/100"), "cannot ask for confirmation without a terminal"),
        (("--budget-usd", "0.5", "--model", "llama"), "of llama, whose calls no limit in dollars counts"),
    ],
)
def test_money_is_asked_for_above_a_dollar_and_where_no_price_is_known(check, options, said):
    """Nothing is spent without a terminal and without --yes."""
    done = check(*options)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "add --yes" in done.stderr


def test_a_model_that_stops_answering_leaves_its_answers_in_the_journal(prompt):
    """The report has what was measured, and says so; it is neither within the limit nor "done"."""
    simulation = Simulation([ModelState("m")], rng=random.Random(0))
    with serving(simulation) as url:
        asked = (prompt, "--model", "m", "--base-url", f"{url}/v1", "--perturbations", "general", "--yes")
        assert run(*asked, "--no-judge", "--rounds", 2).exit_code == 0
        simulation.change("m", {"error_rate": 1.0})

        done = run(*asked, "--no-judge", "--rounds", 20)

    assert done.exit_code == 3
    assert "m does not answer any more" in done.stdout
    assert "give the same command again" in done.stderr


def test_a_model_against_itself_answers_for_both_sides(check):
    """A continued check remembers the answers of each; shared ones would hide what chance does."""
    options = ("--against", "simulated-steady", "--perturbations", "general", "--rounds", 3, "--json")
    first = json.loads(check(*options).stdout)
    second = json.loads(check(*options).stdout)

    assert first["calls"] >= 2 * 3 * 3
    assert second["remembered"] >= 2 * 3 * 3
    assert len({first["comparisons"][0]["difference"]["n"], second["comparisons"][0]["difference"]["n"]}) == 1


def test_the_folder_that_somebody_works_in_keeps_its_mode(prompt, check):
    """It holds nothing but the journal, which only its owner can read."""
    prompt.unlink()
    prompt.parent.chmod(0o755)

    CliRunner().invoke(main, ["check", "-", "--model", "simulated", "--rounds", "1"], input=PROMPT)

    assert prompt.parent.stat().st_mode & 0o777 == 0o755
    assert (prompt.parent / "evenkeel-check.journal").stat().st_mode & 0o777 == 0o600


def test_a_request_states_its_type_once():
    """Gateways join two headers of one name; the type is the replayer's to state."""
    target = ModelAt("m", "http://127.0.0.1:9/v1", "key").target(CHAT)
    assert target.headers == (("authorization", "Bearer key"),)


def test_python_gets_the_same_outcome_in_a_notebook_too(endpoint):
    """It has an event loop that runs already, in which no other one can; messages are taken as they are."""

    async def cell():
        options = {"base_url": endpoint, "perturbations": ["general"], "rounds": 40}
        return evenkeel.check([{"role": "user", "content": PROMPT}], model="simulated-fragile", **options)

    (figures,) = asyncio.run(cell()).arms["first"]
    assert figures.category == "general"
    assert figures.points.value > 0.1
    with pytest.raises(UserError, match="at least one round"):
        evenkeel.check(PROMPT, model="simulated-steady", base_url=endpoint, rounds=0)


def test_inputs_are_drawn_from_all_of_their_file(endpoint):
    """A sorted file would otherwise settle a category by the rows that come first."""
    rows = [{"case": f"Case {number}"} for number in range(40)]

    outcome = evenkeel.check(
        "Summarise: {{case}}",
        inputs=rows,
        model="simulated-steady",
        base_url=endpoint,
        judge=False,
        perturbations=["general"],
        rounds=10,
    )

    asked = {int(trial.prompt.rsplit(maxsplit=1)[-1]) for trial in outcome.trials}
    assert len(asked) == 10
    assert max(asked) > 9


def test_a_contrast_without_a_number_or_a_model_asks_something_else():
    """Another row's input where there is one, else an unrelated question."""
    (view,) = read_prompts("Why does it rain?", None, "p")

    def contrast(*others):
        maker = VariantMaker({"contrast": CONTRASTS}, 0.1, 0, rewrite=None, others=others)
        (variants, _) = asyncio.run(maker.make(view, 0, ["contrast"]))
        return variants[0]

    assert contrast().kind == "contrast.question"
    assert contrast().view.text != view.text
    assert contrast("Why does it snow?").kind == "contrast.input"
    assert contrast("Why does it snow?").view.text == "user: Why does it snow?"
