"""The demo's phases: quiet traffic, a model swap, the alert; then planted against measured.

Its processes are started by the commands that a person would type, on free ports. The application
summarises support cases through the real openai SDK, half of them streamed.
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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import httpx2
import openai
import yaml
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from evenkeel.core.verdict import BASELINE
from evenkeel.simulate import make_case, summary_prompt
from evenkeel.simulate.judge import JUDGE_MODEL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping


_AT_ONCE = 6


class Application:
    """Sends one request after the other to one route, a few at a time."""

    def __init__(self, base_url: str, model: str, first_seed: int) -> None:
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key="demo", max_retries=0)
        self._model = model
        self._seed = first_seed
        self.sent = 0
        self.failed = 0

    async def send(self, count: int, *, progress: Callable[[], None] = lambda: None) -> None:
        """Send `count` requests and wait for all answers."""
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(seed: int) -> None:
            async with slots:
                try:
                    await self._ask(seed)
                except openai.OpenAIError:
                    self.failed += 1
                self.sent += 1
                progress()

        seeds = range(self._seed, self._seed + count)
        self._seed += count
        await asyncio.gather(*(one(seed) for seed in seeds))

    async def _ask(self, seed: int) -> None:
        prompt = summary_prompt(make_case(seed))
        if seed % 2:
            stream = await self._client.chat.completions.create(
                model=self._model, messages=[{"role": "user", "content": prompt}], stream=True
            )
            async for _ in stream:
                pass
        else:
            await self._client.chat.completions.create(
                model=self._model, messages=[{"role": "user", "content": prompt}]
            )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


_START_S = 30.0
_STOP_S = 30.0


class DemoError(Exception):
    """The demo cannot go on. The message says why."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where things are, as URLs without a slash at the end."""

    simulation: str
    proxy: str
    admin: str
    data: Path
    """The data folder, which holds the tokens."""


def free_port(preferred: int) -> int:
    """The preferred port if it is free, else any free one."""
    for port in (preferred, 0):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)) as sock:
            return int(sock.getsockname()[1])
    raise DemoError("no free port on 127.0.0.1")


@contextlib.contextmanager
def running(folder: Path, settings: dict[str, Any], simulated_models: tuple[str, ...]) -> Iterator[Addresses]:
    """Start the simulated model and evenkeel, wait until both answer, and stop them at the end.

    Args:
        folder: for the settings file, the data and the logs.
        settings: `evenkeel.yaml` without addresses, upstreams and judge; these are filled in. The judge is
            the simulation's own.
        simulated_models: names of the models to serve.
    """
    ports = {"simulation": free_port(8102), "proxy": free_port(8100), "admin": free_port(8101)}
    urls = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    addresses = Addresses(**urls, data=folder / "data")
    models = [part for name in simulated_models for part in ("--model", name)]
    complete = {
        **settings,
        "listen": {"port": ports["proxy"]},
        "admin": {"port": ports["admin"]},
        "data_dir": str(addresses.data),
        "simulated": True,
        "judge": {"base_url": f"{addresses.simulation}/v1", "model": JUDGE_MODEL, "concurrency": 16},
        "routes": [{**route, "upstream": f"{addresses.simulation}/v1"} for route in settings["routes"]],
    }
    config = folder / "evenkeel.yaml"
    config.write_text(yaml.safe_dump(complete, sort_keys=False), encoding="utf-8")
    logs = folder / "simulate.log", folder / "evenkeel.log"
    with (
        _process(logs[0], "simulate", "--port", str(ports["simulation"]), *models) as simulation,
        _process(logs[1], "up", "--config", str(config)) as product,
    ):
        wait_for(f"{addresses.simulation}/healthz", simulation, logs[0], f"{addresses.simulation}/v1")
        for url in (f"{addresses.admin}/healthz", f"{addresses.proxy}/v1/models"):
            wait_for(url, product, logs[1], f"{addresses.proxy}/v1")
        yield addresses


@contextlib.contextmanager
def _process(log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command line
            [sys.executable, "-m", "evenkeel", *arguments],
            stdout=output,
            stderr=output,
            env={**os.environ, "EVENKEEL_JUDGE_API_KEY": "simulated"},
        )
        try:
            yield process
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

    Args:
        url: what has to answer.
        process: what was started.
        log: what it prints.
        banner: what it prints once it listens.

    Raises: DemoError with what it printed, if it ends, or does not answer in half a minute.
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


_TOLERATED_MISSES = 0.1


