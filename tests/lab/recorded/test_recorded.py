"""Recorded answers: collected by prompt and version, found, drawn, and altered where noise is planted."""

import json
import random
from collections import Counter

import pytest

from evenkeel.lab.recorded.answers import RecordedAnswers
from evenkeel.simulate.model import PromptMessage
from tests.kit.public import DATA

CAPITAL = {
    "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Capital of Peru?"}],
    "version": "old",
    "answers": ["Lima", "Lima", "Lima.", "It is Lima."],
    "temperature": 0.7,
}


@pytest.fixture
def load(tmp_path):
    """Load lines of evenkeel's own format."""

    def loaded(*rows):
        path = tmp_path / "recorded.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return RecordedAnswers.load(path)

    return loaded


def test_samples_are_drawn_as_often_as_they_were_recorded(load):
    """An answer recorded twice of four times comes in half of the draws."""
    recorded = load(CAPITAL)
    rng = random.Random(1)
    drawn = Counter(recorded.draw(0, "old", rng).text for _ in range(4000))
    assert drawn["Lima"] / 4000 == pytest.approx(0.5, abs=0.03)
    assert drawn["It is Lima."] / 4000 == pytest.approx(0.25, abs=0.03)


def test_samples_of_the_nearest_temperature_are_drawn(load):
    """A request at 0.2 gets what was recorded at 0, one at 0.9 what was recorded at 1."""
    cold, hot = ({"prompt": "Hi", "model": "m", "answer": str(t), "temperature": t} for t in (0.0, 1.0))
    recorded = load(cold, hot)
    rng = random.Random(1)
    for asked, given in ((0.2, "0.0"), (0.9, "1.0")):
        assert {recorded.draw(0, "m", rng, temperature=asked).text for _ in range(20)} == {given}
    assert {recorded.draw(0, "m", rng).text for _ in range(40)} == {"0.0", "1.0"}


@pytest.mark.shared_data
def test_public_collections_are_read():
    """The recorded upgrades of LLMDrift are found with each prompt's own number, shouted or not."""
    recorded = RecordedAnswers.load(DATA / "llm_drift")
    assert (len(recorded.prompts), len(recorded.versions), recorded.skipped) == (3146, 4, ())
    primes = [prompt.text for prompt in recorded.prompts if "a prime number" in prompt.text]
    assert len(primes) == 1000
    for text in primes[::50]:
        found = recorded.find([PromptMessage("user", f"{text.upper()} Reply in JSON.")])
        assert (recorded.prompts[found.place].text, found.how) == (text, "near")
    unknown = primes[0].replace("17077", "17078")
    assert unknown not in primes
    assert recorded.find([PromptMessage("user", unknown)]) is None
