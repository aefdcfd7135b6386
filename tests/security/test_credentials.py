"""Keys pass through and stay nowhere: not in the store, the log, the metrics, the pages, the traces."""

import re
from pathlib import Path

import httpx2
import pytest

from evenkeel.proxy.capture import Capture
from evenkeel.proxy.credentials import redacted
from evenkeel.proxy.request_head import parse_request
from evenkeel.proxy.response_head import parse_response
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from tests.otlp_receiver import collecting
from tests.up.starting import up

pytestmark = pytest.mark.system

BODY = {"model": "simulated-1", "messages": [{"role": "user", "content": "When does the ferry leave?"}]}
CLIENTS = {
    "authorization": "Bearer sk-marker-bearer-5e1f",
    "x-api-key": "sk-marker-xapikey-5e1f",
    "api-key": "sk-marker-apikey-5e1f",
    "cookie": "session=sk-marker-cookie-5e1f",
    "proxy-authorization": "Basic sk-marker-proxy-5e1f",
    "x-auth-token": "sk-marker-token-5e1f",
    "x-goog-api-key": "sk-marker-goog-5e1f",
    "openai-organization": "sk-marker-organization-5e1f",
}
QUERY = (
    "api-version=2031-01-01&api-key=sk-marker-query-5e1f&%73ig=sk-marker-sig-5e1f"
    "&X-Amz-Security-Token=sk-marker-amz-5e1f&clientSecret=sk-marker-client-5e1f"
)
OWN = {
    "EVENKEEL_SHADOW_API_KEY": "sk-marker-shadow-5e1f",
    "DESK_KEY": "sk-marker-injected-5e1f",
    "EVENKEEL_JUDGE_API_KEY": "sk-marker-judge-5e1f",
    "EVENKEEL_ADMIN_TOKEN": "sk-marker-admin-5e1f",
}
MARKER = "sk-marker"
PAGES = """
incidents routes trials changes references goldens gates judge calibration pipeline spend settings
actions setup
""".split()
API = """
actions alerts cells challengers changes goldens incidents labels pipeline references rollups trials
""".split()
SETTINGS = """
routes:
  - {{name: main, upstream: '{url}', sampling_rate: 1}}
  - {{name: desk, match: {{prefix: /desk}}, upstream: '{url}', sampling_rate: 1, api_key_env: DESK_KEY}}
  - name: tenant
    match: {{prefix: /tenant, headers: {{x-tenant: sk-marker-tenant-5e1f}}}}
    upstream: '{url}'
  - {{name: gone, match: {{prefix: /gone}}, upstream: 'http://127.0.0.1:9', sampling_rate: 1}}
judge: {{base_url: '{url}/v1', model: judge}}
telemetry: {{traces: true, content: true}}
alerts: {{webhook: 'http://127.0.0.1:9/sk-marker-webhook-5e1f'}}
"""


@pytest.fixture
def traffic(tmp_path):
    """A run of `up` that has seen keys in every place: admin client, folder, log, collector."""
    config = tmp_path / "evenkeel.yaml"
    simulation = Simulation(
        [ModelState("simulated-1", fragility=0.5)], SimulationSettings(deterministic=True)
    )
    with serving(simulation) as url, collecting() as collector:
        config.write_text(SETTINGS.format(url=url))
        environment = {**OWN, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "200"}
        with up(tmp_path, "--config", str(config), environment=environment) as running:
            admin = httpx2.Client(
                base_url=running.admin, auth=("ann", OWN["EVENKEEL_ADMIN_TOKEN"]), timeout=240
            )
            running.auth = ("ann", OWN["EVENKEEL_ADMIN_TOKEN"])
            statuses = [
                httpx2.post(f"{running.url}{path}", json=BODY, headers=CLIENTS, timeout=240).status_code
                for path in (
                    f"/v1/chat/completions?{QUERY}",
                    f"/desk/v1/chat/completions?{QUERY}",
                    f"/gone/v1/chat/completions?{QUERY}",
                    f"/v1/embeddings?{QUERY}",
                    f"/nowhere?{QUERY}",
                )
            ]
            assert statuses[:3] == [200, 200, 502]
            unreadable = httpx2.post(
                f"{running.url}/v1/chat/completions?{QUERY}", content=b"{", headers=CLIENTS, timeout=240
            )
            assert unreadable.status_code == 400
            running.requests = len(statuses) + 1
            running.settle()
            collector.wait_for("evenkeel.shadow", 2)
            yield admin, tmp_path / "data", running.log, collector
            admin.close()


