"""`evenkeel up`, whole: real processes, a simulated model behind them, the openai SDK in front."""

import collections
import contextlib
import functools
import json
import os
import signal
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import openai
import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.runtime.supervisor import listen
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, make_case, serving, summary_prompt
from tests.kit.relaying import START_S
from tests.services import wait_for

pytestmark = pytest.mark.system


def ask(client, seed, **options):
    return client.chat.completions.create(
        model="simulated-1",
        messages=[{"role": "user", "content": summary_prompt(make_case(seed))}],
        **options,
    )


def send(url, seeds, workers=4):
    """Requests on parallel connections; returns how many failed."""

    def one(seed):
        try:
            if seed % 2:
                return sum(1 for _ in ask(client, seed, stream=True)) == 0
            return not ask(client, seed).choices
        except openai.OpenAIError:
            return True

    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, timeout=240) as client,
        ThreadPoolExecutor(workers) as pool,
    ):
        return sum(pool.map(one, seeds))


def test_a_worker_killed_with_minus_nine_loses_nothing_and_fails_nothing(start, upstream):
    """No forwarded request fails, every queued exchange is scored, no trial is counted twice."""
    with start("--upstream", upstream, "--sampling-rate", "1") as running:
        killed = running.child("worker")
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(send, running.url, range(40))
            wait_for(lambda: running.metric("evenkeel_exchanges_scored_total") >= 5)
            os.kill(killed, signal.SIGKILL)
            assert sending.result() == 0
        wait_for(lambda: running.child("worker") != killed)
        # Counted by the data plane, which lives on; what the worker counted may be lost.
        running.becomes(40, "evenkeel_exchanges_queued_total")
        wait_for(running.is_idle)
        with contextlib.closing(sqlite3.connect(running.data / "evenkeel.db")) as database:
            bodies = [json.loads(body) for (body,) in database.execute("SELECT body FROM verdicts")]
            dead = database.execute("SELECT count(*) FROM dead_exchanges").fetchone()
        trials = collections.Counter(body["exchange_id"] for body in bodies)
        assert dead == (0,)
        assert len(trials) == 40
        assert set(trials.values()) == {3}
        assert len({body["id"] for body in bodies}) == len(bodies) == 120
        wait_for(lambda: sum(cell["trials"] for cell in running.get("/api/cells")["cells"]) == 120)


def test_the_data_plane_comes_back_on_the_same_port_and_no_child_outlives_the_supervisor(start, upstream):
    """Requests after its end succeed and counters go on; no orphan keeps a port or the store."""

    def gone(pid):
        try:
            os.kill(pid, 0)
            return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] == "Z"
        except (ProcessLookupError, FileNotFoundError):
            return True

    with start("--upstream", upstream, exit_code=-signal.SIGKILL) as running:
        running.ask(range(10))
        passed = functools.partial(running.metric, "evenkeel_proxy_requests_total", status_class="2xx")
        wait_for(lambda: passed() >= 10)  # counters are published every second
        killed = running.child("proxy")
        os.kill(killed, signal.SIGKILL)
        running.ask(range(10, 20))  # these wait in the listening socket's backlog
        wait_for(lambda: passed() >= 20)
        pids = [running.child("proxy"), running.child("worker")]
        assert killed not in pids
        running.process.kill()
        wait_for(lambda: all(map(gone, pids)))


def test_a_judge_in_trouble_stops_scoring_and_nothing_else(start, upstream):
    """The log and the probe say what is wrong in one line; requests pass; exchanges wait."""
    keyed = Simulation([ModelState("judge-1")], SimulationSettings(api_key="right"))
    with (
        serving(keyed) as judge,
        start(
            *("--upstream", upstream, "--sampling-rate", "1", "--judge", "judge-1"),
            *("--judge-url", f"{judge}/v1"),
            environment={"EVENKEEL_JUDGE_API_KEY": "wr0ng"},
        ) as running,
    ):
        wait_for(lambda: "cannot be used" in running.log.read_text())
        running.ask(range(6))
        wait_for(lambda: running.get("/api/pipeline")["waiting"] == 6)

        def probed():
            """By the monitor, which asks the judge itself; a busy machine may see it time out at first."""
            probe = httpx2.get(f"{running.admin}/readyz", timeout=240)
            missing = probe.json()["missing"]
            return probe.status_code == 503 and "unauthorized" in missing.get("judge_key", "")

        wait_for(probed)

        def said():
            lines = running.log.read_text().splitlines()
            return [line for line in lines if "cannot be used (unauthorized:" in line]

        (line,) = wait_for(said)
        assert "put a valid key into EVENKEEL_JUDGE_API_KEY" in line
        assert "wr0ng" not in running.log.read_text()


def run(*arguments, **options):
    """The output of a command that must fail at once."""
    return subprocess.run(
        [os.sys.executable, "-m", "evenkeel", *arguments],
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
        **options,
    )


def test_wrong_settings_are_one_line_that_says_what_to_do(tmp_path, upstream, monkeypatch):
    """Each mistake ends the start with its own line and exit code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    taken = listen("127.0.0.1", 0, option="")
    port = str(taken.getsockname()[1])
    good = ("--upstream", upstream, "--data-dir", str(tmp_path / "d"), "--port", "0", "--admin-port", "0")
    for arguments, message in [
        (("--upstream", "localhost:8000"), "needs a scheme"),
        ((*good, "--port", port), "choose another with --port"),
        ((), "the option --upstream"),
    ]:
        done = CliRunner().invoke(main, ["up", *arguments])
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done
        assert message in done.stderr
    for arguments, message in [  # These end the process with a port open.
        ((*good, "--admin-port", port), "choose another with --admin-port"),
        ((*good, "--data-dir", str(tmp_path / "file")), "choose a writable folder with --data-dir"),
    ]:
        done = run("up", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
        assert message in done.stderr
    taken.close()
