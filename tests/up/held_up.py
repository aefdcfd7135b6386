"""Play the ways to measure nothing in front of real processes, and print what people are shown.

python -m tests.up.held_up                     # all of them, as a table in Markdown
python -m tests.up.held_up judge_down --roles  # one, as proxy, worker and monitor on a Redis
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from evenkeel.simulate.judge import JUDGE_MODEL
from tests.kit.relaying import Load, settings_file, total
from tests.redis_server import RedisServer
from tests.role_processes import ADMIN, Role
from tests.services import receiver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOWHERE = "http://127.0.0.1:9/v1"
# Seconds after the fault within which a message has to be there.
PATIENCE_S = 240.0
# Every third of a second, as from a small application.
PAUSE_S = 0.3


@dataclass(slots=True)
class Started:
    """Evenkeel under one of the cases."""

    roles: list[Role]
    data: Path
    redis: RedisServer | None


@dataclass(frozen=True, slots=True)
class Case:
    """One way to measure nothing."""

    title: str
    settings: dict[str, object] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    fault: Callable[[Started], None] | None = None
    """Done once trials were rated; None = the settings are the fault."""
    repair: Callable[[Started], None] | None = None
    model: str = "simulated-1"
    """Name of the model; the price of this one is known, 0."""
    only: str = ""
    """"up" or "roles" where the other cannot have it."""


def _replace_folder(started: Started) -> None:
    """Put an empty folder in the place of the one in use, as a restored volume would be."""
    started.data.rename(started.data.with_name("moved-away"))
    started.data.mkdir()


def _stop_worker(started: Started) -> None:
    for role in started.roles:
        text = role.log.read_text()
        for pid in re.findall(r"worker started \(pid (\d+)\)", text)[-1:]:
            os.kill(int(pid), signal.SIGSTOP)


def _continue_worker(started: Started) -> None:
    for role in started.roles:
        for pid in re.findall(r"worker started \(pid (\d+)\)", role.log.read_text())[-1:]:
            os.kill(int(pid), signal.SIGCONT)


CASES = {
    "judge_down": Case("judge down", {"judge": {"base_url": NOWHERE, "model": JUDGE_MODEL}}),
    "judge_key": Case("judge's key wrong", environment={"EVENKEEL_JUDGE_API_KEY": "wrong"}),
    "replay_key": Case("replays' key wrong", environment={"EVENKEEL_SHADOW_API_KEY": "wrong"}),
    "no_price": Case("no price", {"budget": {"usd_per_day": 5}}, model="ours-7b"),
    "paced": Case(
        "budget paced",
        {"budget": {"tokens_per_day": 40_000, "prices": {"*": {"input_usd": 0, "output_usd": 0}}}},
    ),
    "spent": Case("budget spent", {"budget": {"tokens_per_day": 3_000}}),
    "worker": Case("worker hangs", fault=_stop_worker, repair=_continue_worker),
    "store_full": Case(
        "store full",
        fault=lambda started: started.redis.fill(),
        repair=lambda started: started.redis.empty(),
        only="roles",
    ),
    "redis_down": Case(
        "queue dead: Redis down",
        fault=lambda started: started.redis.stop(signal.SIGKILL),
        repair=lambda started: started.redis.start(),
        only="roles",
    ),
    "folder_replaced": Case("data folder replaced", fault=_replace_folder, only="up"),
}


class FillableRedis(RedisServer):
    """A Redis whose memory can be used up."""

    def fill(self) -> None:
        self._allow("1mb")

    def empty(self) -> None:
        self._allow("0")

    def _allow(self, memory: str) -> None:
        import redis  # noqa: PLC0415

        with redis.Redis(port=self.port) as client:
            client.config_set("maxmemory", memory)


def play(name: str, *, as_roles: bool) -> list[str]:
    """Play a case; return the cells of its row."""
    case = CASES[name]
    with contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="held-up-")))
        model = Simulation(
            [ModelState(case.model)],
            SimulationSettings(api_key="right", deterministic=True),
        )
        judge = Simulation([ModelState(JUDGE_MODEL)], SimulationSettings(api_key="judge"))
        upstream, judging = opened.enter_context(serving(model)), opened.enter_context(serving(judge))
        hook, messages = opened.enter_context(receiver())
        redis = FillableRedis(folder) if as_roles else None
        if redis:
            opened.callback(redis.process.kill)
        settings = {
            "judge": {"base_url": f"{judging}/v1", "model": JUDGE_MODEL},
            **({"storage": {"redis": {"url": redis.url}}} if redis else {}),
            **case.settings,
        }
        path = settings_file(
            folder,
            routes=[{"name": "desk", "upstream": upstream, "sampling_rate": 1.0}],
            replays={"references": {"calls_per_day": 0}},
            alerts={"webhook": hook, "min_trials": 5, "console_url": "https://keel.example"},
            listen={"port": 0},
            access={"port": 0},
            data_dir=str(folder / "data"),
            **settings,
        )
        environment = {
            "EVENKEEL_TELEMETRY__LOG_FORMAT": "text",
            "EVENKEEL_JUDGE_API_KEY": "judge",
            "EVENKEEL_SHADOW_API_KEY": "right",
            **case.environment,
        }
        commands = ("proxy", "worker", "monitor") if as_roles else ("up",)
        roles = [
            Role(
                folder,
                command,
                path,
                *(("--admin-port", "0") if command != "up" else ()),
                environment=environment,
            )
            for command in commands
        ]
        opened.enter_context(_killed(roles))
        started = Started(roles, folder / "data", redis)
        asked = roles[0].find(r"base URL +(http://\S+?)/v1 ")
        console = roles[-1].find(r"console +(http://\S+?)/\n")
        worker = roles[1].find(r"metrics +(http://\S+?)/metrics") if as_roles else ""
        asking = Load(asked, pause_s=PAUSE_S, clients=1, model=case.model, authorization="Bearer right")
        load = opened.enter_context(asking)
        if case.fault is not None:
            _wait(lambda: total(_get(console, "/metrics").text, "evenkeel_trials_total") > 30, 90)
            case.fault(started)
        began = time.monotonic()
        _wait(lambda: _held(console), PATIENCE_S)
        first = _ready(console)
        seen_s = time.monotonic() - began
        _wait(lambda: any("not being measured" in str(message) for message in messages), 120)
        told_s = time.monotonic() - began
        cells = [
            case.title,
            "roles" if as_roles else "up",
            f"{seen_s:.0f} s: {first}",
            _first_page(console),
            _ready(console),
        ]
        cells.append(_ready(worker) if worker else "–")
        cells.append(_gauges(console))
        cells.append(
            f"{told_s:.0f} s: " + " / ".join(_words(message) for message in messages) if messages else "none"
        )
        failed = len(load.failures)
        cells.append(f"{failed} of {failed + load.answered} requests failed")
        if case.repair is not None:
            case.repair(started)
            began = time.monotonic()
            over = _wait(lambda: "measured again" in str(messages) and not _held(console), 120)
            last = _words(messages[-1]) if messages else "nothing said"
            cells.append(f"over after {time.monotonic() - began:.0f} s: {last}" if over else "not over")
        for role in roles:
            cells.append(role.log.read_text()[-1500:])
        return cells


@contextlib.contextmanager
def _killed(roles: list[Role]) -> Iterator[None]:
    try:
        yield
    finally:
        for role in roles:
            role.kill()


def _wait(question: Callable[[], object], timeout_s: float) -> bool:
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        with contextlib.suppress(httpx2.HTTPError):
            if question():
                return True
        time.sleep(0.5)
    return False


def _get(url: str, path: str) -> httpx2.Response:
    return httpx2.get(f"{url}{path}", auth=ADMIN, timeout=30)


def _held(url: str) -> bool:
    return _get(url, "/readyz").status_code == 503


def _first_page(url: str) -> str:
    try:
        page = _get(url, "/")
    except httpx2.HTTPError as error:
        return repr(error)
    text = re.sub(r"<(script|style).*?</\1>", "", page.text, flags=re.DOTALL)
    section = re.search(r'<section id="status".*?</section>', text, re.DOTALL)
    text = section[0] if section else text
    links = re.findall(r'href="(/docs/runbooks/[^"]+)"', text)
    return f"{page.status_code} " + " ".join(re.sub(r"<[^>]+>", " ", text).split())[:600] + f" {links}"


def _ready(url: str) -> str:
    try:
        answer = _get(url, "/readyz")
    except httpx2.HTTPError as error:
        return repr(error)
    return f"{answer.status_code} {answer.text}"


def _gauges(url: str) -> str:
    try:
        text = _get(url, "/metrics").text
    except httpx2.HTTPError as error:
        return repr(error)
    return ", ".join(re.findall(r"^(evenkeel_(?:held_up|measuring)\S* 1(?:\.0)?)$", text, re.MULTILINE))


def _words(message: dict[str, object]) -> str:
    return (
        " ".join(str(message.get("title") or message.get("headline") or message)[:300].split())
        + " | "
        + " ".join(str(message.get("text", "")).split())
    )


def main() -> None:
    """Play the cases that are named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--roles", action="store_true")
    parser.add_argument("--up", action="store_true")
    options = parser.parse_args()
    plays = []
    for name in options.names or CASES:
        for as_roles in (False, True):
            if (
                CASES[name].only != ("up" if as_roles else "roles")
                and not (options.up and as_roles)
                and not (options.roles and not as_roles)
            ):
                plays.append((name, as_roles))
    with ThreadPoolExecutor(3) as pool:
        tasks = [pool.submit(play, name, as_roles=as_roles) for name, as_roles in plays]
        for task in as_completed(tasks):
            print("\n  ".join(task.result()), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
