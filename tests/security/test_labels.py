"""Names that clients choose: they cost neither series, nor memory, nor rows without limit."""

import asyncio
import json

from prometheus_client import CollectorRegistry, generate_latest

from evenkeel.core.cells import OTHER_MODEL
from evenkeel.core.text import LONGEST_NAME
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.export.prometheus import CellCollector
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.shadow.original import Reader
from evenkeel.shadow.planner import RoutePlan
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.monitor.stored_state import stored
from tests.proxy.conftest import eventually, relay
from tests.stores.examples import exchange, verdict

LONG = "n" * 60_000
SETTINGS = MonitorSettings(threshold=0.1, mean_trials_between_false_alarms=1000, min_trials=5)


def stored_bytes(state):
    head, parts = stored(state)
    return len(head) + sum(map(len, parts.values()))


def test_names_are_cut_before_they_are_stored():
    """Model, task and prompt version are no longer than any honest one, whoever named them."""
    request = {"model": LONG, "messages": [{"role": "user", "content": "Hi"}]}
    choice = {"message": {"content": "a"}, "finish_reason": "stop"}
    answer = {"model": LONG, "system_fingerprint": LONG, "choices": [choice]}
    named = exchange(
        1, request_body=json.dumps(request).encode(), response_headers=(),
        response_body=json.dumps(answer).encode(), task=LONG, prompt_version=LONG, session=LONG,
    )  # fmt: skip
    original = Reader({"default": RoutePlan((), 1, None)}).read(named)
    assert (original.model, original.origin.task, original.origin.prompt_version) == (
        LONG[:LONGEST_NAME],
    ) * 3


def flooded(count):
    """A monitor that has seen so many exchanges, each with names of its own."""
    state = MonitorState(SETTINGS)
    for number in range(count):
        name = f"{number:06}".ljust(LONGEST_NAME, "n")
        fields = ("model", "requested_model", "system_fingerprint", "prompt_version", "task")
        trial = verdict(number, perturbation=BASELINE, rating=3, quality=(), **dict.fromkeys(fields, name))
        state.apply(LoggedVerdict(number + 1, trial))
    return state


def exposed(state):
    registry = CollectorRegistry()
    registry.register(CellCollector(state.reports, state.rollups, state.changes, version="1"))
    return generate_latest(registry)


def test_a_flood_of_names_makes_no_flood_of_series():
    """Beyond a route's limit models share one name; what is exported and kept stops growing."""
    some, many = flooded(600), flooded(3000)
    models = {report.key.model for report in many.reports()}
    assert len(models) == SETTINGS.max_models_per_route + 1
    assert OTHER_MODEL in models
    assert exposed(some).count(b"\n") == exposed(many).count(b"\n")
    assert stored_bytes(many) < 1.5 * stored_bytes(some)
    assert sum(sum(route.counts.values()) for route in many.changes()) < 30


def test_paths_methods_and_fields_make_no_series():
    """The relay counts by route and class of status; a client chooses neither."""

    async def main():
        async with relay(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", prefix="/a") as rig:

            async def ask(number):
                path = f"/{'a' if number % 2 else 'b'}/{number}?q={number}"
                fields = f"X-Evenkeel-Task: t{number}\r\nX-Evenkeel-Session: s{number}\r\nX-{number}: 1\r\n"
                await rig.ask(f"M{number} {path} HTTP/1.1\r\nHost: h{number}\r\n{fields}\r\n".encode())

            def series():
                snapshot = rig.plane.snapshot()
                return [[name, labels] for kind in snapshot.values() for name, labels, *_ in kind]

            for number in range(4):
                await ask(number)
            before = series()
            for number in range(4, 60):
                await ask(number)
            await eventually(lambda: rig.counter("proxy_requests") == 60)
            assert series() == before

    asyncio.run(main())
