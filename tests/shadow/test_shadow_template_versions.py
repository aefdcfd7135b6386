"""Versions of a route's template: mixtures, edits, returns."""

from __future__ import annotations

import random

import pytest

from evenkeel.shadow.prompt.segments import SlotText
from evenkeel.shadow.prompt.template import TemplateLearner
from tests.shadow.garden_mail import PROMPT, filled, fingerprint_of, kinds_of, message_of, taught, user_slot

OTHER = (
    "Write a friendly reminder about an open invoice.\n\nAmount: {sender}\nHistory: {message}\n\n"
    "Mention the date of payment twice.\nReturn only the letter."
)


def test_a_redelivered_exchange_is_not_counted_again() -> None:
    """The same exchange id adds nothing to a version's count."""
    learner = taught()
    before = learner.versions("mail")
    learner.observe("mail", filled(random.Random(6)), "7")
    assert learner.versions("mail") == before
    learner.observe("mail", filled(random.Random(6)), "new")
    assert learner.versions("mail")[0].requests == before[0].requests + 1


def test_several_templates_on_one_route() -> None:
    """Requests of two templates, mixed with free questions, are told apart."""
    learner, rng = TemplateLearner(), random.Random(11)
    for number in range(120):
        slots = rng.choice([filled(rng), filled(rng, OTHER), user_slot(message_of(rng))])
        learner.observe("mail", slots, str(number))
    first, second = filled(rng), filled(rng, OTHER)
    names = {fingerprint_of(learner, first), fingerprint_of(learner, second)}
    assert None not in names
    assert len(names) == 2
    assert fingerprint_of(learner, first) == fingerprint_of(taught(), first)
    assert {kind for kind, _ in kinds_of(learner, user_slot("The hedge is on fire."))[0]} == {"input"}
    assert {version.fingerprint for version in learner.versions("mail")} == names


def test_two_versions_side_by_side() -> None:
    """Where a second wording is tried on half of the traffic, both are template, each with its version."""
    learner, rng = taught(), random.Random(12)
    tried = PROMPT.replace("and say why", "without giving any reasons for it")
    for number in range(100, 200):
        learner.observe("mail", filled(rng, rng.choice([PROMPT, tried])), str(number))
    one, two = filled(rng), filled(rng, tried)
    assert fingerprint_of(learner, one) == fingerprint_of(taught(), one)
    assert fingerprint_of(learner, two) not in {None, fingerprint_of(learner, one)}
    assert "without giving any reasons for it" in "".join(
        text for kind, text in kinds_of(learner, two)[0] if kind == "template"
    )


def test_two_versions_from_the_start() -> None:
    """Two wordings that were always mixed are both template, each with a version of its own."""
    learner, rng = TemplateLearner(), random.Random(22)
    tried = PROMPT.replace("and say why", "without giving any reasons for it")
    for number in range(60):
        learner.observe("mail", filled(rng, rng.choice([PROMPT, tried])), str(number))
    one, two = filled(rng), filled(rng, tried)
    assert fingerprint_of(learner, one) == fingerprint_of(taught(), one)
    assert fingerprint_of(learner, two) == fingerprint_of(taught(tried), two)
    assert len(learner.versions("mail")) == 2
    assert (
        "template",
        "\n\nName the department that should read it without giving any reasons for it.\n",
    ) in (kinds_of(learner, two)[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n\nName the", "\n\nThink before you decide.\n\nName the"),
        ("Message: {message}", "Message: Dear colleague, {message}"),
        ("sentence.", "sentence. Be kind."),
        ("You sort", "From now on you sort"),
    ],
)
def test_added_words_are_a_new_version(old: str, new: str) -> None:
    """Words added beside a field, at the beginning or at the end make one version within five requests."""
    learner, rng = taught(), random.Random(23)
    before = fingerprint_of(learner, filled(rng))
    names = []
    for number in range(100, 130):
        slots = filled(rng, PROMPT.replace(old, new))
        learner.observe("mail", slots, str(number))
        names.append(fingerprint_of(learner, slots))
    assert names[4] not in {None, before}
    assert set(names[:4]) <= {before, names[4]}
    assert set(names[4:]) == {names[4]}
    template = "".join(text for kind, text in kinds_of(learner, slots)[0] if kind == "template")
    assert new.replace("{message}", "").strip() in template


def test_an_edit_and_its_return() -> None:
    """A version that comes back has the name it had."""
    learner, rng = taught(), random.Random(13)
    old = fingerprint_of(learner, filled(rng))
    edited = PROMPT.replace("garden centre", "garden museum")
    for number in range(100, 105):
        slots = filled(rng, edited)
        learner.observe("mail", slots, str(number))
    new = fingerprint_of(learner, slots)
    assert new not in {None, old}
    slots = filled(rng)
    learner.observe("mail", slots, "back")
    assert fingerprint_of(learner, slots) == old
    first, second = learner.versions("mail")
    assert (first.fingerprint, second.fingerprint) == (old, new)
    assert (first.first_seen, first.last_seen, first.requests) == (1, 36, 31 + 3)
    assert (second.first_seen, second.last_seen) == (31, 35)


def test_an_edit_rolled_out_slowly_is_noticed() -> None:
    """While old and new wording alternate for a while, the new one becomes a version in the end."""
    learner, rng = taught(), random.Random(14)
    edited = PROMPT.replace("garden centre", "garden museum")
    old = fingerprint_of(learner, filled(rng))
    for number in range(100, 130):
        prompt = edited if rng.random() < (number - 100) / 12 else PROMPT
        slots = filled(rng, prompt)
        learner.observe("mail", slots, str(number))
    assert fingerprint_of(learner, slots) not in {None, old}


def test_a_long_constant_prompt_is_template() -> None:
    """A system prompt of 100 KB is template from end to end, and an edit in its middle a new version."""
    rng = random.Random(21)
    system = " ".join(message_of(rng) for _ in range(1_800))
    learner = TemplateLearner()

    def slots(text: str) -> list[SlotText]:
        return [SlotText("system", text, 0), SlotText("user", message_of(rng), 1)]

    for number in range(25):
        learner.observe("mail", slots(system), str(number))
    old = fingerprint_of(learner, slots(system))
    assert len(system) > 80_000
    assert {kind for kind, _ in kinds_of(learner, slots(system))[0]} == {"template"}
    middle = len(system) // 2
    edited = system[:middle] + " altered " + system[middle:]
    for number in range(100, 105):
        learner.observe("mail", slots(edited), str(number))
    assert fingerprint_of(learner, slots(edited)) not in {None, old}
    assert {kind for kind, _ in kinds_of(learner, slots(edited))[0]} == {"template"}
