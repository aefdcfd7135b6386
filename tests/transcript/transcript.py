"""Golden transcript: what the installed program says and does on fixed input, to compare two versions of it.

    python transcript.py record --program OLD/bin/evenkeel before
    python transcript.py record --program NEW/bin/evenkeel --read-store before after
    python transcript.py compare before after --expected meant.txt

It drives the program through its command line, HTTP and files alone, so one script fits versions whose
modules differ. A record holds

- `commands/`: exit code, output and written files of every call in `transcript.toml`, and all option names;
- `live-sqlite/`, `live-redis/`: `/metrics`, the admin API, downloads and page states of `evenkeel up` after a
  fixed load, what differs from run to run replaced by placeholders;
- `read-sqlite/`, `read-redis/`: the same and the commands that read stores, over copies of the stores in
  `--read-store` (else of this record's own). Stored values are kept exactly;
- `words/`: help, pages and reports in HTML. Their differences are counted and fail nothing, see `--words`;
- `stores/`: the data folder and the Redis dump that the load left.

The model, the judge and the rewriter are those of `evenkeel simulate`. A relay in front of them decides by
the number in a prompt and by how the prompt was changed which simulated model answers, so that ratings are
the same in each run although the proxy draws the ids, and with them the variants, at random.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import http.client
import json
import os
import random
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html import unescape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PARTS: Final = ("commands", "live-sqlite", "live-redis", "read-sqlite", "read-redis")
TOPICS: Final = ("remote access", "office printing", "certificate trust", "database storage", "door access")
FIRST: Final = 700_000
"""Number of the first case; each request has one of its own, by which the relay knows it again."""
SUPPORT, CHANGED, FORMS = 44, 26, 6
"""Requests of the first route, those of them under the first prompt version, requests of the second route."""
POINTS: Final = ("/downloads/trends", "/downloads/judge-plots")
"""Points in time: which there are depends on the moment."""
CLOSED: Final = "http://127.0.0.1:9/v1"
PATIENCE_S: Final = 120.0
MOST_PAGES: Final = 150
WRITTEN: Final = frozenset({".json", ".jsonl", ".yaml", ".md", ".csv", ".xml", ".html"})
QUIET_S: Final = 2.0
"""What the monitor has not moved for so long was folded."""

# What differs from run to run by the key, or the name of a series: of calls on fixed input, of live traffic
# as well, and of a store that is read again.
READ: Final = (
    r"^(stale_s|oldest_s|uptime_s|evenkeel_(queue_oldest|monitor_last_step|settings_last_reload)\w*|made_at"
    r"|\w*first_byte\w*|\w*overhead\w*|time_ms|process_\w+|python_\w+)$"
)
CALLED: Final = rf"{READ}|(^|_)(at|s|seconds|took|ratio|wall)$|tokens|usd|timestamp"
LIVE: Final = (
    rf"{CALLED}|(^|_)(id|seed|since|revision|bytes|size|position|offset|before|pid|etag)$|_since_"
    r"|^(started|created|first|last|when|trace|span|fingerprint)\w*$"
)
EVERYWHERE: Final = (
    (r"^[1-6]\d{4}$", "<port>"),
    (r"(\bport[, ]+)\d+", r"\1<port>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
    (r"\(pid \d+\)|pid=\d+", "<pid>"),
    (r"(?m)^\d\d:\d\d:\d\d ", "<time> "),
    (r"\b\d+(\.\d+)? (m?s|seconds?|minutes?|min|h|hours?|d|days?)( ago)?\b", "<duration>"),
    (r"(?m)^.*\d+ of \d+ .* left( at most)?\n", ""),
    (r"(time_ms: |time=|<td class=\"n\">0\.00</td><td class=\"n\">)[^\s<]+", r"\1<duration>"),
    (r"(calibrated_on: |Calibrated on )\S+", r"\1<time>"),
)
TIMES: Final = (
    (r"\b20\d\d-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?( ?UTC|Z|\+00:00)?)?", "<time>"),
    (r"\b1[789]\d{8}(\.\d+)?\b", "<time>"),
    (r"[\d,]+ tokens|\$[\d.]+|spent [\d.]+", "<spend>"),
)
IDS: Final = ((r"(?<![0-9a-zA-Z.])[0-9a-f]{8,64}(?![0-9a-zA-Z])", "<id>"), (r"\d+-0\b", "<place>"))
MODES: Final = {
    "read": (READ, EVERYWHERE),
    "called": (CALLED, (*EVERYWHERE, *TIMES)),
    "live": (LIVE, (*EVERYWHERE, *TIMES, *IDS)),
}
PLAN: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


class Answer(NamedTuple):
    """What was answered to a request."""

    status: int
    kind: str
    text: str


def ask(url: str, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None) -> Answer:
    """One request on the loopback, without following redirects; status 0 if there was no answer."""
    host, _, path = url.removeprefix("http://").partition("/")
    content = None if body is None else json.dumps(body)
    sent = {**({} if body is None else {"content-type": "application/json"}), **(headers or {})}
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        connection.request(method, f"/{path}", content, sent)
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheader("content-type") or "", answer.read().decode())
    except OSError as error:
        return Answer(0, "", str(error))
    finally:
        connection.close()


def until(true: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> Any:
    """Ask until the answer is true. What never becomes true is said, and recorded as it is."""
    deadline = time.monotonic() + patience_s
    while not (found := true()):
        if time.monotonic() > deadline:
            print(f"waited {patience_s:.0f} s in vain for {what}", file=sys.stderr)
            break
        time.sleep(0.1)
    return found


class Plain:
    """Replaces what differs from run to run."""

    def __init__(self, mode: str, *folders: Path | str) -> None:
        """Make it for a kind of record, which is made in these folders."""
        self._folders = sorted(map(str, folders), key=len, reverse=True)
        self._live = mode == "live"
        keys, patterns = MODES[mode]
        self._keys = re.compile(keys)
        self._patterns = [(re.compile(pattern), name) for pattern, name in patterns]

    def text(self, text: str) -> str:
        """A text with placeholders."""
        for folder in self._folders:
            text = text.replace(folder, "<dir>")
        for pattern, name in self._patterns:
            text = pattern.sub(name, text)
        return text

    def value(self, value: Any, key: str = "") -> Any:
        """A JSON value with placeholders; where order is by chance, sorted."""
        if isinstance(value, dict):
            return {self.text(name): self.value(item, name) for name, item in value.items()}
        if isinstance(value, list):
            items = [self.value(item, key) for item in value]
            chance = self._live and any(isinstance(item, dict) for item in items)
            return sorted(items, key=lambda item: json.dumps(item, sort_keys=True)) if chance else items
        if self._keys.search(key) and isinstance(value, str | float | int) and not isinstance(value, bool):
            return f"<{key}>"
        return self.text(value) if isinstance(value, str) else value

    def content(self, text: str) -> str:
        """A text, JSON or JSON lines, written out so that differences can be read."""
        if not text.strip():
            return text
        for parse in (lambda: json.loads(text), lambda: [json.loads(line) for line in text.splitlines()]):
            with contextlib.suppress(ValueError):
                return f"{json.dumps(self.value(parse()), indent=1, ensure_ascii=False)}\n"
        return self.text(text)

    def metrics(self, text: str) -> str:
        """A page of metrics: types, names, labels and the values that do not differ from run to run."""
        lines = []
        for line in text.splitlines():
            name = re.split(r"[{ ]", line)[0]
            place, _, _ = line.rpartition(" ")
            if line.startswith("# TYPE"):
                lines.append(line)
            elif line and not line.startswith("#"):
                lines.append(self.text(f"{place} <{name}>" if self._keys.search(name) else line))
        return "".join(f"{line}\n" for line in sorted(lines))


class Record:
    """The folder that a record is written to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> None:
        """Write one file of it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")


class Program:
    """The installed program under test."""

    def __init__(self, program: Path, home: Path) -> None:
        self.path = program
        self.home = home
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        self.environment = {
            **kept, "HOME": str(home), "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "110", "NO_COLOR": "1",
            "PYTHONUNBUFFERED": "1", "EVENKEEL_USER": "tester", "EVENKEEL_SCORING__EMBEDDINGS": "false",
            **{f"EVENKEEL_{name}_API_KEY": "simulated" for name in ("JUDGE", "REWRITER", "SHADOW")},
            "KEY_OF_AN_APPLICATION": "simulated", "EVENKEEL_ADMIN__OPEN_ON_LOOPBACK": "true",
        }  # fmt: skip

    def run(self, arguments: Sequence[str], folder: Path, given: str = "") -> tuple[int, str, str]:
        """Run it to its end: exit code, output and errors."""
        command = [str(self.path), *arguments]
        try:
            done = subprocess.run(
                command, cwd=folder, env=self.environment, input=given, text=True, capture_output=True,
                timeout=PATIENCE_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return -1, "", f"still running after {PATIENCE_S:.0f} s"
        return done.returncode, done.stdout, done.stderr

    @contextlib.contextmanager
    def serving(self, pattern: str, *arguments: str, folder: Path) -> Iterator[Callable[[str], str]]:
        """Run it as a server once it has said `pattern`; gives what finds a pattern's group in its log."""
        log = folder / f"{arguments[0]}.log"
        with process([str(self.path), *arguments], log, folder, self.environment) as running:

            def found(wanted: str) -> str:
                match = re.search(wanted, log.read_text(encoding="utf-8"))
                return match[1] if match else ""

            until(lambda: found(pattern) or running.poll() is not None, f"{arguments[0]} to listen")
            if not found(pattern):
                raise SystemExit(f"{arguments[0]} does not listen: {log.read_text(encoding='utf-8')[-2000:]}")
            yield found


