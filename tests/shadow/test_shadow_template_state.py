"""What the template learner keeps: across restarts, within bounds, shared by threads."""

from __future__ import annotations

import json
import random
import threading

import pytest

from evenkeel.shadow.prompt.template import TemplateLearner
from tests.shadow.garden_mail import PLANTS, filled, fingerprint_of, kinds_of, message_of, taught, user_slot


def test_a_restart_forgets_nothing() -> None:
    """A learner made from a snapshot that went through JSON names and cuts prompts as before."""
    learner, rng = taught(), random.Random(15)
    again = TemplateLearner.restore(json.loads(json.dumps(learner.snapshot())))
    slots = filled(rng)
    assert kinds_of(again, slots) == kinds_of(learner, slots)
    assert again.version("mail", slots) == learner.version("mail", slots) is not None
    assert again.versions("mail") == learner.versions("mail")
    assert again.snapshot() == learner.snapshot()


def test_a_snapshot_holds_no_input() -> None:
    """What users wrote is not in the snapshot."""
    learner, rng = taught(), random.Random(16)
    learner.observe("mail", filled(rng, message="xylophone rehearsal"), "secret")
    written = json.dumps(learner.snapshot())
    assert "xylophone" not in written
    assert "garden centre" in written


@pytest.mark.parametrize(
    "snapshot",
    [
        None,
        [],
        {},
        {"format": 99, "routes": {}},
        {"format": 1},
        {"format": 1, "routes": {"mail": {"requests": "x"}}},
        {"format": 1, "routes": {"mail": {"requests": 1, "versions": [], "clusters": [{"shape": ["user"]}]}}},
    ],
)
def test_a_broken_snapshot_is_ignored(snapshot: object) -> None:
    """A snapshot that can't be read gives a learner that knows nothing, and learns."""
    learner = TemplateLearner.restore(snapshot)
    assert learner.versions("mail") == ()
    learner.observe("mail", filled(random.Random(17)))


def test_a_flood_of_templates_is_bounded() -> None:
    """A thousand invented prompts leave bounded state and do not push out the real template."""
    learner, rng = taught(), random.Random(18)
    old = fingerprint_of(learner, filled(rng))
    for number in range(1_000):
        words = " ".join(rng.choices(PLANTS, k=30))
        learner.observe("mail", user_slot(f"{words}: {message_of(rng)}"), f"flood {number}")
    route = learner._routes["mail"]
    assert len(route.clusters) <= 16
    assert fingerprint_of(learner, filled(rng)) == old
    for number in range(300):
        learner.observe(f"route {number}", filled(rng))
    assert len(learner._routes) == 256


def test_threads_may_share_a_learner() -> None:
    """Observing and classifying from several threads loses no request."""
    learner = TemplateLearner()

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for number in range(40):
            slots = filled(rng)
            learner.observe("mail", slots, f"{seed} {number}")
            assert "".join(text for _, text in kinds_of(learner, slots)[0]) == slots[0].text

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert learner._routes["mail"].requests == 160
