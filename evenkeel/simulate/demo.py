"""The demo: quiet traffic, a model swap, the incident, its rollback; then planted against measured.

evenkeel is started by the command that a person would type, on free ports; the model answers in this
process. The application summarises support cases, half of them streamed. The messages about the incident go
to a webhook beside the model, and are printed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import yaml
from litestar import Request, post
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from evenkeel.core.figures import WIDE
from evenkeel.core.verdict import BASELINE
from evenkeel.simulate import ModelState, Simulation, make_case, serving, summary_prompt
from evenkeel.simulate.comparison import TruthComparison, compare, table
from evenkeel.simulate.judge import JUDGE_MODEL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence


_AT_ONCE = 6
_START_S = 240.0


class Application:
    """Sends one request after the other to one route, a few at a time."""

    def __init__(self, base_url: str, model: str, first_seed: int) -> None:
        self._client = httpx2.AsyncClient(base_url=base_url, timeout=_START_S)
        self._model = model
        self._seed = first_seed
        self.sent = 0
        self.failed = 0

    async def send(self, count: int, *, progress: Callable[[], None] = lambda: None) -> None:
        """Send `count` requests and wait for all answers."""
        slots = asyncio.Semaphore(_AT_ONCE)

        async def summarise(seed: int) -> None:
            async with slots:
                try:
                    await self._ask(seed)
                except httpx2.HTTPError:
                    self.failed += 1
                self.sent += 1
                progress()

        # Every request another case: a prompt that is repeated repeats its draw of the hash.
        seeds = range(self._seed, self._seed + count)
        self._seed += count
        await asyncio.gather(*map(summarise, seeds))

    async def _ask(self, seed: int) -> None:
        """Ask for a summary, every second time as a stream, and read all of the answer."""
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": summary_prompt(make_case(seed))}],
            # Both ways of answering are forwarded and captured by other code.
            "stream": bool(seed % 2),
        }
        async with self._client.stream("POST", "/chat/completions", json=body) as response:
            response.raise_for_status()
            async for _ in response.aiter_bytes():
                pass


_STOP_S = 60.0


class DemoError(Exception):
    """The demo cannot go on. The message says why."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Places of things, as URLs without a slash at the end."""

    proxy: str
    admin: str
    data: Path
    """The data folder."""


def free_port(preferred: int) -> int:
    """The preferred port if it is free, else any free one."""
    # The usual port first: it is the one that the documentation names.
    for port in (preferred, 0):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)) as sock:
            return int(sock.getsockname()[1])
    raise DemoError("no free port on 127.0.0.1")


@contextlib.contextmanager
def running(
    folder: Path, settings: dict[str, Any], upstream: str, variables: Mapping[str, str] | None = None
) -> Iterator[Addresses]:
    """Start evenkeel in front of the simulated models, wait until it answers, and stop it at the end.

    Args:
        folder: for the settings file, the data and the log.
        settings: `evenkeel.yaml` without addresses, upstreams and judge; these are filled in. The judge is
            the simulation's own.
        upstream: base URL of the simulation.
        variables: for the environment of its processes.
    """
    ports = {"proxy": free_port(8100), "admin": free_port(8101)}
    urls = {}
    for name, port in ports.items():
        urls[name] = f"http://127.0.0.1:{port}"
    addresses = Addresses(**urls, data=folder / "data")
    complete = {
        **settings,
        "listen": {"port": ports["proxy"]},
        # There is nothing to protect, and the printed link opens at once.
        "access": {"port": ports["admin"], "open_on_loopback": True},
        "data_dir": str(addresses.data),
        "simulated": True,
        "alerts": {**settings.get("alerts", {}), "console_url": urls["admin"]},
        "judge": {"base_url": upstream, "model": JUDGE_MODEL},
        "routes": [{**route, "upstream": upstream} for route in settings["routes"]],
    }
    config = folder / "evenkeel.yaml"
    config.write_text(yaml.safe_dump(complete, sort_keys=False), encoding="utf-8")
    log = folder / "evenkeel.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command line
            # Of this very installation, whatever stands first in PATH.
            [sys.executable, "-m", "evenkeel", "up", "--config", str(config)],
            stdout=output,
            stderr=output,
            env={**os.environ, **(variables or {}), "EVENKEEL_JUDGE_API_KEY": "simulated"},
        )
        try:
            for url in (f"{addresses.admin}/healthz", f"{addresses.proxy}/v1/models"):
                wait_for(url, process, log, f"{addresses.proxy}/v1")
            yield addresses
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path, banner: str) -> None:
    """Wait until a process has printed its banner and answers.

    The banner shows that the answer is its own: between choosing a port and listening on it another demo may
    have taken it, and two demos would measure each other's traffic.

    Raises: DemoError with what it printed, if it ends, or does not answer in four minutes.
    """
    deadline = time.monotonic() + _START_S
    while True:
        printed = log.read_text(encoding="utf-8", errors="replace")
        if banner in printed:
            with contextlib.suppress(httpx2.HTTPError):
                if httpx2.get(url, timeout=2.0).is_success:
                    return
        if process.poll() is not None:
            raise DemoError(f"a process ended while starting; try again. It said:\n{printed[-2000:]}")
        if time.monotonic() > deadline:
            raise DemoError(f"{url} does not answer. Its process said:\n{printed[-2000:]}")
        time.sleep(0.05)


