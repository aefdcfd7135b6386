"""From a model swap to an alert: the page, Prometheus and a webhook see the same."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import openai
import pytest
import yaml

from evenkeel.simulate import make_case, summary_prompt
from evenkeel.supervisor import listen


@pytest.fixture
def webhook():
    """A receiver of alerts: its URL and what it got."""
    received = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/alerts", received
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def prometheus(tmp_path):
    """Starts a real Prometheus that scrapes the given address every second; gives its URL."""
    started = []

    def start(target):
        sock = listen("127.0.0.1", 0, option="")
        port = sock.getsockname()[1]
        sock.close()
        config = tmp_path / "prometheus.yml"
        scrape = {"job_name": "evenkeel", "scrape_interval": "1s", "static_configs": [{"targets": [target]}]}
        config.write_text(yaml.safe_dump({"scrape_configs": [scrape]}))
        log = (tmp_path / "prometheus.log").open("wb")
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={tmp_path / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
        started.append((process, log))
        return f"http://127.0.0.1:{port}"

    yield start
    for process, log in started:
        process.terminate()
        process.wait(20)
        log.close()


def wait_for(question, timeout_s=45):
    """The first true answer."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            answer = question()
        except (httpx2.HTTPError, ValueError):
            answer = None
        if answer:
            return answer
        time.sleep(0.2)
    raise AssertionError("waited in vain")


def send(running, seeds):
    client = openai.OpenAI(base_url=f"{running.proxy}/v1", api_key="k", max_retries=0)
    for seed in seeds:
        client.chat.completions.create(
            model="simulated-1", messages=[{"role": "user", "content": summary_prompt(make_case(seed))}]
        )


@pytest.mark.service("prometheus", "promtool")
def test_a_model_swap_raises_an_alert_everywhere(start, simulation, upstream, webhook, prometheus, tmp_path):
    """Quiet before; after the swap the gauge, the API, the log and the webhook all say so."""
    url, received = webhook
    simulation.change("simulated-1", {"fragility": 0.0})
    config = tmp_path / "evenkeel.yaml"
    kinds = ["general.whitespace", "general.punctuation", "general.casing", "general.spelling"]
    route = {
        "upstream": upstream,
        "sampling_rate": 1.0,
        "perturbations": kinds,
        "trials_per_exchange": len(kinds),
    }
    config.write_text(yaml.safe_dump({"routes": [route], "alert": {"webhook": url}}))
    with start("--config", str(config)) as running:
        scraped = prometheus(running.admin.removeprefix("http://"))

        def query(expression):
            answer = httpx2.get(f"{scraped}/api/v1/query", params={"query": expression}).json()
            return [(one["metric"], float(one["value"][1])) for one in answer["data"]["result"]]

        send(running, range(40))
        running.settle()
        assert (
            wait_for(lambda: query('evenkeel_robustness_score{perturbation="general.spelling"}'))[0][1] == 1
        )
        assert {value for _, value in query("evenkeel_alert")} == {0.0}
        assert received == []

        simulation.change("simulated-1", {"fragility": 0.6, "returned_name": "simulated-2"})
        send(running, range(40, 110))
        running.settle()
        wait_for(lambda: any(value == 1 for _, value in query("evenkeel_alert")))
        assert {labels["model"] for labels, value in query("evenkeel_alert") if value == 1} == {"simulated-2"}
        raised = [event for event in running.get("/api/alerts")["events"] if event["kind"] == "raised"]
        assert {event["model"] for event in raised} == {"simulated-2"}
        wait_for(lambda: len(received) >= len(raised))
        assert {post["id"] for post in received} == {event["id"] for event in raised}
        assert "ALERT" in running.log.read_text()
        exposition = httpx2.get(f"{running.admin}/metrics").text
        checked = subprocess.run(
            ["promtool", "check", "metrics"], input=exposition, capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