def crawled(admin):
    """Every page that can be reached, by its address, and what machines read."""
    found, ahead = {}, ["/", "/metrics", "/readyz"]
    ahead += [f"/{name}" for name in PAGES]
    ahead += [f"/api/{name}" for name in API]
    while ahead:
        path = ahead.pop(0)
        if path in found or len(found) > 100:
            continue
        found[path] = admin.get(path).text
        ahead += [link.partition("#")[0] for link in re.findall(r'href="(/[^"]*)"', found[path])]
    return found


def test_no_sink_holds_a_key(traffic):
    """Traffic had keys in headers, cookies and queries, and evenkeel keys of its own."""
    admin, folder, log, collector = traffic
    pages = crawled(admin)
    assert "When does the ferry leave?" in "".join(pages.values())
    assert [path for path, text in pages.items() if MARKER in text] == []
    assert {f"/{name}" for name in PAGES} <= pages.keys()
    files = [file for file in Path(folder).rglob("*") if file.is_file()]
    stored = b"".join(file.read_bytes() for file in files)
    assert b"When does the ferry leave?" in stored
    assert b"api-version=2031-01-01" in stored
    assert MARKER.encode() not in stored
    assert MARKER not in log.read_text()
    spans = f"{collector.spans()} {collector.resources()}"
    assert "When does the ferry leave?" in spans
    assert MARKER not in spans


CARRY_KEYS = """
api_key api-key apikey key subscription-key x-api-key AWSAccessKeyId key.id token access_token id_token
X-Amz-Security-Token sasToken sig X-Amz-Signature X-Amz-Credential client_secret clientSecret password passwd
pwd passphrase auth authorization jwt code session_id sid %61pi%2Dkey user[password] bearer pat user_pat sas
""".split()


@pytest.mark.parametrize("name", CARRY_KEYS)
def test_query_parameters_that_carry_keys_are_not_kept(name):
    """They are known by the words that APIs use, whatever stands around the word and parts the parameters."""
    assert redacted(f"/v1/x?a=1&{name}=marker&b=2".encode()) == "/v1/x?a=1&b=2"
    assert redacted(f"/v1/x?a=1;{name}=marker;b=2".encode()) == "/v1/x?a=1;b=2"


@pytest.mark.parametrize(
    "name", "api-version model keyword author design n stream deployment coder side path pattern".split()
)
def test_other_query_parameters_are_kept(name):
    """A replay needs them to reach the same place."""
    for kept in (f"/v1/x?{name}=1", f"/v1/x?{name}=1&&{name}", f"/{name}?"):
        assert redacted(kept.encode()) == kept


def test_what_is_captured_of_heads_is_an_allow_list():
    """Every field of either head that is not on it is dropped, whatever it is called."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in CLIENTS.items())
    head = parse_request(f"POST /v1/x HTTP/1.1\r\nHost: h\r\n{fields}Content-Type: a/b\r\n\r\n".encode())
    answer = f"HTTP/1.1 200 OK\r\nSet-Cookie: {MARKER}\r\nX-Token: {MARKER}\r\nContent-Length: 0\r\n\r\n"
    capture = Capture(1, "main", head, 0.0, 1000)
    capture.add_answer(parse_response(answer.encode(), b"POST"), None, chunked=False, upstream=0)
    kept = capture.exchange()
    assert kept.request_headers == (("content-type", "a/b"),)
    assert kept.response_headers == ()
    assert MARKER not in repr(kept)
