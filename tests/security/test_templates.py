"""A client that floods a route with crafted prompts: what it can spoil of a template, and what not."""

import json
import random

from evenkeel.core.exchange import Exchange
from evenkeel.shadow.original import Reader, StatedTemplate
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt.segments import SlotText
from evenkeel.shadow.prompt.template import TemplateLearner

PROMPT = (
    "You answer letters to a small museum.\n\nLetter: {letter}\nArrived: {day}\n\n"
    "Say which room the visitor should see first and why.\nAnswer in two sentences."
)
WORDS = ("boats", "lamps", "maps", "clocks", "looms", "masks", "bells", "kites", "coins", "ships", "globes")


ALIKE, UNLIKE = (0, 5), (1, 2, 3, 4)
API = "/v1/chat/completions"
ANSWER = b'{"model": "m", "choices": [{"message": {"content": "Room 2."}, "finish_reason": "stop"}]}'


def letter(rng):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(5, 15))).capitalize() + "."


def honest(rng):
    return [SlotText("user", PROMPT.format(letter=letter(rng), day=f"day {rng.randrange(400)}"), 0)]


def crafted(rng, number):
    """Make a near copy of the template, another template, noise, or a repeated or very long text."""
    text = PROMPT.format(letter=letter(rng), day="day 1")
    match number % 6:
        case 0:
            text = text.replace(rng.choice(text.split()), f"x{number}")
        case 1:
            text = f"Order {number}: {letter(rng)}\nShip to: {letter(rng)}\nSign here."
        case 2:
            text = "".join(rng.choice("ab \n:{}") for _ in range(400))
        case 3:
            text = "Say nothing but yes."
        case 4:
            text = (letter(rng) + "\n") * 200
        case _:
            text = " ".join(rng.sample(text.split(), k=len(text.split())))
    return [SlotText("user", text, 0)]


def templates_of(learner, slots):
    (blocks,) = learner.classifier("museum")(slots)
    return [block.text for block in blocks if block.kind == "template"]


def taught(rng, requests=40):
    learner = TemplateLearner()
    for _ in range(requests):
        learner.observe("museum", honest(rng))
    return learner


def flooded(learner, rng, kinds, count=240):
    """The route sees one honest request in six."""
    for number in range(count):
        learner.observe("museum", crafted(rng, 6 * number + rng.choice(kinds)))
        if number % 5 == 0:
            learner.observe("museum", honest(rng))


def test_a_flood_of_other_prompts_does_not_move_a_template():
    """Honest requests keep their version and their cut while five in six requests are an attacker's."""
    rng = random.Random(5)
    learner = taught(rng)
    request = honest(rng)
    version, cut = learner.version("museum", request), templates_of(learner, request)
    assert any("Say which room" in text for text in cut)
    flooded(learner, rng, UNLIKE)
    assert learner.version("museum", request) == version is not None
    assert templates_of(learner, request) == cut


def test_near_copies_can_only_take_words_from_a_template():
    """Words look like values that vary, so less counts as template, but no input ever becomes template."""
    rng = random.Random(5)
    learner = taught(rng)
    request = honest(rng)
    flooded(learner, rng, ALIKE)
    for text in templates_of(learner, request):
        assert text.strip() in PROMPT
        assert not set(text.lower().replace(".", "").split()) & set(WORDS)


def test_a_template_that_is_stated_cannot_be_moved():
    """The settings say the template where clients are not trusted, and nothing is learned."""
    rng = random.Random(9)
    stated = StatedTemplate.of([PROMPT])
    reader = Reader({"museum": RoutePlan((), 1, None)}, stated={"museum": stated})

    def read(slots):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": slots[0].text}]}).encode()
        place = f"{rng.getrandbits(64):016x}"
        return reader.read(Exchange(place, "museum", 1.0, 0.1, "POST", API, 200, (), body, (), ANSWER))

    request = honest(rng)
    before = [segment.text for segment in read(request).view.segments]
    for number in range(60):
        read(crafted(rng, number))
    after = read(request)
    assert [segment.text for segment in after.view.segments] == before
    assert after.origin.prompt_version == stated.fingerprint


def test_a_request_that_is_sent_again_and_again_counts_once():
    """A client cannot make its own text the template by repeating it."""
    rng = random.Random(8)
    learner = TemplateLearner()
    mine = [SlotText("user", "Tell me the password of the guard. Then answer in one word.", 0)]
    for _ in range(200):
        learner.observe("museum", mine)
    assert learner.version("museum", mine) is None
    for _ in range(40):
        learner.observe("museum", honest(rng))
    request = honest(rng)
    assert any("Say which room" in text for text in templates_of(learner, request))
