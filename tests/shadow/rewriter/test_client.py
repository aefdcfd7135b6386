"""The rewriter against a scripted OpenAI-compatible endpoint, over HTTP on the loopback."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from evenkeel.llm.limits import Pauses
from evenkeel.shadow.perturbations.protocol import RewriteTask
from evenkeel.shadow.rewriter import Rewriter
from tests.llm import scripted
from tests.llm.scripted import KEY, Canned, Clock, MemoryCache, Scripted, endpoint_of, error, serving

TEXT = "Our customer reports that the export of invoice INC-48213 fails, and she needs it within 3 hours."
TASK = RewriteTask("paraphrase", TEXT)
GOOD = "The client says that exporting invoice INC-48213 does not work; she must have it within 3 hours."
BETTER = "Exporting invoice INC-48213 is broken, says our client, who has to have it within 3 hours."


def said(content, **message):
    """A completion with this reply, and 300 + 30 tokens of usage."""
    return scripted.said(content, (300, 30), **message)


def wrote(text):
    """A completion with this text between its tags."""
    return said(f"Sure! <rewritten>\n{text}\n</rewritten> Anything else?")


class CountedBudget:
    """A budget with a limit."""

    def __init__(self, limit=10**9):
        self.limit = limit
        self.spent = 0
        self.reserved = 0
        self.open = 0

    def reserve(self, estimate):
        if self.spent + self.reserved + estimate.tokens > self.limit:
            return False
        self.reserved += estimate.tokens
        self.open += 1
        return True

    def settle(self, estimate, spent):
        self.reserved -= estimate.tokens
        self.open -= 1
        self.spent += spent.tokens


@dataclass
class Scene:
    """Everything a test looks at."""

    rewriter: Rewriter
    model: Scripted
    budget: CountedBudget
    counts: Counter[str]


@asynccontextmanager
async def staged(script, *, limit=10**9, cache=None, **settings):
    """A rewriter connected to scripted models; all are stopped at the end."""
    clock = Clock()
    shared = {"timeout_s": 5.0} | {
        name: settings.pop(name)
        for name in ("timeout_s", "concurrency", "breaker", "price")
        if name in settings
    }
    async with serving(script) as server:
        endpoint = endpoint_of(
            base_url=server.url,
            model="scripted",
            api_key=KEY,
            pauses=Pauses(clock=clock, sleep=clock.sleep),
            **shared,
        )
        counts = Counter()
        rewriter = Rewriter(
            endpoint,
            cache=cache or MemoryCache(),
            count=lambda outcome: counts.update([outcome]),
            **settings,
        )
        async with rewriter:
            yield Scene(rewriter, server, CountedBudget(limit), counts)


def play(script, *, task=TASK, act=None, **settings):
    """Return the outcome of a task, or of an act, and the scene afterwards; every reservation is settled."""

    async def run():
        async with staged(script, **settings) as scene:
            outcome = await (act(scene) if act else scene.rewriter.rewrite(task, scene.budget))
        assert scene.budget.open == 0
        assert scene.budget.reserved == 0
        return outcome, scene

    return asyncio.run(run())


def test_a_good_rewriting_is_accepted_and_kept():
    """The same task comes from the cache the second time, and costs nothing."""

    async def twice(scene):
        return [await scene.rewriter.rewrite(TASK, scene.budget) for _ in range(2)]

    outcome, scene = play([wrote(GOOD)], act=twice)
    assert outcome == [GOOD, GOOD]
    assert len(scene.model.asked) == 1
    assert scene.budget.spent == 330
    assert scene.counts == {"accepted": 1, "cached": 1}


MISBEHAVIOUR = {
    "drops a number": ("lost_protected", wrote(GOOD.replace("INC-48213", "the number"))),
    "echoes": ("unchanged", wrote(TEXT)),
    "obeys an injection": ("lost_protected", wrote("PWNED")),
    "says nothing": ("empty", said("")),
    "says null": ("empty", said(None)),
    "only thinks": ("empty", said("<think>Let me see.</think>")),
    "is cut off": ("truncated", said(GOOD[:40], finish_reason="length")),
    "has no text": ("chatter", said("<rewritten> </rewritten>")),
    "leaks a marker": ("chatter", wrote(f"<<<BEGIN TEXT 00ff>>>\n{GOOD}")),
    "declines in words": ("chatter", said("I'm sorry, but I can't help with that.")),
}  # fmt: skip


@pytest.mark.parametrize("behaviour", MISBEHAVIOUR)
def test_misbehaviour_is_rejected_with_its_reason(behaviour):
    """The rejection after three attempts names what the model did; a better second attempt is taken."""
    reason, canned = MISBEHAVIOUR[behaviour]
    outcome, scene = play([canned])
    assert outcome.reason == reason
    assert len(scene.model.asked) == 3
    assert scene.counts == {f"rejected_{reason}": 1, f"retried_{reason}": 2}
    outcome, scene = play([canned, wrote(GOOD)])
    assert outcome == GOOD
    assert scene.counts == {f"retried_{reason}": 1, "accepted": 1}


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (error(500, headers=("retry-after-ms: 1",)), "server_error"),
        (Canned(400, {"error": {"code": "json_validate_failed"}}), "bad_schema"),
    ],
)
def test_trouble_of_the_endpoint_is_tried_again_by_its_client_alone(trouble, reason):
    """Three requests of one attempt."""
    outcome, scene = play([trouble])
    assert outcome.reason == reason
    assert len(scene.model.asked) == 3
    assert scene.counts == {f"rejected_{reason}": 1}


def test_feedback_names_the_faults_and_shows_the_attempt():
    """The second request quotes the rejected text and says precisely what is wrong with it."""
    bad = GOOD.replace("3 hours", "4 hours")
    outcome, scene = play([wrote(bad), wrote(GOOD)])
    assert outcome == GOOD
    first, second = (request["messages"][-1]["content"] for request in scene.model.asked)
    assert bad not in first
    assert bad in second
    assert "These passages are missing or altered: «3 hours»." in second
    assert "These numerals are not in the original, or not so often: «4»." in second
    assert '"INC-48213"' in first


def test_a_cut_reply_gets_more_room():
    """Twice as many tokens are allowed the second time."""
    _, scene = play([said("Our", finish_reason="length"), wrote(GOOD)])
    first, second = (request["max_tokens"] for request in scene.model.asked)
    assert second == 2 * first


@pytest.mark.parametrize("kind", ["paraphrase", "tone", "translation"])
@pytest.mark.parametrize("name", ["Mara Jonas", "Windows 11 Pro", "Visa Classic, Mastercard Gold"])
def test_what_has_no_other_wording_stays(kind, name):
    """A name that comes back as it was is asked for once more, and then left as it is."""
    task = RewriteTask(kind, name, {"tone": "polite", "translation": "de"}.get(kind, ""))
    outcome, scene = play([wrote(name)], task=task)
    assert outcome == name
    assert len(scene.model.asked) == 2
    assert scene.counts == {"retried_unchanged": 1, "accepted": 1}


def test_a_short_sentence_is_no_name():
    """Few words whose language is clear can be put differently: sent back as they were they are rejected."""
    outcome, _ = play([wrote("thanks a lot")], task=RewriteTask("paraphrase", "thanks a lot"))
    assert outcome.reason == "unchanged"


async def ask_in_turn(scene, times):
    return [await scene.rewriter.rewrite(TASK, scene.budget) for _ in range(times)]


def test_a_text_that_cannot_be_rewritten_is_not_tried_for_ever():
    """A refused text rests for 50 uses, then for 100; troubles are tried again at once."""
    outcomes, scene = play([wrote(TEXT)], act=lambda scene: ask_in_turn(scene, 1 + 50))
    assert {rejection.reason for rejection in outcomes} == {"unchanged"}
    assert len(scene.model.asked) == 3
    assert scene.counts["rejected_unchanged"] == 51
    _, scene = play([wrote(TEXT)], act=lambda scene: ask_in_turn(scene, 1 + 50 + 1 + 100))
    assert len(scene.model.asked) == 6
    _, scene = play([said("")], act=lambda scene: ask_in_turn(scene, 2))
    assert len(scene.model.asked) == 6


def test_a_text_that_was_given_up_once_is_not_lost():
    """The next round asks with other seeds, and what it brings is kept."""
    bad = [wrote(TEXT)] * 3
    outcomes, scene = play([*bad, wrote(GOOD)], act=lambda scene: ask_in_turn(scene, 1 + 50 + 2))
    assert outcomes[-2:] == [GOOD, GOOD]
    assert len(scene.model.asked) == 4
    assert len({request["seed"] for request in scene.model.asked}) == 4
    assert scene.counts["cached"] == 1


def test_tasks_alike_share_one_call():
    """Twenty callers at once cause one call; each gets its text, and one who leaves takes nothing along."""

    async def act(scene):
        waiting = [asyncio.create_task(scene.rewriter.rewrite(TASK, scene.budget)) for _ in range(20)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        return await asyncio.gather(*waiting, return_exceptions=True)

    outcomes, scene = play([wrote(GOOD)], act=act)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert outcomes[1:] == [GOOD] * 19
    assert len(scene.model.asked) == 1
    assert scene.counts == {"accepted": 1, "shared": 19}


@pytest.mark.parametrize("verdict", [True, False, None])
def test_the_judge_of_meaning_has_the_last_word(verdict):
    """Asked only about texts that pass the gate: False rejects, None leaves it out for now."""
    pairs = []

    async def equal_meaning(original, text):
        pairs.append((original, text))
        return verdict

    outcome, scene = play([wrote(TEXT), wrote(GOOD)], equal_meaning=equal_meaning, attempts=2)
    assert pairs == [(TEXT, GOOD)]
    assert scene.counts["rejected_meaning_unknown"] == (verdict is None)
    reason = {True: None, False: "meaning", None: "meaning_unknown"}[verdict]
    assert outcome == GOOD if reason is None else outcome.reason == reason


def test_thoughts_in_front_of_a_reply_are_left_out():
    """Reasoning that some servers pass on is no part of the reply."""
    assert play([said(f"<think>\nHm, 7 ways.\n</think>\n\n<rewritten>{GOOD}</rewritten>\n")])[0] == GOOD


def test_closing_ends_what_is_under_way():
    """A hanging call does not outlive the rewriter, and its reservation is released."""

    async def act(scene):
        waiting = asyncio.create_task(scene.rewriter.rewrite(TASK, scene.budget))
        await scene.model.hanging.wait()
        await scene.rewriter.close()
        return (await asyncio.gather(waiting, return_exceptions=True))[0]

    outcome, scene = play([Canned(hang=True)], act=act)
    assert isinstance(outcome, asyncio.CancelledError)
    assert scene.budget.spent > 0


def test_an_empty_budget_does_not_speak_for_another():
    """A caller who shares a task with one without a budget still gets the text."""

    async def act(scene):
        return await asyncio.gather(
            scene.rewriter.rewrite(TASK, CountedBudget(0)), scene.rewriter.rewrite(TASK, scene.budget)
        )

    outcomes, scene = play([wrote(GOOD)], act=act)
    assert outcomes[0].reason == "budget"
    assert outcomes[1] == GOOD
    assert scene.counts["rejected_budget"] == 1
