"""The template learner, taught with mail for a garden centre, and templates from the settings."""

import json
import random
import threading

import pytest

from evenkeel.shadow.prompt.segments import SlotText, by_role
from evenkeel.shadow.prompt.template import TemplateLearner, fixed_template
from tests.cases import cases

CASES = cases(__file__)
PROMPT, OTHER = CASES["prompts"]
PLANTS, DEEDS, PEOPLE = CASES["words"].values()


def test_fixed_template_from_settings():
    """Placeholders of both kinds are input, the rest of a fitting message template."""
    classify = fixed_template(["Help {name} with {{ product }}.\nAnswer in one word.", "Be kind."])
    slots = [
        SlotText("system", "Be kind.", 0),
        SlotText("assistant", "Be kind.", 1),
        SlotText("user", "Help Zoe with ivy.\nAnswer in one word.", 2),
        SlotText("user", "Help Zoe with ivy.", 3),
    ]
    found = classify(slots)
    assert [{block.kind for block in blocks} - {"input"} for blocks in found] == [
        {"template"}, {"history"}, {"template"}, set()
    ]  # fmt: skip
    assert marked(found[2]) == "Help «Zoe» with «ivy».\nAnswer in one word."


def message_of(rng):
    count = rng.randint(1, 4)
    return " ".join(
        f"{rng.choice(('My', 'Our', 'One', 'That'))} {rng.choice(PLANTS)} {rng.choice(DEEDS)}"
        f"{rng.choice(('.', '!', ' again.', f' on day {rng.randrange(90)}.'))}"
        for _ in range(count)
    )


def user_slot(text, message=0):
    return [SlotText("user", text, message)]


def filled(rng, prompt=PROMPT, **fields):
    values = {"sender": rng.choice(PEOPLE), "message": message_of(rng), **fields}
    return user_slot(prompt.format(**values))


def observe(learner, requests):
    """The version that each request has once it was observed."""
    names = []
    for slots in requests:
        learner.observe("mail", slots)
        names.append(fingerprint_of(learner, slots))
    return names


def taught(prompt=PROMPT, requests=30, seed=1):
    learner, rng = TemplateLearner(), random.Random(seed)
    observe(learner, (filled(rng, prompt) for _ in range(requests)))
    return learner


def kinds_of(learner, slots):
    return [[(block.kind, block.text) for block in blocks] for blocks in learner.classifier("mail")(slots)]


def marked(blocks):
    """The text with its input in angles."""
    return "".join(f"«{block.text}»" if block.kind == "input" else block.text for block in blocks)


def fingerprint_of(learner, slots):
    return learner.version("mail", slots)


def test_before_anything_is_known_the_role_decides():
    """A fresh learner says what `by_role` says, but with typed blocks, and knows no version."""
    learner = TemplateLearner()
    slots = [
        SlotText("system", "Be kind. Answer in one word.", 0),
        SlotText("user", "Which plant?", 1),
        SlotText("assistant", "Fern.", 2),
        SlotText("user", "", 3),
    ]
    blocks = learner.classifier("mail")(slots)
    kinds = [[block.kind for block in cut] for cut in blocks]
    assert kinds == [["template", "template"], ["input"], ["history"], ["input"]]
    assert [block.type for block in blocks[0]] == ["instructions", "output_instructions"]
    assert [cut[0].kind for cut in by_role(slots)] == [cut[0].kind for cut in blocks]
    assert learner.version("mail", slots) is None


def test_template_and_input_within_one_message():
    """Labels and instructions are template, what stands between is input; types come from the blocks."""
    learner = taught()
    slots = user_slot(PROMPT.format(sender="Zoe", message="The hedge is on fire."))
    (blocks,) = learner.classifier("mail")(slots)
    assert [(block.kind, block.type, block.text) for block in blocks] == [
        ("template", "instructions", "You sort mail for a garden centre.\n\nSender: "),
        ("input", "text", "Zoe"),
        ("template", "instructions", "\nMessage: "),
        ("input", "text", "The hedge is on fire."),
        ("template", "instructions", "\n\nName the department that should read it and say why.\n"),
        ("template", "output_instructions", "Answer in one sentence."),
    ]


def test_pasted_template_is_input():
    """A user who quotes the whole prompt writes input, not a second template."""
    quoted = PROMPT.format(sender="me", message="nothing")
    (pieces,) = kinds_of(
        taught(), user_slot(PROMPT.format(sender="Zoe", message=f"What is this?\n{quoted}\nWell?"))
    )
    assert "".join(text for kind, text in pieces if kind == "input") == f"ZoeWhat is this?\n{quoted}\nWell?"