_SWAPPED, _STEADY = "support", "triage"
_MODELS = ("helpdesk-1", "triage-1")
_SWAPPED_IN = "helpdesk-2"
_STEADY_STATE = {"fragility": 0.02, "noise": 0.03, "worse_share": 0.5, "latency_s": 0.01}
_FRAGILE_STATE = {"fragility": 0.3, "noise": 0.03, "returned_name": _SWAPPED_IN}
_ROLLED_BACK_STATE = {"fragility": 0.02, "noise": 0.03, "returned_name": "helpdesk-1"}

_KINDS = ["general.whitespace", "general.punctuation", "general.casing", "general.spelling"]
_TRIED = {
    "task": "case_summary",
    "sampling_rate": 1.0,
    "trials": {"perturbations": _KINDS, "plan": "uniform", "per_exchange": len(_KINDS)},
}
_SETTINGS: dict[str, Any] = {
    "routes": [
        {
            "name": _SWAPPED,
            **_TRIED,
            "contact": {"owner": "@support-ml", "rollback": "set the model back to helpdesk-1"},
        },
        {"name": _STEADY, "match": {"prefix": "/triage"}, **_TRIED},
    ],
    "budget": {"tokens_per_day": None, "usd_per_day": None},
    "replays": {"concurrency": 16},
}

_BATCH = 20
_LONGEST_BACKLOG = 60
_WAIT_S = 240.0
_LOOK_S = 0.2
# Attempts at a connection: half a minute in all.
_ATTEMPTS = 7
_TABLE_WIDTH = 118


# Requests to each route: enough for an interval that would show a wrong figure, and for an incident.
_QUIET, _FRAGILE = 130, 90
# Requests to the swapped route only, one part after the other until the incident is resolved.
_ROLLED_BACK = (45, 25, 25)


@dataclass(frozen=True, slots=True)
class DemoOutcome:
    """Outcome of the demo."""

    comparison: TruthComparison
    sent: int
    """Requests to the proxy; every one of them is sampled."""
    failed_requests: int
    scored: int
    """Exchanges with a verdict of their identical resend."""
    early_incidents: int
    """Incidents before the swap, and on the route that was not touched."""
    incidents: tuple[dict[str, Any], ...]
    """Incidents after the swap on the swapped route, as the API has them at the end."""
    messages: tuple[dict[str, Any], ...]
    """Messages posted about them."""
    swapped_at: float
    """Unix time in seconds."""

    @property
    def problems(self) -> list[str]:
        """Yield what went wrong; empty if all is as planted."""
        problems = []
        if self.failed_requests:
            problems.append(f"{self.failed_requests} forwarded requests failed")
        if self.scored != self.sent:
            problems.append(f"{self.sent} requests were sampled, but {self.scored} were scored")
        if not self.comparison.good:
            problems.append(
                f"the planted truth lies outside the interval in {self.comparison.missed} of "
                f"{self.comparison.cells} cells"
            )
        if self.early_incidents:
            problems.append(f"{self.early_incidents} incidents where nothing had changed")
        if not self.incidents:
            problems.append("no incident after the swap")
        if len(self.incidents) > 1:
            problems.append(f"{len(self.incidents)} incidents for one swap")
        for incident in self.incidents:
            if incident["ending"] != "reversed":
                state, ending = incident["state"], incident["ending"] or "not over"
                problems.append(f"the incident is {state} ({ending}) after the rollback")
        phases = [message["phase"] for message in self.messages]
        if self.incidents and (phases[:1], phases[-1:]) != (["opened"], ["resolved"]):
            problems.append(f"the messages were {', '.join(phases) or 'none'}")
        return problems