@dataclass(frozen=True, slots=True)
class Row:
    """One estimate of one cell beside the truth."""

    route: str
    model: str
    perturbation: str
    quantity: str
    planted: float
    value: float
    lower: float
    upper: float
    n: int

    @property
    def covered(self) -> bool:
        """Whether the interval holds the planted value."""
        return self.lower <= self.planted <= self.upper


@dataclass(frozen=True, slots=True)
class Comparison:
    """All cells."""

    rows: tuple[Row, ...]

    @property
    def cells(self) -> int:
        """Cells with an estimate."""
        return len({(row.route, row.model, row.perturbation) for row in self.rows})

    @property
    def missed(self) -> int:
        """Cells with at least one interval that does not hold the planted value."""
        return len({(row.route, row.model, row.perturbation) for row in self.rows if not row.covered})

    @property
    def good(self) -> bool:
        """Whether at most one cell in ten was missed, and any was measured."""
        return self.cells > 0 and self.missed <= _TOLERATED_MISSES * self.cells


def compare(cells: Iterable[Mapping[str, Any]], truths: Mapping[str, Mapping[str, Any]]) -> Comparison:
    """Hold cells against the truth.

    Args:
        cells: as `/api/cells` gives them.
        truths: returned model name → as `/simulate/truth` gave it while that model answered.
    """
    rows = []
    for cell in cells:
        arm = "baseline" if cell["perturbation"] == BASELINE else "perturbed"
        truth = truths[cell["model"]]
        planted = {
            "content_delta": truth[f"{arm}_content_delta"],
            "quality_delta": truth[f"{arm}_quality_delta"],
            "robustness": truth[f"{arm}_robustness"],
            "excess": truth["excess"],
        }
        for quantity, value in planted.items():
            estimate = cell[quantity]
            if estimate is not None and value is not None:
                rows.append(
                    Row(
                        cell["route"],
                        cell["model"],
                        cell["perturbation"],
                        quantity,
                        value,
                        estimate["value"],
                        estimate["lower"],
                        estimate["upper"],
                        estimate["n"],
                    )
                )
    return Comparison(tuple(rows))


_SWAPPED, _STEADY = "support", "triage"
_MODELS = ("helpdesk-1", "triage-1")
_STEADY_STATE = {"fragility": 0.02, "noise": 0.03, "worse_share": 0.5, "latency_s": 0.01}
_FRAGILE_STATE = {"fragility": 0.3, "noise": 0.03, "returned_name": "helpdesk-2"}

_KINDS = ["general.whitespace", "general.punctuation", "general.casing", "general.spelling"]
_TRIED = {
    "task": "case_summary",
    "sampling_rate": 1.0,
    "perturbations": _KINDS,
    "trials_per_exchange": len(_KINDS),
}
_SETTINGS: dict[str, Any] = {
    "routes": [{"name": _SWAPPED, **_TRIED}, {"name": _STEADY, "prefix": "/triage", **_TRIED}],
    "budget": {"tokens_per_day": None, "usd_per_day": None},
    "shadow": {"concurrency": 16},
    "scoring": {"embeddings": False},
    "console": {"trend_interval_s": 1.0},
}

_BATCH = 20
_LONGEST_BACKLOG = 60
_WAIT_S = 60.0
_RESTART_S = 20.0
_TABLE_WIDTH = 118


@dataclass(frozen=True, slots=True)
class Plan:
    """How long the phases are, in requests to each route."""

    quiet: int = 180
    fragile: int = 120


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the demo ended."""

    comparison: Comparison
    sent: int
    """Requests to the proxy; every one of them is sampled."""
    failed_requests: int
    scored: int
    """Exchanges with a verdict of their identical resend."""
    early_alerts: int
    """Alerts before the swap, and on the route that was not touched."""
    alerts: tuple[dict[str, Any], ...]
    """Alerts on the swapped route."""
    swapped_at: float
    """Unix time in seconds."""

    @property
    def problems(self) -> list[str]:
        """What went wrong; empty if all is as planted."""
        found = []
        if self.failed_requests:
            found.append(f"{self.failed_requests} forwarded requests failed")
        if self.scored != self.sent:
            found.append(f"{self.sent} requests were sampled, but {self.scored} were scored")
        if not self.comparison.good:
            found.append(
                f"the planted truth lies outside the interval in {self.comparison.missed} of "
                f"{self.comparison.cells} cells"
            )
        if self.early_alerts:
            found.append(f"{self.early_alerts} alerts where nothing had changed")
        if not self.alerts:
            found.append("no alert after the swap")
        return found


def run_demo(*, headless: bool, plan: Plan | None = None) -> int:
    """Run the demo and return the exit code: 0 if all is as planted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: children first
    out = Console()
    out.width = max(out.width, _TABLE_WIDTH)
    with tempfile.TemporaryDirectory(prefix="evenkeel-demo-") as folder:
        try:
            with running(Path(folder), _SETTINGS, _MODELS) as addresses:
                return asyncio.run(_Story(addresses, plan or Plan(), out).tell(headless=headless))
        except DemoError as error:
            out.print(f"demo: {error}", markup=False)
            return 1
        except KeyboardInterrupt:
            return 0


