"""Reference prompts are diverse and bounded, and keep the two answers that were paid for."""

import json
from collections import Counter

import pytest

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Origin
from evenkeel.shadow.original import Original
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.references.keeper import A_ROUTE, A_SET, ReferenceKeeper
from evenkeel.stores.counters import Tally
from evenkeel.stores.references import RIPE, KeptAnswer, ReferenceStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.kit.records import altered
from tests.stores.examples import exchange, verdict


def original(number, *, text=None, model="m", version="p1", route="shop", **changes):
    """An exchange whose prompt shares nothing with those of other numbers."""
    said = text or " ".join(f"word{number}of{place}" for place in range(6))
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": said}]}).encode()
    given = Original(
        exchange=exchange(number, route=route, path="/team/v1/chat/completions", received_at=1000.0 + number),
        view=PromptView.parse(body),
        answer=Answer(f"Answer {number}.", model="m-1"),
        model="m-1",
        route=RoutePlan((), 1, None),
        origin=Origin(task="chat", prompt_version=version),
    )
    return altered(given, **changes)


class Keeping:
    """A keeper over a store."""

    def __init__(self, folder):
        self.store = ReferenceStore(SqliteDocuments(Database(folder / "evenkeel.db")))
        self.tally = Tally()
        self.now = 2000.0
        self.keeper = ReferenceKeeper(self.store, {"shop": "/team"}, tally=self.tally, clock=lambda: self.now)

    def keep(self, given, resend=Answer("Again.", model="m-1"), **changes):  # noqa: B008 - frozen
        control = verdict(1, **{"scored_at": 1500.0, "perturbation": "general.baseline", **changes})
        self.keeper.keep(given, control, resend)

    @property
    def ids(self):
        return [state.id for state in self.store.states()]


@pytest.fixture
def keeping(tmp_path):
    return Keeping(tmp_path)


def test_an_exchange_is_kept_with_its_two_answers(keeping):
    """The request and the path are kept as in the archive, without the prefix of the route."""
    given = original(1)
    keeping.keep(given)
    (kept,) = keeping.store.of_route("shop")
    assert (kept.id, kept.requested_model, kept.prompt_version) == (given.exchange.id, "m", "p1")
    assert kept.path == "/v1/chat/completions"
    assert kept.request == given.view.body().decode()
    assert (kept.task, kept.taken_at) == ("chat", 1001.0)
    assert kept.answers == (
        KeptAnswer(given.answer, 1001.0, "m-1", "original"),
        KeptAnswer(Answer("Again.", model="m-1"), 1500.0, "m-1", "resend"),
    )
    assert len(kept.sketch) > 0
    assert keeping.tally.value("references_kept", route="shop") == 1
    keeping.keep(given)
    assert len(keeping.ids) == 1


def test_what_has_no_second_answer_is_not_kept(keeping):
    """A resend of another model is no second answer; a huge request would fill the store."""
    keeping.keep(original(3, text="word " * 100_000))
    keeping.keep(original(1), resend=None)
    keeping.keep(original(2), resend=Answer("Again.", model="m-2"))
    assert keeping.ids == []


def test_a_set_is_diverse(keeping):
    """The very same prompt never comes twice; prompt versions share the places of their model."""
    keeping.keep(original(1))
    keeping.keep(altered(original(1), exchange=exchange(50, route="shop")))
    assert len(keeping.ids) == 1
    for number in range(20, 60):
        keeping.keep(original(number, version=f"p{number % 2}"))
    assert len(keeping.ids) == A_SET


def test_a_recent_one_takes_the_place_of_one_that_is_ripe(keeping):
    """A full set stays as it is until one is ripe, and for four hours after the last was taken."""
    for number in range(A_SET + 1):
        keeping.keep(original(number))
    first, *others = keeping.ids
    assert len(others) == A_SET - 1
    more = tuple(KeptAnswer(Answer("x"), 1.0, "m-1", "asked") for _ in range(RIPE))
    keeping.store.update(others[4], lambda reference: altered(reference, answers=more))
    keeping.now += 60
    keeping.keep(original(98))
    assert keeping.ids == [first, *others]
    keeping.now += 4 * 3600
    keeping.keep(original(99))
    assert set(keeping.ids) == {first, *others, original(99).exchange.id} - {others[4]}


def test_a_route_with_many_models_shares_its_places(keeping):
    """A fourth model waits until a reference of any model is ripe or idle."""
    for model in range(3):
        for number in range(A_SET):
            keeping.keep(original(100 * model + number, model=f"m{model}"))
    assert len(keeping.ids) == A_ROUTE
    keeping.keep(original(900, model="new"))
    assert len(keeping.store.of_route("shop")) == A_ROUTE
    keeping.now = 1000.0 + 86_400 + 300
    for number in range(A_SET):
        keeping.keep(original(901 + number, model="new"))
    sizes = Counter(state.requested_model for state in keeping.store.states())
    assert (sizes["new"], sizes.total()) == (A_SET, A_ROUTE)


def test_an_idle_reference_makes_room(keeping):
    """Idle means neither taken nor asked for a day."""
    for number in range(A_SET):
        keeping.keep(original(number))
    oldest = keeping.ids[0]
    keeping.now = 1000.0 + 86_400 + 0.5
    keeping.keep(original(99))
    assert oldest not in keeping.ids
    assert len(keeping.ids) == A_SET


def test_a_store_in_trouble_is_counted(keeping, caplog):
    """Scoring goes on without references."""

    def lost():
        raise OSError("gone")

    keeping.keeper.keep(original(1), verdict(1), lost)
    assert keeping.tally.value("worker_errors", where="references") == 1
    assert "cannot be kept as a reference" in caplog.text
