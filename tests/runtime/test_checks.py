"""The checks of `evenkeel check-config`."""

import pytest
import yaml
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.core.budget import Spend
from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge import Reply
from evenkeel.metrics.judge.reply import Ruling
from evenkeel.runtime.checks import budget_check, judge_check, notification_check, request_check, run_checks
from evenkeel.settings import Settings
from evenkeel.simulate import JUDGE_MODEL, ModelState, Simulation, SimulationSettings, serving
from tests.cases import cases
from tests.services import receiver

CASES = cases(__file__)

KEY = "sk-a-secret"


def settings(upstream="http://127.0.0.1:9", **more):
    return Settings(routes=[{"name": "shop", "upstream": upstream}], **more)


def elsewhere(url):
    """Another address of the same port: no upstream may be where the data plane listens."""
    return url.replace("127.0.0.1", "127.0.0.2")


def test_a_request_goes_through_the_data_plane(monkeypatch):
    """With the replay key and past any proxy; without a model the check says that one is missing."""
    monkeypatch.setenv("EVENKEEL_SHADOW_API_KEY", KEY)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with serving(Simulation([ModelState("m")], SimulationSettings(api_key=KEY))) as url:
        # The simulation stands in for the data plane, which would only forward.
        given = settings(elsewhere(url), listen={"port": int(url.rpartition(":")[2])})
        outcome, unnamed = request_check(given, "m"), request_check(given, "")
    assert outcome == ("good", "A request through the data plane was answered by 127.0.0.1.", "")
    assert unnamed.state == "note"
    assert "--test-model" in unnamed.next_step


@pytest.mark.parametrize(
    ("judge", "state"),
    [({"model": "m"}, "good"), ({"model": "m", "base_url": "https://judge.example/v1"}, "note")],
)
def test_a_judge_at_the_same_endpoint_names_the_model_to_test(monkeypatch, judge, state):
    """The model of a judge elsewhere is not asked: the endpoint need not have it."""
    monkeypatch.setenv("EVENKEEL_SHADOW_API_KEY", KEY)
    with serving(Simulation([ModelState("m")])) as url:
        listen = {"port": int(url.rpartition(":")[2])}
        ((_, outcome),) = run_checks(settings(elsewhere(url), listen=listen, judge=judge), ("request",), "")
    assert outcome.state == state


def test_an_error_of_the_endpoint_comes_with_advice(monkeypatch):
    """A model that always fails: status and error are shown, without a key that the endpoint repeats."""
    monkeypatch.setenv("EVENKEEL_SHADOW_API_KEY", "error rate")  # the words are part of the error's text
    with serving(Simulation([ModelState("m", error_rate=1.0)])) as url:
        port = int(url.rpartition(":")[2])
        outcome = request_check(settings(elsewhere(url), listen={"port": port}), "m")
    assert (outcome.state, outcome.next_step) == ("bad", "Check the address and that the endpoint is up.")
    assert "status 500 from 127.0.0.1 (“Failed by the ….”)" in outcome.said


def test_no_data_plane_is_said_so():
    outcome = request_check(settings("http://127.0.0.2:9", listen={"port": 9}), "m")
    assert outcome.said.startswith("A request through the data plane did not reach 127.0.0.1: ")
    assert "evenkeel up" in outcome.next_step


JUDGED = settings(judge={"model": "j", "base_url": "https://judge.example/v1"})


def reply(outcome):
    return lambda: Reply(outcome, Spend(100, 0.0001), "probe@1")


def test_a_judge_is_right_odd_broken_or_missing():
    """Two sentences that say the same are a 3; without a judge it is said what is lost."""
    good = judge_check(JUDGED, reply(Ruling(3, "")))
    assert (good.state, good.next_step) == ("good", "")
    assert "100 tokens: 0.000100 US dollars, at an assumed price." in good.said
    odd = judge_check(JUDGED, reply(Ruling(1, "")))
    assert odd.state == "note"
    assert "rated two equal sentences 1, not 3" in odd.said
    broken = judge_check(JUDGED, reply(Failure("judge", "1", "unauthorized", "no such key.")))
    assert broken.state == "bad"
    assert broken.said == "The judge j cannot be used (unauthorized: no such key)."
    assert broken.next_step == "Put a valid key into EVENKEEL_JUDGE_API_KEY."
    none = judge_check(settings(), reply(Ruling(3, "")))
    assert (none.state, "similarity only" in none.said) == ("note", True)


@pytest.mark.parametrize(("more", "model", "state", "said"), CASES["budgets"])
def test_the_budget_says_limit_and_prices(more, model, state, said):
    """A model without a price counts at an assumed one, or is not replayed where somebody set a limit."""
    outcome = budget_check(settings(**more), model)
    assert outcome.state == state
    assert said in outcome.said


def test_a_test_message_is_marked_and_goes_to_every_channel():
    """It says that nothing is wrong; a channel that does not take it is named."""
    with receiver() as (url, messages):
        outcome = notification_check(settings(alerts={"webhook": url}))
    assert outcome.state == "good"
    assert outcome.said == "Sent “Test message from evenkeel” to the webhook at 127.0.0.1."
    (message,) = messages
    assert message["title"] == "Test message from evenkeel"
    assert message["text"].startswith("Nothing is wrong: this was sent as a test.")
    refused = notification_check(settings(alerts={"webhook": "http://127.0.0.1:9/"}))
    assert (refused.state, "the webhook at 127.0.0.1 did not take it" in refused.said) == ("bad", True)
    assert notification_check(settings()).state == "note"


def test_check_config_sends_tests_when_asked(tmp_path):
    """A question to the judge; a message to a receiver that is gone makes the exit code 1."""
    with serving(Simulation([ModelState("m")])) as url:
        config = tmp_path / "evenkeel.yaml"
        judge = {"base_url": f"{url}/v1", "model": JUDGE_MODEL}
        given = {"routes": [{"upstream": url}], "judge": judge, "alerts": {"webhook": "http://127.0.0.1:9/"}}
        config.write_text(yaml.safe_dump(given))
        asked = ["check-config", "--config", str(config), "--data-dir", str(tmp_path), "--test", "judge"]
        environment = {"EVENKEEL_JUDGE_API_KEY": "any"}
        good = CliRunner().invoke(main, asked, env=environment)
        bad = CliRunner().invoke(main, [*asked, "--test", "notification"], env=environment)
    assert good.exit_code == 0, good.output
    assert f"judge: {JUDGE_MODEL} rated two equal sentences 3" in good.output
    assert f"budget: At most {settings().budget.usd_per_day:.2f} US dollars" in good.output
    assert bad.exit_code == 1
    assert "notification: the webhook at 127.0.0.1 did not take it" in bad.output