def _secret(addresses: Addresses, name: str) -> str:
    """What is in a file of the data folder that evenkeel has made for itself."""
    return (addresses.data / name).read_text(encoding="ascii").strip()


class _Story:
    def __init__(self, addresses: Addresses, plan: Plan, out: Console) -> None:
        self._addresses = addresses
        self._plan = plan
        self._out = out
        token = {"authorization": f"Bearer {_secret(addresses, 'admin-token')}"}
        self._admin = httpx2.AsyncClient(base_url=addresses.admin, timeout=10.0, headers=token)
        self._simulation = httpx2.AsyncClient(base_url=addresses.simulation, timeout=10.0)
        self._applications = (
            Application(f"{addresses.proxy}/v1", "helpdesk-1", first_seed=0),
            Application(f"{addresses.proxy}/triage/v1", "triage-1", first_seed=1_000_000),
        )

    async def tell(self, *, headless: bool) -> int:
        out = self._out
        out.print("[bold]evenkeel demo[/]: a SIMULATED model of planted fragility, watched live")
        link = f"login?code={_secret(self._addresses, 'login-code')}" if out.is_terminal else ""
        out.print("  console, to be opened now (the link signs you in, once; the page updates by itself):")
        out.print(f"    {self._addresses.admin}/{link}", soft_wrap=True, highlight=False)
        out.print(f"  base URL  {self._addresses.proxy}/v1")
        for model in _MODELS:
            await self._set(model, _STEADY_STATE)
        truths = {model: await self._truth(model) for model in _MODELS}
        await self._phase("1. quiet traffic on two routes", self._plan.quiet)
        await self._settled()
        before = await self._raised()

        swapped_at = time.time()
        await self._set("helpdesk-1", _FRAGILE_STATE)
        truths["helpdesk-2"] = await self._truth("helpdesk-1")
        out.print(f"   model swap on route [bold]{_SWAPPED}[/]: helpdesk-1 → helpdesk-2, which is fragile")
        await self._phase("2. the same traffic, fragile model", self._plan.fragile)
        await self._settled()
        after = await self._raised()

        cells = (await self._get(self._admin, "/api/cells"))["cells"]
        outcome = Outcome(
            compare(cells, truths),
            sent=sum(application.sent for application in self._applications),
            failed_requests=sum(application.failed for application in self._applications),
            scored=sum(cell["trials"] + _unrated(cell) for cell in cells if cell["perturbation"] == BASELINE),
            early_alerts=len(before) + sum(event["route"] != _SWAPPED for event in after[len(before) :]),
            alerts=tuple(event for event in after[len(before) :] if event["route"] == _SWAPPED),
            swapped_at=swapped_at,
        )
        self._close(outcome)
        if not headless:
            await self._go_on()
        return 1 if outcome.problems else 0

    async def _phase(self, title: str, count: int) -> None:
        with Progress(
            TextColumn("{task.description:<36}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("requests"),
            TimeElapsedColumn(),
            console=self._out,
            disable=not self._out.is_terminal,
        ) as progress:
            if not self._out.is_terminal:
                self._out.print(f"{title}: {count * len(self._applications)} requests …")
            bar = progress.add_task(title, total=count * len(self._applications))

            async def send(application: Application) -> None:
                for start in range(0, count, _BATCH):
                    await self._backlog_below(_LONGEST_BACKLOG)
                    await application.send(min(_BATCH, count - start), progress=lambda: progress.advance(bar))

            await asyncio.gather(*(send(application) for application in self._applications))

    async def _go_on(self) -> None:
        self._out.print("\nserving on, with a little traffic; stop with Ctrl-C")
        while True:
            for application in self._applications:
                await application.send(2)
            await asyncio.sleep(2)

    async def _set(self, model: str, state: dict[str, Any]) -> None:
        response = await self._simulation.put(f"/simulate/models/{model}", json=state)
        response.raise_for_status()

    async def _truth(self, model: str) -> dict[str, Any]:
        return await self._get(self._simulation, f"/simulate/truth?model={model}")

    async def _raised(self) -> list[dict[str, Any]]:
        """All alerts raised so far, oldest first."""
        events = (await self._get(self._admin, "/api/alerts"))["events"]
        return [event for event in reversed(events) if event["kind"] == "raised"]

    async def _backlog_below(self, limit: int) -> None:
        """Wait for the worker, so that both phases are scored soon after they happened."""
        async for waiting in self._poll():
            if waiting < limit:
                return

    async def _settled(self) -> None:
        """Wait until every queued exchange is scored and the monitor has seen it."""
        await asyncio.sleep(1.5)  # captures are handed over in batches
        async for waiting in self._poll():
            if waiting == 0:
                break
        await asyncio.sleep(1.5)  # the monitor reads the log twice a second

    async def _poll(self) -> AsyncIterator[int]:
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            pipeline = await self._get(self._admin, "/api/pipeline")
            yield pipeline["waiting"] + pipeline["leased"]
            await asyncio.sleep(0.2)
        raise DemoError(f"the queue did not empty in {_WAIT_S:.0f} s")

    @staticmethod
    async def _get(client: httpx2.AsyncClient, path: str) -> dict[str, Any]:
        """Ask for JSON; a process that is just being restarted is asked again."""
        deadline = time.monotonic() + _RESTART_S
        while True:
            try:
                response = await client.get(path)
            except httpx2.TransportError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.2)
            else:
                response.raise_for_status()
                return cast("dict[str, Any]", response.json())

    def _close(self, outcome: Outcome) -> None:
        out = self._out
        out.print()
        out.print(_table(outcome.comparison))
        first = min(outcome.alerts, key=lambda event: event["at"], default=None)
        out.print(
            f"requests forwarded: {outcome.sent}, failed: {outcome.failed_requests}; "
            f"sampled and scored: {outcome.scored}"
        )
        out.print(f"alerts where nothing had changed: {outcome.early_alerts} (must be 0)")
        if first:
            out.print(
                f"alerts after the swap: {len(outcome.alerts)} of 4 cells; the first on "
                f"{first['perturbation']} after {first['trials']} trials, "
                f"{first['at'] - outcome.swapped_at:.1f} s after the swap"
            )
        for problem in outcome.problems:
            out.print(f"[red]NOT AS PLANTED:[/] {problem}")
        if not outcome.problems:
            out.print(
                f"[green]as planted[/]: {outcome.comparison.cells - outcome.comparison.missed} of "
                f"{outcome.comparison.cells} cells hold the planted truth in every interval"
            )


