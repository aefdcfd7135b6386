"""The gate as a pytest test, as users run it: pytest inside pytest, against a simulated model."""

from __future__ import annotations

import inspect
import json
import random
import re

import pytest

from evenkeel.monitor.detect.gate import Verdict
from evenkeel.pytest_gate import ruling, wanted_run
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from evenkeel.stores.sqlite.database import Database
from tests.release.gate.planted import planted_golden

pytest_plugins = ["pytester"]

# Twenty goldens settle it: the margin is wide.
MARKED = """
import json
import pytest

pytestmark = pytest.mark.evenkeel_gate(base_url={url!r}, embeddings=False, margin=0.5)
"""


@pytest.fixture(scope="module")
def simulation():
    """A model in use, one that is equal to it, one that is far worse, and one that gives errors."""
    states = [
        ModelState("in-use", fragility=0.0, noise=0.0),
        ModelState("equal", fragility=0.0, noise=0.0),
        ModelState("worse", fragility=0.9, noise=0.0),
        ModelState("broken", error_rate=1.0),
    ]
    made = Simulation(states, SimulationSettings(strict_models=True), rng=random.Random(3))
    with serving(made) as url:
        yield made, f"{url}/v1"


@pytest.fixture(scope="module")
def goldens():
    """Twenty support cases with the good answers of the simulated model, as JSON lines."""
    return "\n".join(json.dumps(planted_golden(seed)) for seed in range(20))


@pytest.fixture
def project(pytester, simulation, goldens, monkeypatch):
    """A folder with goldens; runs its tests, which are given as text, with options and no other plugin."""
    (pytester.path / "goldens.jsonl").write_text(goldens, encoding="utf-8")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(tests, *options):
        pytester.makepyfile(test_gates=MARKED.format(url=simulation[1]) + inspect.cleandoc(tests))
        return pytester.runpytest_inprocess("-p", "evenkeel.pytest_plugin", *options)

    run.path = pytester.path
    run.url = simulation[1]
    return run


def calls(simulation):
    """How often the models were asked so far."""
    return sum(simulation[0].counts(state).calls for state in simulation[0].models)


SHIP = """
def test_ship(evenkeel_gate):
    evenkeel_gate("goldens.jsonl", model="equal")
"""


def test_an_equal_model_passes_and_a_worse_one_fails_with_the_report(project, simulation, tmp_path):
    """The failure is the Markdown page, without a traceback; the summary and JUnit tell of both."""
    xml = tmp_path / "junit.xml"
    done = project(
        """
        def test_equal(evenkeel_gate):
            ruling = evenkeel_gate("goldens.jsonl", model="equal")
            assert json.loads(ruling.document)["report"]["settled"]

        def test_worse(evenkeel_gate):
            evenkeel_gate("goldens.jsonl", model="worse", markdown="gate.md")
            raise AssertionError("must not be reached")
        """,
        "--evenkeel-yes",
        f"--junitxml={xml}",
    )
    done.assert_outcomes(passed=1, failed=1)
    text = done.stdout.str()
    assert "## ❌ evenkeel gate: differs" in text
    assert "| differs | regression |" in text
    assert "Traceback" not in text
    assert "pytest_plugin.py:" not in text
    assert re.search(
        r"^test_gates.py::test_equal: NOT SHOWN TO DIFFER: an excess of 50.% or more", text, re.MULTILINE
    )
    assert re.search(r"^test_gates.py::test_worse: DIFFERS: .* calls of ", text, re.MULTILINE)
    assert (project.path / "gate.md").read_text(encoding="utf-8").startswith("## ❌")
    assert xml.read_text(encoding="utf-8").count('name="evenkeel_gate"') == 2


def test_nothing_is_asked_unless_allowed_and_what_is_known_is_free(project, simulation):
    """Without leave the test is an error that names the price; after one paid run it passes for nothing."""
    before = calls(simulation)
    done = project(SHIP)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(
        ["*COULD NOT MEASURE: nobody was asked, which takes --evenkeel-yes (40 calls, at most *"]
    )
    assert calls(simulation) == before
    project(SHIP, "--evenkeel-yes").assert_outcomes(passed=1)
    paid = calls(simulation)
    assert paid > before
    again = project(SHIP)
    again.assert_outcomes(passed=1)
    again.stdout.fnmatch_lines(["test_gates.py::test_ship: NOT SHOWN TO DIFFER: *(remembered of 20*UTC)"])
    assert calls(simulation) == paid
    project(SHIP, "--cache-clear").assert_outcomes(errors=1)


def test_without_pytests_cache_answers_are_kept_where_the_option_says(project):
    """`--evenkeel-cache` names a file from where pytest was started; the gate's own command can use it."""
    project(SHIP, "-p", "no:cacheprovider", "--evenkeel-cache=kept", "--evenkeel-yes").assert_outcomes(
        passed=1
    )
    database = Database(project.path / "kept")
    assert database.connection().execute("SELECT count(*) FROM gate_answers").fetchone()[0] >= 12
    database.close()


