"""What tests of the template learner share: mail for a garden centre, and a learner taught with it."""

from __future__ import annotations

import random

from evenkeel.shadow.prompt.segments import SlotText
from evenkeel.shadow.prompt.template import TemplateLearner

PROMPT = (
    "You sort mail for a garden centre.\n\nSender: {sender}\nMessage: {message}\n\n"
    "Name the department that should read it and say why.\nAnswer in one sentence."
)
PLANTS = ("fern", "maple", "tulip", "cactus", "ivy", "rose", "birch", "lily", "pine", "moss", "oak", "sage")
DEEDS = (
    "wilted",
    "arrived broken",
    "grew too tall",
    "lost its leaves",
    "needs a pot",
    "smells odd",
    "was a gift",
)
PEOPLE = ("Ada", "Bo", "Cem", "Dina", "Eli", "Fay", "Gus", "Hana", "Ira", "Jun")


def message_of(rng: random.Random) -> str:
    count = rng.randint(1, 4)
    return " ".join(
        f"{rng.choice(('My', 'Our', 'One', 'That'))} {rng.choice(PLANTS)} {rng.choice(DEEDS)}"
        f"{rng.choice(('.', '!', ' again.', f' on day {rng.randrange(90)}.'))}"
        for _ in range(count)
    )


def user_slot(text: str, message: int = 0) -> list[SlotText]:
    return [SlotText("user", text, message)]


def filled(rng: random.Random, prompt: str = PROMPT, **fields: str) -> list[SlotText]:
    values = {"sender": rng.choice(PEOPLE), "message": message_of(rng), **fields}
    return user_slot(prompt.format(**values))


def taught(prompt: str = PROMPT, requests: int = 30, seed: int = 1) -> TemplateLearner:
    learner, rng = TemplateLearner(), random.Random(seed)
    for number in range(requests):
        learner.observe("mail", filled(rng, prompt), str(number))
    return learner


def kinds_of(learner: TemplateLearner, slots: list[SlotText]) -> list[list[tuple[str, str]]]:
    return [[(block.kind, block.text) for block in blocks] for blocks in learner.classifier("mail")(slots)]


def fingerprint_of(learner: TemplateLearner, slots: list[SlotText]) -> str | None:
    version = learner.version("mail", slots)
    return version.fingerprint if version else None