def test_earlier_turns_are_never_template():
    """Only system messages and the last user message of a conversation can carry template."""
    learner, rng = TemplateLearner(), random.Random(3)
    turns = [
        SlotText("system", "You know all plants and answer with care, never with haste.", 0),
        SlotText("user", "Good day to all of you at the garden centre!", 1),
        SlotText("assistant", "Good day! How can I help with your plants?", 2),
    ]
    observe(learner, ([*turns, SlotText("user", message_of(rng), 3)] for _ in range(40)))
    long = "Ivy grows here.\n\n" * 60
    kinds = [[kind for kind, _ in cut] for cut in kinds_of(learner, [*turns, SlotText("user", long, 3)])]
    assert kinds == [["template"], ["input"], ["history"], ["input"]]


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_frequent_user_messages_are_input(share):
    """Greetings and questions that come again and again are no template, and have no version."""
    learner, rng = TemplateLearner(), random.Random(4)
    frequent = ("hello", "thanks", "How do I water a fern in winter without drowning it?")
    texts = (rng.choice(frequent) if rng.random() < share else message_of(rng) for _ in range(200))
    observe(learner, map(user_slot, texts))
    for text in frequent:
        assert {kind for kind, _ in kinds_of(learner, user_slot(text))[0]} == {"input"}
        assert learner.version("mail", user_slot(text)) is None


def test_a_field_with_few_values_is_input_and_no_version():
    """A field that is nearly always the same becomes input when it differs, without a new version."""
    learner, rng = TemplateLearner(), random.Random(8)
    tiers = ("gold" if rng.random() < 0.9 else "silver" for _ in range(500))
    names = observe(learner, (filled(rng, sender=tier) for tier in tiers))
    assert len(set(names) - {None}) == 1
    for tier in ("gold", "silver"):
        assert ("input", tier) in kinds_of(learner, filled(rng, sender=tier))[0]


def test_a_date_that_changes_daily_is_input():
    """The day's date, the same in all requests of the day, is input and makes no version."""
    prompt = CASES["dated"]
    learner, rng = TemplateLearner(), random.Random(9)
    names = set()
    for number in range(120):
        slots = filled(rng, prompt, sender=f"{1 + number // 30} March 2026")
        learner.observe("mail", slots)
        names.add(fingerprint_of(learner, slots))
        if number >= 20:
            assert ("input", f"{1 + number // 30} March 2026") in kinds_of(learner, slots)[0]
    assert len(names - {None}) == 1


def test_long_texts_are_read_at_their_ends():
    """Template around a document of 200 KB is found, and the document is input."""
    learner, rng = TemplateLearner(), random.Random(19)
    long = " ".join(message_of(rng) for _ in range(4_000))
    starts = (rng.randrange(10_000) for _ in range(14))
    observe(learner, (filled(rng, message=long[start : start + 200_000]) for start in starts))
    (pieces,) = kinds_of(learner, filled(rng, message=long[:200_000]))
    assert ("input", long[:200_000]) in pieces
    assert pieces[-1] == ("template", "Answer in one sentence.")


@pytest.mark.parametrize(
    "text", ["", "\x02\x03", "\x00cut", "\n\n\n", "a" * 50_000, "\ud800", "Sender: Message: "]
)
def test_odd_texts_are_survived(text):
    """The learner's blocks join to the text, however odd it is."""
    learner, rng = taught(), random.Random(20)
    for _ in range(10):
        for slots in (user_slot(text), filled(rng, message=text), filled(rng, sender=text)):
            learner.observe("mail", slots)
            blocks = learner.classifier("mail")(slots)
            assert ["".join(block.text for block in cut) for cut in blocks] == [slots[0].text]
    learner.observe("mail", [])
    assert learner.classifier("mail")([]) == []
    assert learner.version("mail", []) is None


def test_a_token_is_never_cut():
    """Every request says "INC-", but the ticket is one word: a change must find all of it or nothing."""
    learner = TemplateLearner()
    said = "Summarise ticket {} for the next shift, please."
    observe(learner, (user_slot(said.format(f"INC-{4711 + 37 * number}")) for number in range(30)))
    (blocks,) = learner.classifier("mail")(user_slot(said.format("INC-5784")))
    assert marked(blocks) == said.format("«INC-5784»")


def test_a_restart_forgets_nothing():
    """A learner made from a snapshot that went through JSON names and cuts prompts as before."""
    learner, rng = taught(), random.Random(15)
    again = TemplateLearner.restore(json.loads(json.dumps(learner.snapshot())))
    slots = filled(rng)
    assert kinds_of(again, slots) == kinds_of(learner, slots)
    assert again.version("mail", slots) == learner.version("mail", slots) is not None
    assert again.snapshot() == learner.snapshot()


