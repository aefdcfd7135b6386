"""Announced retirements of models."""

import tomllib
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from evenkeel.llm.providers import SMALL_MODELS
from evenkeel.release.challenge.retirements import retirement_note, retirement_of
from tests.cases import cases

CASES = cases(__file__)

BEFORE = datetime(2026, 11, 27, tzinfo=UTC).timestamp()
AFTER = datetime(2027, 1, 14, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("name", CASES["names"])
def test_a_model_is_known_by_its_snapshot_its_gateways_name_and_what_it_was_tuned_from(name):
    found = retirement_of(name, BEFORE)
    assert str(found).endswith("on 14 Jan 2027; it names gpt-6-luna as the replacement")


@pytest.mark.parametrize("name", ["", "gpt-6-luna", "gpt-4.1-mini-tuned", "my/ft:", "ft:", "simulated-1"])
def test_of_any_other_model_nothing_is_said(name):
    assert retirement_of(name, BEFORE) is None


@pytest.mark.parametrize("provider", SMALL_MODELS)
def test_no_judge_that_is_chosen_by_default_retires(provider):
    """The announcement asks for another default."""
    assert retirement_of(SMALL_MODELS[provider].model, BEFORE) is None


def test_a_model_that_still_answers_after_its_day_is_somebody_elses():
    assert retirement_of("gpt-4.1", AFTER - 1) is not None
    assert retirement_of("gpt-4.1", AFTER) is None


def test_the_note_proposes_the_command_that_tries_the_replacement():
    assert retirement_note("gpt-5-mini", ["support"], BEFORE) == (
        "OpenAI stops serving gpt-5-mini on 11 Dec 2026; it names gpt-5.6-terra as the replacement. "
        "May another model take over on support? evenkeel challenge --route support --model gpt-5.6-terra"
    )
    assert retirement_note("gpt-5.1", ["support"], BEFORE).endswith("--route support --model NAME")
    assert retirement_note("gpt-6-luna", ["support"], BEFORE) == ""
    assert "on a (and 2 more routes)? evenkeel challenge --route a " in retirement_note(
        "gpt-5.1", ["a", "b", "c"], BEFORE
    )


def test_every_announcement_names_its_page_and_no_model_twice():
    """A table that somebody adds to by hand."""
    text = files("evenkeel.release.challenge").joinpath("retirements.toml").read_text("utf-8")
    models = []
    for page in tomllib.loads(text)["pages"]:
        assert page["source"].startswith("https://")
        for announcement in page["announcements"]:
            assert announcement["on"] > page["read"]
            models += announcement["models"]
    assert len(models) == len(set(models))