@contextlib.contextmanager
def process(command: list[str], log: Path, folder: Path, environment: Any = None) -> Iterator[Any]:
    """A process of our own, ended by its id."""
    with log.open("wb") as output:
        running = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder, env=environment)
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(60)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


@contextlib.contextmanager
def simulated(program: Program, folder: Path) -> Iterator[str]:
    """The simulated models, each of a planted behaviour; gives their address without /v1."""
    names = {
        "simulated-1": {},
        "steady": {},
        "fragile": {"fragility": 0.5},
        "worse": {"fragility": 1, "worse_share": 1, "returned_name": "simulated-1"},
        "other": {"fragility": 1, "worse_share": 0, "returned_name": "simulated-1"},
    }
    models = [part for name in names for part in ("--model", name)]
    quiet = ("--fragility", "0", "--noise", "0", "--deterministic", "--port", "0")
    with program.serving(r"(http://\S+)/v1", "simulate", *quiet, *models, folder=folder) as found:
        url = found(r"(http://\S+)/v1")
        for name, state in names.items():
            ask(f"{url}/simulate/models/{name}", "PUT", state)
        yield url


@contextlib.contextmanager
def relay(simulation: str) -> Iterator[str]:
    """The endpoint behind the proxy: chooses who answers a prompt; gives its address without /v1."""
    originals: dict[str, dict[str, Any]] = {}

    def said(body: dict[str, Any]) -> str:
        return json.dumps(body.get("messages") or body.get("input") or body.get("prompt"), ensure_ascii=False)

    def chosen(body: dict[str, Any]) -> dict[str, Any]:
        """What is asked instead: `simulated-1` is right, the two others are not.

        What was only misspelt is asked as it was: no answer depends on which places were drawn.
        """
        text = said(body)
        number = re.search(r"INC-(7\d{5})", text)
        if number is None:
            return body
        original, place = originals.setdefault(number[1], body), int(number[1])
        before = said(original)
        if body is original:
            return {**body, "model": "simulated-1"}
        if text == before:
            return {**body, "model": "simulated-1" if place % 12 else "other"}
        if text.lower() == before.lower():
            return {**original, "model": "other"}
        if re.sub(r"\s|\\[nt]", "", text) == re.sub(r"\s|\\[nt]", "", before):
            return {**original, "model": "simulated-1"}
        alike = abs(len(text) - len(before)) < len(before) / 10
        return {**(original if alike else body), "model": "simulated-1" if place % 4 else "worse"}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = ask(f"{simulation}{self.path}", "POST", chosen(body))
            content = answer.text.encode()
            self.send_response(answer.status)
            self.send_header("content-type", answer.kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def redis(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """A Redis over the dump in a folder, if there is one; gives its address and what saves it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def say(command: str) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 60) as connection:
            connection.sendall(f"{command}\r\n".encode())
            return connection.recv(100).startswith(b"+")
        return False

    options = {"port": port, "bind": "127.0.0.1", "dir": folder, "save": "", "appendonly": "no"}
    command = [
        "redis-server",
        *(str(part) for name, value in options.items() for part in (f"--{name}", value)),
    ]
    with process(command, folder / "redis.log", folder):
        until(lambda: say("PING"), "redis-server")
        yield f"redis://127.0.0.1:{port}/0", lambda: until(lambda: say("SAVE"), "the dump")


def prompt(number: int) -> str:
    """A support case that the simulated models know, by its topic, and the relay, by its number."""
    rng = random.Random(number)
    host, code, minute = rng.randrange(10, 99), rng.randrange(16**7, 16**8), rng.randrange(10, 59)
    return (
        f'Summarise the support case for the next shift.\n\nHere is case INC-{number} about "'
        f'{TOPICS[number % len(TOPICS)]}". Host LEJ-EDGE-{host} running version 4.{number % 7}.1 '
        f"logged error 0x{code:08X} at 10:{minute}; {rng.randrange(3, 200)} people were affected. "
        "Please tell us what "
        "happened, and what the engineers should look at first.\n\nKeep to what the case says."
    )


def send(proxy: str, admin: str) -> str:
    """The load; gives what clients of each API were answered.

    Each exchange is scored before the next one is sent: what is concluded depends on their order.
    """
    answers: list[tuple[str, Answer]] = []

    def scored() -> int:
        return sum(route["scored"] for route in json.loads(ask(f"{admin}/api/pipeline").text)["routes"])

    def post(path: str, body: dict[str, Any], **headers: str) -> None:
        answers.append((path, ask(f"{proxy}{path}", "POST", {"model": "simulated-1", **body}, headers)))
        if len(answers) <= SUPPORT + FORMS:
            until(lambda: scored() >= len(answers), "an exchange to be scored", 30)

    for place in range(SUPPORT):
        version = {"x-evenkeel-prompt-version": "p1" if place < CHANGED else "p2"}
        post("/support/v1/chat/completions", chat(FIRST + place), **version)
    for place in range(FORMS):
        text = prompt(FIRST + 100 + place)
        bodies: tuple[tuple[str, dict[str, Any]], ...] = (
            ("chat/completions", {**chat(FIRST + 100 + place), "stream": True}),
            ("completions", {"prompt": text}),
            ("responses", {"input": text}),
            ("messages", {"max_tokens": 200, "messages": [{"role": "user", "content": text}]}),
        )
        path, body = bodies[place % len(bodies)]
        post(f"/forms/v1/{path}", body)
    post("/nowhere/v1/chat/completions", chat(FIRST + 200))
    post("/forms/v1/unknown", {"input": "nothing"})
    chosen = [answers[0], *answers[SUPPORT:]]
    return "".join(f"{path} {one.status} {one.kind}\n{one.text}\n\n" for path, one in chosen)


def chat(number: int) -> dict[str, Any]:
    """The members of a chat request about a case."""
    return {"messages": [{"role": "user", "content": prompt(number)}]}


def settings(upstream: str, models: str, store: dict[str, Any]) -> str:
    """Settings of `evenkeel up`: everything is sampled and tried, judged twice."""
    text = json.dumps({**PLAN["settings"], **store})
    return text.replace("{upstream}", upstream).replace("{models}", models)


@contextlib.contextmanager
def up(program: Program, folder: Path, config: Path) -> Iterator[tuple[str, str]]:
    """A running `evenkeel up`; gives the addresses of its proxy and its admin port."""
    with program.serving(r"console +(http\S+)/", "up", "--config", str(config), folder=folder) as found:
        admin = found(r"console +(http\S+)/")
        until(lambda: ask(f"{admin}/readyz").status == HTTPStatus.OK, "readiness")
        yield found(r"base URL +(http://[^/\s]+)/"), admin


def steady(admin: str) -> None:
    """Wait until every process has told its figures: the series are the same for a while."""
    seen: list[Any] = [None, 0.0]

    def settled() -> bool:
        names = set(re.findall(r"(?m)^\w+", ask(f"{admin}/metrics").text))
        if names != seen[0]:
            seen[:] = names, time.monotonic()
        return "evenkeel_judge_up" in names and time.monotonic() - seen[1] > QUIET_S

    until(settled, "the same series", 30)


def settle(admin: str, scored: int) -> None:
    """Wait until so many exchanges are scored, all of that is folded, and the change is responded to."""
    seen: list[Any] = [None, 0.0]

    def total(name: str) -> float:
        found = re.findall(rf"(?m)^{name}(?:{{.*}})? (\S+)$", ask(f"{admin}/metrics").text)
        return sum(map(float, found))

    def settled() -> bool:
        changes = json.loads(ask(f"{admin}/api/changes").text)["changes"]
        now = (
            total("evenkeel_monitor_verdicts_total"),
            total("evenkeel_exchanges_scored_total"),
            len(changes),
        )
        if now != seen[0]:
            seen[:] = now, time.monotonic()
        asked = changes and all(change["goldens"] for change in changes)
        return bool(asked and now[1] >= scored and time.monotonic() - seen[1] > QUIET_S)

    until(settled, "all verdicts and the goldens")


def live(program: Program, record: Record, kind: str, folder: Path) -> None:
    """Run the load through `evenkeel up` over a new store, record what it shows, and keep the store."""
    config, data = folder / "evenkeel.yaml", folder / "data"
    with contextlib.ExitStack() as stack:
        models = stack.enter_context(simulated(program, folder))
        upstream = stack.enter_context(relay(models))
        store: dict[str, Any] = {"data_dir": str(data)}
        if kind == "redis":
            address, save = stack.enter_context(redis(folder))
            store = {"redis": {"url": address, "prefix": "transcript"}}
        config.write_text(settings(upstream, models, store), encoding="utf-8")
        began = time.time()
        goldens = folder / "goldens.jsonl"
        write_goldens(goldens, models)
        with up(program, folder, config) as (proxy, admin):
            program.run(["goldens", "import", str(goldens), "--config", str(config)], folder)
            plain = Plain("live", folder)
            record.write(f"live-{kind}/client.txt", plain.text(send(proxy, admin)))
            settle(admin, SUPPORT + FORMS)
            said = approve(program, folder, config, admin)
            record.write(f"live-{kind}/said.txt", plain.text(said))
            capture(record, f"live-{kind}", admin, plain)
        if kind == "redis":
            save()
    kept = record.folder / "stores" / kind
    shutil.rmtree(kept, ignore_errors=True)
    if kind == "redis":
        kept.mkdir(parents=True)
        shutil.copy(folder / "dump.rdb", kept)
    else:
        shutil.copytree(data, kept, ignore=shutil.ignore_patterns("lock"))
    span = [time.strftime("%Y-%m-%dT%H:%M", time.gmtime(at)) for at in (began - 60, time.time() + 60)]
    record.write(f"stores/{kind}.json", json.dumps(span))


def approve(program: Program, folder: Path, config: Path, admin: str) -> str:
    """What people do: approve a baseline and a golden, retire one, label verdicts. Gives the answers."""
    done = program.run(
        ["baseline", "approve", "--route", "support", "--by", "ann", "--yes", "--config", str(config)], folder
    )
    shifted = json.loads(
        ask(f"{admin}/api/verdicts?route=support&perturbation=general.casing&limit=500").text
    )
    first, second = (one["id"] for one in shifted["verdicts"][-2:])
    exchange = shifted["verdicts"][-1]["exchange_id"]
    known = {"{first}": first, "{second}": second, "{exchange}": exchange}

    def shown(series: str) -> bool:
        return series in ask(f"{admin}/metrics").text

    lines = [f"{done}\n"]
    for path, body in PLAN["posts"]:
        named = {name: known.get(str(value), value) for name, value in body.items()}
        answer = ask(f"{admin}{path}", "POST", named)
        lines.append(f"{answer.status} {answer.text}\n")
    form = ask(f"{admin}/feedback", "POST", {}, {"content-type": "application/x-www-form-urlencoded"})
    lines.append(f"/feedback without a token: {form.status}\n")
    for series in (
        'approved="yes"',
        "evenkeel_judge_human_agreement_ratio{",
        "evenkeel_goldens_score_ratio{",
    ):
        until(partial(shown, series), series, 30)
    return "".join(lines)


def write_goldens(path: Path, models: str, count: int = 24, first: int = FIRST + 500) -> None:
    """Goldens on cases, with the right answers of the simulated model."""
    lines = []
    for place in range(count):
        asked = {"model": "simulated-1", **chat(first + place)}
        answer = json.loads(ask(f"{models}/v1/chat/completions", "POST", asked).text)
        golden = {
            "id": f"printing-{place}",
            "request": asked,
            "answer": answer["choices"][0]["message"]["content"],
            "route": "support",
            "model": "simulated-1",
            "approved_by": "eva",
            "approved_at": 1767225600 + place,
        }
        lines.append(f"{json.dumps(golden)}\n")
    path.write_text("".join(lines), encoding="utf-8")


def capture(record: Record, part: str, admin: str, plain: Plain) -> None:
    """Everything that the admin port shows: metrics, API, downloads, and each kind of page once."""
    steady(admin)
    record.write(f"{part}/metrics.txt", plain.metrics(ask(f"{admin}/metrics").text))
    changes = json.loads(ask(f"{admin}/api/changes").text)["changes"]
    events = json.loads(ask(f"{admin}/api/alerts").text)["events"]
    verdicts = json.loads(ask(f"{admin}/api/verdicts?limit=500").text)["verdicts"]
    stored = part.startswith("read")
    more = PLAN["api_of_stores"] if stored else ()
    paths = [
        *PLAN["api"],
        *more,
        *(f"/downloads/{table}.{kind}" for table in PLAN["tables"] for kind in ("json", "csv")),
    ]
    for change in changes[-1:]:
        paths += [f"/api/changes/{change['id']}", f"/api/changes/{change['id']}/markdown"]
    paths += [f"/api/alerts/{event['id']}" for event in events[-1:]]
    for path in paths:
        answer = ask(f"{admin}{path}")
        name = re.sub(r"[^\w.]+", "-", plain.text(path)).strip("-")
        if not stored and (path.endswith(".csv") or path.startswith(POINTS)):
            text = answer.text.splitlines()[0] if path.endswith(".csv") else ""
        else:
            text = plain.content(answer.text)
        record.write(f"{part}/{name}.txt", f"{path_of(path, plain)} {answer.status} {answer.kind}\n{text}")
    crawl(record, part, admin, plain, [f"/verdicts/{one['id']}" for one in verdicts[-1:]])


def path_of(path: str, plain: Plain) -> str:
    """A path by its kind: with placeholders in place of ids, and without the values of its query."""
    known = re.sub(r"=[^&]*", "=", unescape(path))
    known = re.sub(r"(?<=^/verdicts/)[0-9a-f]{8}.*|(?<=/)[0-9a-f]{8,64}(?=/|$)", "<id>", known)
    return re.sub(r"(?<=/printing-)\d+", "<n>", plain.text(known))


def crawl(record: Record, part: str, admin: str, plain: Plain, more: list[str]) -> None:
    """The status of every page and of each kind of link on them; the texts of pages go to the words."""
    waiting, seen = [*PLAN["pages"], *more], dict[str, str]()
    while waiting and len(seen) < MOST_PAGES:
        path = waiting.pop(0)
        kind = path_of(path, plain)
        if kind in seen:
            continue
        answer = ask(f"{admin}{unescape(path)}")
        seen[kind] = f"{answer.status} {answer.kind}"
        if "html" in answer.kind:
            waiting += [
                link
                for link in re.findall(r'(?:href|src)="(/[^"#]*)', answer.text)
                if not link.startswith("/docs/")
            ]
        if "html" in answer.kind and part.startswith("read"):
            shown = re.sub(r"(?s)<(script|style|svg).*?</\1>|<[^>]*>", " ", answer.text)
            text = "\n".join(line.strip() for line in unescape(shown).splitlines() if line.strip())
            record.write(
                f"words/{part}/{re.sub(r'[^A-Za-z0-9]+', '-', kind).strip('-') or 'overview'}.txt",
                plain.text(text),
            )
    record.write(f"{part}/pages.txt", "\n".join(f"{path} {state}" for path, state in sorted(seen.items())))


def calls(
    program: Program, record: Record, group: dict[str, Any], folder: Path, known: dict[str, str], part: str
) -> None:
    """Make the calls of a group in turn; record each with the files that it has written."""
    plain = Plain("called" if part == "commands" else "read", folder, program.path, program.home)

    def filled(text: str) -> str:
        for name, value in known.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    for name, text in group.get("files", {}).items():
        (folder / name).write_text(filled(text).lstrip("\n"), encoding="utf-8")
    before: dict[Path, bytes] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            before[path] = path.read_bytes()
    for place, call in enumerate(group["calls"]):
        given, bar, command = call.rpartition(" | ")
        text = (folder / given).read_text(encoding="utf-8") if bar else ""
        code, output, errors = program.run(shlex.split(filled(command))[bool(bar) :], folder, text)
        name = f"{part}/{group['name']}/{place:02}-{re.sub(r'[^a-z0-9]+', '-', call.split(' --')[0])[:40]}"
        said = (
            f"$ {call}\nexit code {code}\n--- output\n{plain.content(output)}--- errors\n{plain.text(errors)}"
        )
        record.write(f"{name}.txt", said)
        for path in sorted(folder.rglob("*")):
            if (
                path.suffix in WRITTEN
                and "journal" not in path.name
                and path.is_file()
                and before.get(path) != path.read_bytes()
            ):
                before[path] = path.read_bytes()
                place_of = "words/" if path.suffix == ".html" else ""
                content = plain.content(path.read_text(encoding="utf-8"))
                record.write(
                    f"{place_of}{name}.{path.relative_to(folder).as_posix().replace('/', '-')}", content
                )


def commands(program: Program, record: Record, folder: Path) -> None:
    """Help and options of every command, and the calls on fixed input."""
    options: dict[str, list[str]] = {}

    def describe(*command: str) -> None:
        code, text, _ = program.run([*command, "--help"], folder)
        name = "-".join(("evenkeel", *command))
        record.write(f"words/help/{name}.txt", f"exit code {code}\n{text}")
        head, _, below = text.partition("Commands:")
        options[name] = sorted(set(re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+(?: / --[\w-]+)?)", head)))
        for inner in re.findall(r"(?m)^  (\w[\w-]*)", below):
            describe(*command, inner)

    describe()
    record.write("commands/options.txt", json.dumps(options, indent=1))
    with simulated(program, folder) as models:

        def one(group: dict[str, Any]) -> None:
            place = folder / group["name"]
            place.mkdir()
            for name, make in MADE.get(group["name"], {}).items():
                make(place / name, models)
            calls(program, record, group, place, {"url": f"{models}/v1", "closed": CLOSED}, "commands")

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(one, (group for group in PLAN["group"] if group["name"] != "store")))


def read(program: Program, record: Record, kind: str, stores: Path, folder: Path) -> None:
    """Read a copy of a store that an earlier run has left: by every command, and by `evenkeel up`."""
    since, ended = json.loads((stores / f"{kind}.json").read_text(encoding="utf-8"))
    group = next(group for group in PLAN["group"] if group["name"] == "store")
    config = folder / "evenkeel.yaml"
    for part in ("served", "called"):
        (folder / part).mkdir()
        with contextlib.ExitStack() as stack:
            copied = folder / part / "data"
            shutil.copytree(stores / kind, copied)
            store: dict[str, Any] = {"data_dir": str(copied)}
            if kind == "redis":
                store = {"redis": {"url": stack.enter_context(redis(copied))[0], "prefix": "transcript"}}
            models = stack.enter_context(simulated(program, folder / part))
            config.write_text(settings(models, models, store), encoding="utf-8")
            if part == "served":
                with up(program, folder, config) as (_, admin):
                    reports = json.loads(ask(f"{admin}/api/changes").text)["changes"]
                    capture(record, f"read-{kind}", admin, Plain("read", folder))
                    continue
            known = {
                "store": f"--config {config}",
                "since": since,
                "until": ended,
                "change": reports[-1]["id"],
            }
            calls(program, record, group, folder / part, known, f"read-{kind}")


def write_answers(path: Path, _: str) -> None:
    """Approved answers to calibrate on: prose, or steps where the file's name says so."""
    rng = random.Random(path.name)
    things, parts = (
        ("pump", "boiler", "router", "printer", "lift"),
        ("filter", "valve", "cable", "sensor", "belt"),
    )
    places, people = (
        ("the cellar", "hall four", "the office", "the yard"),
        ("Priya", "Tomasz", "Ines", "Kofi"),
    )
    prose = (
        "{who} inspected the {part} of the {thing} in {place}.",
        "The {thing} in {place} stopped at {number} o'clock.",
        "A new {part} was ordered for the {thing} under number {number}.",
        "Cleaning the {part} made no difference to the {thing} of {who}.",
    )
    lines = []
    for place in range(24):
        texts = []
        for step in range(rng.randint(6, 12)):
            shape = rng.choice(
                prose
                if path.stem == "prose"
                else (f"{step + 1}. Check the {{part}} of the {{thing}} in {{place}}",)
            )
            texts.append(shape.format(
                who=rng.choice(people), part=rng.choice(parts), thing=rng.choice(things),
                place=rng.choice(places), number=rng.randint(2, 900),
            ))  # fmt: skip
        answer = (" " if path.stem == "prose" else "\n").join(texts)
        golden = {"id": f"g{place:03}", "prompt": "What happened?", "answer": answer, "approved_by": "eva"}
        lines.append(f"{json.dumps({**golden, 'approved_at': 1767225600})}\n")
    path.write_text("".join(lines), encoding="utf-8")


MADE: Final[dict[str, dict[str, Callable[[Path, str], None]]]] = {
    "calibrate": {"prose.jsonl": write_answers, "steps.jsonl": write_answers, "cases.jsonl": write_goldens},
    "gate": {"cases.jsonl": write_goldens},
}
"""Input files that are made rather than written down, by group."""


def record_all(path: Path, out: Path, stores: Path | None, parts: Sequence[str]) -> int:
    """Record a version of the program, some parts beside each other; the stores are read last."""
    record = Record(out)

    def one(part: str) -> None:
        began = time.monotonic()
        folders = (
            ("commands", "words/help", "words/commands") if part == "commands" else (part, f"words/{part}")
        )
        for name in folders:
            shutil.rmtree(out / name, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="transcript-") as temporary:
            folder = Path(temporary)
            program = Program(path.absolute(), folder)
            kind = part.partition("-")[2]
            if part == "commands":
                commands(program, record, folder)
            elif part.startswith("live-"):
                live(program, record, kind, folder)
            else:
                read(program, record, kind, (stores or out) / "stores", folder)
        print(f"{part}: {time.monotonic() - began:.0f} s")

    with ThreadPoolExecutor(3) as pool:
        for several in (PARTS[:3], PARTS[3:]):
            list(pool.map(one, [part for part in several if part in parts]))
    return 0


def compare(before: Path, after: Path, expected: Path | None, *, words: bool) -> int:
    """Print the differences of two records that are not meant; 1 if there is any."""
    lines = expected.read_text(encoding="utf-8").splitlines() if expected else []
    meant = [re.compile(line.partition("  # ")[0]) for line in lines if line.strip() and line[0] != "#"]
    names = {
        path.relative_to(folder).as_posix()
        for folder in (before, after)
        for path in folder.rglob("*.*")
        if path.is_file() and path.relative_to(folder).parts[0] != "stores"
    }
    differing, worded, left_out = 0, 0, 0
    for name in sorted(names):
        old, new = (
            path.read_text(encoding="utf-8").splitlines() if path.exists() else ["(no such file)"]
            for path in (before / name, after / name)
        )
        changed = list(difflib.unified_diff(old, new, str(before / name), str(after / name), "", "", 2, ""))
        unmeant = [
            line
            for line in changed[2:]
            if line[0] in "+-" and not any(one.search(f"{name}: {line}") for one in meant)
        ]
        left_out += bool(changed) and not unmeant
        if unmeant and name.startswith("words/"):
            worded += 1
        elif unmeant:
            differing += 1
        if unmeant and (words or not name.startswith("words/")):
            print("\n".join(changed))
    print(f"{len(names)} files: {differing} differ, {left_out} differ as meant, {worded} in words alone")
    return int(differing > 0)


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = parser.add_subparsers(dest="action", required=True)
    recording = actions.add_parser("record", help="write down what a version does")
    recording.add_argument("--program", type=Path, required=True, help="the installed `evenkeel`")
    recording.add_argument("--read-store", type=Path, help="record whose stores are read; else its own")
    recording.add_argument("--only", choices=PARTS, action="append", help="of the parts; repeatable")
    recording.add_argument("out", type=Path)
    comparing = actions.add_parser("compare", help="print what differs; exit code 1 if anything does")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument(
        "--expected", type=Path, help="regular expressions of `FILE: LINE`, with `  # reason`"
    )
    comparing.add_argument("--words", action="store_true", help="show differences of help and pages as well")
    given = parser.parse_args()
    if given.action == "compare":
        return compare(given.before, given.after, given.expected, words=given.words)
    return record_all(given.program, given.out, given.read_store, given.only or PARTS)


if __name__ == "__main__":
    sys.exit(main())