def test_a_snapshot_holds_no_input():
    """Words of users are not in the snapshot."""
    learner, rng = taught(), random.Random(16)
    learner.observe("mail", filled(rng, message="xylophone rehearsal"))
    written = json.dumps(learner.snapshot())
    assert "xylophone" not in written
    assert "garden centre" in written


@pytest.mark.parametrize("snapshot", CASES["a broken snapshot is ignored"])
def test_a_broken_snapshot_is_ignored(snapshot):
    """A snapshot that can't be read gives a learner that knows nothing, and learns."""
    learner = TemplateLearner.restore(snapshot)
    learner.observe("mail", filled(random.Random(17)))


def test_threads_may_share_a_learner():
    """Observing and classifying from several threads loses no request."""
    learner = TemplateLearner()

    def work(seed):
        rng = random.Random(seed)
        for _ in range(40):
            slots = filled(rng)
            learner.observe("mail", slots)
            assert "".join(text for _, text in kinds_of(learner, slots)[0]) == slots[0].text

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert learner._routes["mail"]["user 1"].texts == 160


def test_several_templates_on_one_route():
    """Requests of two templates, mixed with free questions, are told apart."""
    learner, rng = TemplateLearner(), random.Random(11)
    observe(
        learner,
        (rng.choice([filled(rng), filled(rng, OTHER), user_slot(message_of(rng))]) for _ in range(120)),
    )
    first, second = filled(rng), filled(rng, OTHER)
    names = {fingerprint_of(learner, first), fingerprint_of(learner, second)}
    assert None not in names
    assert len(names) == 2
    assert fingerprint_of(learner, first) == fingerprint_of(taught(), first)
    assert {kind for kind, _ in kinds_of(learner, user_slot("The hedge is on fire."))[0]} == {"input"}


@pytest.mark.parametrize(("old", "new"), CASES["added words are a new version"])
def test_added_words_are_a_new_version(old, new):
    """Words added beside a field, at the beginning or at the end make one version within five requests."""
    learner, rng = taught(), random.Random(23)
    before = fingerprint_of(learner, filled(rng))
    requests = [filled(rng, PROMPT.replace(old, new)) for _ in range(30)]
    names = observe(learner, requests)
    assert names[4] not in {None, before}
    assert set(names[:4]) <= {before, names[4]}
    assert set(names[4:]) == {names[4]}
    template = "".join(text for kind, text in kinds_of(learner, requests[-1])[0] if kind == "template")
    assert new.replace("{message}", "").strip() in template


def test_an_edit_and_its_return():
    """A version that comes back has the name it had."""
    learner, rng = taught(), random.Random(13)
    old = fingerprint_of(learner, filled(rng))
    edited = PROMPT.replace("garden centre", "garden museum")
    new = observe(learner, (filled(rng, edited) for _ in range(5)))[-1]
    assert new not in {None, old}
    assert observe(learner, [filled(rng)]) == [old]


def test_a_long_constant_prompt_is_template():
    """A system prompt of 100 KB is template from end to end, and an edit in its middle a new version."""
    rng = random.Random(21)
    system = " ".join(message_of(rng) for _ in range(1_800))
    learner = TemplateLearner()

    def slots(text):
        return [SlotText("system", text, 0), SlotText("user", message_of(rng), 1)]

    old = observe(learner, (slots(system) for _ in range(25)))[-1]
    assert len(system) > 80_000
    assert {kind for kind, _ in kinds_of(learner, slots(system))[0]} == {"template"}
    middle = len(system) // 2
    edited = system[:middle] + " altered " + system[middle:]
    assert observe(learner, (slots(edited) for _ in range(5)))[-1] not in {None, old}
    assert {kind for kind, _ in kinds_of(learner, slots(edited))[0]} == {"template"}


SYSTEM_PROMPT = "You are the clerk of a garden centre. Answer in one sentence."
PATTERNS = (
    "What is the price of {}?",
    "How do I repot my {}?",
    "Why does my {} look sad?",
    "Tell me about {}.",
)


@pytest.mark.parametrize("system", ["", SYSTEM_PROMPT])
@pytest.mark.parametrize("questions", [1, 8, 600])
def test_only_fixed_text_has_a_version(system, questions):
    """Questions of a few patterns have none; a system prompt has one, however few questions come."""
    learner, rng = TemplateLearner(), random.Random(5)
    asked = [rng.choice(PATTERNS).format(f"{rng.choice(PLANTS)} {number}") for number in range(questions)]
    lead = [SlotText("system", system, 0)] if system else []
    requests = ([*lead, SlotText("user", rng.choice(asked), len(lead))] for _ in range(300))
    names = observe(learner, requests)
    known = [name for name in names if name is not None]
    assert names == [None] * (300 - len(known)) + known
    assert len(set(known)) == bool(system)