def run_demo(*, headless: bool, variables: Mapping[str, str] | None = None) -> int:
    """Run the demo and return the exit code: 0 if all is as planted.

    Args:
        headless: exit at the end.
        variables: for the environment of its processes.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: children first
    out = Console()
    out.width = max(out.width, _TABLE_WIDTH)
    simulation = Simulation([ModelState(name) for name in _MODELS])
    messages: list[dict[str, Any]] = []

    @post("/webhook", status_code=204)
    async def webhook(request: Request[Any, Any, Any]) -> None:
        messages.append(await request.json())

    simulation.handlers = (webhook,)
    with tempfile.TemporaryDirectory(prefix="evenkeel-demo-") as folder:
        try:
            with serving(simulation, port=free_port(8102)) as upstream:
                settings = {**_SETTINGS, "alerts": {"webhook": f"{upstream}/webhook"}}
                with running(Path(folder), settings, f"{upstream}/v1", variables) as addresses:
                    story = _Story(addresses, simulation, out, messages)
                    return asyncio.run(story.tell(headless=headless))
        except DemoError as error:
            out.print(f"demo: {error}", markup=False)
            return 1
        except KeyboardInterrupt:
            return 1 if headless else 0


class _Story:
    def __init__(
        self, addresses: Addresses, simulation: Simulation, out: Console, messages: list[dict[str, Any]]
    ) -> None:
        self._addresses = addresses
        self._messages = messages
        self._out = out
        # A process may be just being restarted.
        transport = httpx2.AsyncHTTPTransport(retries=_ATTEMPTS)
        self._admin = httpx2.AsyncClient(base_url=addresses.admin, timeout=_START_S, transport=transport)
        self._simulation = simulation
        self._applications = (
            Application(f"{addresses.proxy}/v1", "helpdesk-1", first_seed=0),
            Application(f"{addresses.proxy}/triage/v1", "triage-1", first_seed=1_000_000),
        )

    async def tell(self, *, headless: bool) -> int:
        out = self._out
        out.print("[bold]evenkeel demo[/]: a SIMULATED model of planted fragility, watched live")
        out.print(f"  console   {self._addresses.admin}/ (open it now; it updates by itself)", soft_wrap=True)
        out.print(f"  base URL  {self._addresses.proxy}/v1")
        log = self._addresses.data.parent / "evenkeel.log"
        out.print(f"  log       {log} (removed at the end)", soft_wrap=True, highlight=False)
        truths = {}
        for model in _MODELS:
            truths[model] = self._set(model, _STEADY_STATE)
        await self._phase("1. quiet traffic on two routes", _QUIET)
        # The swap comes after the last quiet trial is scored, or its first would be blamed on the new model.
        await self._settled()
        before = await self._incidents()

        swapped_at = time.time()
        truths[_SWAPPED_IN] = self._set("helpdesk-1", _FRAGILE_STATE)
        out.print(
            f"   SIMULATED swap on route [bold]{_SWAPPED}[/]: helpdesk-1 → helpdesk-2, which is fragile"
        )
        await self._phase("2. the same traffic, fragile model", _FRAGILE)
        await self._settled()
        await self._acknowledged()

        self._set("helpdesk-1", _ROLLED_BACK_STATE)
        out.print("   SIMULATED rollback: helpdesk-2 → helpdesk-1")
        await self._resolved()
        # The route that nobody touched shows whether the monitor blames the innocent.
        elsewhere: list[dict[str, Any]] = []
        swapped: list[dict[str, Any]] = []
        for incident in await self._incidents():
            (swapped if _SWAPPED in incident["routes"] else elsewhere).append(incident)
        cells = await self._cells()
        support, triage = self._applications
        outcome = DemoOutcome(
            compare(cells, truths),
            sent=support.sent + triage.sent,
            failed_requests=support.failed + triage.failed,
            scored=_scored(cells),
            early_incidents=len(before) + len(elsewhere),
            incidents=tuple(swapped[len(before) :]),
            messages=tuple(self._messages),
            swapped_at=swapped_at,
        )
        self._close(outcome)
        if not headless:
            await self._go_on()
        return 1 if outcome.problems else 0

    async def _acknowledged(self) -> None:
        """Show the incident with its message, and acknowledge it."""
        opened = await self._incidents()
        await self._posted(1 if opened else 0)
        self._print_messages(0)
        for incident in opened:
            answer = await self._admin.post(
                f"/api/incidents/{incident['id']}", json={"decided": "acknowledged", "by": "demo"}
            )
            answer.raise_for_status()
            self._out.print('   acknowledged by "demo"')

    async def _resolved(self) -> None:
        """Send traffic to the swapped route until its incident is over, and show what was posted since."""
        shown, swapped = len(self._messages), self._applications[:1]
        for count in _ROLLED_BACK:
            await self._phase("3. the same traffic, first model again", count, swapped)
            await self._settled()
            incidents = await self._incidents()
            if {incident["state"] for incident in incidents} <= {"resolved"}:
                await self._posted(shown + len(incidents))
                break
        self._print_messages(shown)

    async def _posted(self, count: int) -> None:
        """Wait until so many messages were posted."""

        async def there() -> bool:
            return len(self._messages) >= count

        await _until(there)

    def _print_messages(self, first: int) -> None:
        for message in self._messages[first:]:
            title = f"message {message['number']} ({message['phase']}), as it was posted to a webhook:"
            self._out.print(f"   SIMULATED incident; {title}")
            for line in message["text"].splitlines():
                self._out.print(f"   │ {line}", markup=False, highlight=False, soft_wrap=True)

    async def _phase(self, title: str, count: int, applications: Sequence[Application] = ()) -> None:
        senders = applications or self._applications
        with Progress(
            TextColumn("{task.description:<36}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("requests"),
            console=self._out,
            disable=not self._out.is_terminal,
        ) as progress:
            if not self._out.is_terminal:
                self._out.print(f"{title}: {count * len(senders)} requests …")
            bar = progress.add_task(title, total=count * len(senders))

            async def send(application: Application) -> None:
                for start in range(0, count, _BATCH):
                    # Both phases are to be scored soon after they happened.
                    await self._backlog_below(_LONGEST_BACKLOG)
                    await application.send(min(_BATCH, count - start), progress=lambda: progress.advance(bar))

            await asyncio.gather(*(send(application) for application in senders))

    async def _go_on(self) -> None:
        self._out.print("\nserving on, with a little traffic; stop with Ctrl-C")
        while True:
            for application in self._applications:
                await application.send(2)
            await asyncio.sleep(2)

    def _set(self, model: str, state: dict[str, Any]) -> dict[str, Any]:
        """Change a model while nothing is under way, and return its planted truth."""
        return asdict(self._simulation.change(model, state).truth)

    async def _incidents(self) -> list[dict[str, Any]]:
        """All incidents so far, oldest first."""
        incidents = (await self._get("/api/incidents"))["incidents"]
        return list(reversed(incidents))

    async def _backlog_below(self, limit: int) -> None:
        async def below() -> bool:
            pipeline = await self._get("/api/pipeline")
            return bool(pipeline["waiting"] + pipeline["leased"] < limit)

        if not await _until(below):
            raise DemoError(f"the queue did not empty in {_WAIT_S:.0f} s")

    async def _settled(self) -> None:
        """Wait until every request is scored and the monitor has seen it; the end says which are missing."""
        answered = sum(application.sent - application.failed for application in self._applications)

        async def scored() -> bool:
            return _scored(await self._cells()) >= answered

        await _until(scored)
        await self._backlog_below(1)
        await asyncio.sleep(1.5)  # the monitor reads the log twice a second: there are more trials

    async def _cells(self) -> list[dict[str, Any]]:
        """Return the cells of the demo's models: whoever tries the proxy meanwhile may name others."""
        cells = []
        for cell in (await self._get("/api/cells"))["cells"]:
            if cell["model"] in {*_MODELS, _SWAPPED_IN}:
                cells.append(cell)
        return cells

    async def _get(self, path: str) -> dict[str, Any]:
        response = await self._admin.get(path)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer

    def _close(self, outcome: DemoOutcome) -> None:
        out = self._out
        out.print()
        out.print(table(outcome.comparison))
        out.print(f"{WIDE}\n", soft_wrap=True)
        out.print(
            f"requests forwarded: {outcome.sent}, failed: {outcome.failed_requests}; "
            f"sampled and scored: {outcome.scored}"
        )
        out.print(f"incidents where nothing had changed: {outcome.early_incidents} (must be 0)")
        for incident in outcome.incidents:
            alerts = len(incident["alerts"])
            out.print(
                f"incidents after the swap: {len(outcome.incidents)}, opened "
                f"{incident['opened_at'] - outcome.swapped_at:.1f} s after it with {alerts} alerts, "
                f"{incident['state']} by itself ({incident['ending']}); messages: {len(outcome.messages)}"
            )
            out.print(
                f"  {self._addresses.admin}/incidents/{incident['id']}", soft_wrap=True, highlight=False
            )
        for problem in outcome.problems:
            out.print(f"[red]NOT AS PLANTED:[/] {problem}")
        if not outcome.problems:
            out.print(
                f"[green]as planted[/]: {outcome.comparison.cells - outcome.comparison.missed} of "
                f"{outcome.comparison.cells} cells hold the planted truth in every interval"
            )


async def _until(holds: Callable[[], Awaitable[bool]]) -> bool:
    """Wait until something holds, but not forever; returns whether it does."""
    deadline = time.monotonic() + _WAIT_S
    while not await holds():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_LOOK_S)
    return True


def _scored(cells: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of exchanges with a verdict of their identical resend."""
    scored = 0
    for cell in cells:
        if cell["perturbation"] == BASELINE:
            scored += cell["trials"]
            for reason, count in cell["failures"].items():
                # A trial that lacks only quality scores has a rating, and is counted already.
                if not reason.startswith("quality_"):
                    scored += count
    return scored