def _unrated(cell: dict[str, Any]) -> int:
    """Trials of a cell without a rating; those that lack only quality scores have one."""
    reasons: dict[str, int] = cell["failures"]
    return sum(count for reason, count in reasons.items() if not reason.startswith("quality_"))


def _table(comparison: Comparison) -> Table:
    """Planted and measured values in per cent, one row a cell."""
    title = "planted | measured \\[95 % interval], in %"
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    quantities = ("content_delta", "quality_delta", "robustness", "excess")
    for heading in ("route", "model", "perturbation"):
        table.add_column(heading)
    table.add_column("n", justify="right")
    for quantity in quantities:
        table.add_column(quantity.replace("_", " "), no_wrap=True)
    cells: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in comparison.rows:
        cells.setdefault((row.route, row.model, row.perturbation), {})[row.quantity] = row
    previous: tuple[str, str] | None = None
    for (route, model, perturbation), found in sorted(cells.items()):
        place = (route, model) if (route, model) != previous else ("", "")
        previous = (route, model)
        trials = str(found["content_delta"].n) if "content_delta" in found else ""
        entries = [_entry(found.get(quantity)) for quantity in quantities]
        table.add_row(*place, perturbation.partition(".")[2], trials, *entries)
    return table


def _entry(row: Row | None) -> str:
    if row is None:
        return "-"
    mark = "" if row.covered else " [red]✗[/]"
    interval = f"\\[{row.lower * 100:.0f}, {row.upper * 100:.0f}]"
    return f"{row.planted * 100:.0f} | {row.value * 100:.0f} {interval}{mark}"