@pytest.mark.parametrize(("chosen", "expected"), [("error", {"errors": 1}), ("skip", {"skipped": 1})])
def test_what_could_not_be_measured_never_passes(project, chosen, expected):
    """An endpoint that fails is an error or a skip, as chosen; both say why."""
    done = project(
        SHIP, "--evenkeel-yes", "--evenkeel-model=broken", f"--evenkeel-unmeasured={chosen}", "-rs"
    )
    done.assert_outcomes(**expected)
    assert done.ret == (1 if chosen == "error" else 0)
    done.stdout.fnmatch_lines(["*COULD NOT MEASURE: *"])


def test_wrong_options_are_errors_even_where_skips_are_wanted(project):
    """A missing file, a value that cannot be read and a misspelt option are faults of the test."""
    done = project(
        """
        def test_file(evenkeel_gate):
            evenkeel_gate("golden.jsonl", model="equal")

        def test_value(evenkeel_gate):
            evenkeel_gate("goldens.jsonl", model="equal", undecided="perhaps")

        def test_name(evenkeel_gate):
            evenkeel_gate("goldens.jsonl", modle="equal")
        """,
        "--evenkeel-unmeasured=skip",
    )
    done.assert_outcomes(errors=3)
    text = done.stdout.str()
    assert "golden.jsonl' does not exist" in text
    assert "undecided: 'perhaps' is not one of 'pass', 'fail'" in text
    assert "TypeError: the gate has no option 'modle'; did you mean model?" in text


def test_tests_with_the_fixture_can_be_left_out(pytester):
    """Pytest finds the plugin by itself, and the tests carry the marker though nobody wrote it."""
    pytester.makepyfile("def test_ship(evenkeel_gate): evenkeel_gate()\ndef test_other(): pass")
    done = pytester.runpytest_inprocess("--strict-markers", "-m", "not evenkeel_gate")
    done.assert_outcomes(passed=1, deselected=1)


# What the fixture is made of


def test_keywords_are_read_as_the_command_line_is(tmp_path):
    """Names of files start in the folder, lists of measures may be lists, None is as if not given."""
    (tmp_path / "goldens.jsonl").write_text('{"id": "a", "prompt": "p", "answer": "b"}\n', encoding="utf-8")
    keywords = {
        "base_url": "http://localhost/v1",
        "cache": "kept",
        "gate_on": ["content_shift"],
        "route": None,
    }
    found = wanted_run(["goldens.jsonl"], keywords, tmp_path).options
    assert [golden.id for golden in found.goldens] == ["a"]
    assert (found.cache, found.deciding) == (tmp_path / "kept", ("content_shift",))
    assert (found.repeats, found.rules.alpha) == (1, 0.05)


class Remembering:
    """A memory that is a dictionary."""

    def __init__(self):
        self.held = {}

    def get(self, key, default):
        return json.loads(self.held.get(key, json.dumps(default)))

    def set(self, key, value):
        self.held[key] = json.dumps(value)


def test_a_verdict_is_remembered_for_the_same_question_only(simulation, goldens, tmp_path):
    """Other goldens, rules or models are another question, other reports are not; no failure is kept."""
    path, page = tmp_path / "goldens.jsonl", tmp_path / "gate.md"
    memory = Remembering()

    def decide(*, text=goldens, confirmed=False, **more):
        path.write_text(text, encoding="utf-8")
        given = {"base_url": simulation[1], "model": "equal", "embeddings": False, "margin": 0.5, **more}
        wanted = wanted_run([path], given, tmp_path)
        return ruling(wanted, confirmed=confirmed, how="a yes", memory=memory, clock=lambda: 60.0)

    assert decide().verdict is Verdict.COULD_NOT_MEASURE
    assert memory.held == {}
    first = decide(confirmed=True)
    assert first.verdict is Verdict.PASS
    again = decide(markdown=page, concurrency=1)
    assert again.headline == f"{first.headline} (remembered of 1970-01-01 00:01 UTC)"
    assert page.read_text(encoding="utf-8") == first.page == again.page
    assert again.document == first.document
    for other in (
        {"seed": 1},
        {"margin": 0.4},
        {"text": goldens.replace("INC", "ING", 1)},
        {"model": "worse"},
    ):
        assert decide(**other).verdict is Verdict.COULD_NOT_MEASURE


def test_a_check_fails_for_a_fragile_model_and_passes_for_a_steady_one(project):
    """`evenkeel_check` takes what `evenkeel.check` takes, and shows the report of a failure."""
    done = project(
        """
        from evenkeel.simulate import make_case, summary_prompt

        PROMPT = summary_prompt(make_case(7))
        OPTIONS = dict(perturbations=["general"], rounds=80, base_url={url!r})

        def test_steady(evenkeel_check):
            evenkeel_check(PROMPT, model="equal", judge="simulated-judge", **OPTIONS)

        def test_fragile(evenkeel_check):
            evenkeel_check(PROMPT, model="worse", judge="simulated-judge", **OPTIONS)
        """.replace("{url!r}", repr(project.url)),
    )

    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*over the limit*"])
