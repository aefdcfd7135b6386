"""Argo Rollouts and Flagger: their query on Prometheus' engine, and their condition on the API's answer."""

import re
import subprocess

import pytest
import yaml
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.monitor.incidents import Incident
from tests.console.scenes import SCENES
from tests.house import ROOT
from tests.kit.records import altered

FOLDER = ROOT / "deploy" / "rollouts"
ARGO = {
    document["metadata"]["name"]: document["spec"]["metrics"][0]
    for document in yaml.safe_load_all((FOLDER / "argo.yaml").read_text("utf-8"))
}
FLAGGER = next(yaml.safe_load_all((FOLDER / "flagger.yaml").read_text("utf-8")))
QUERIES = {
    "argo": ARGO["evenkeel-prometheus"]["provider"]["prometheus"]["query"],
    "flagger": FLAGGER["spec"]["query"],
}
OPEN = 'evenkeel_incident_open{{job="evenkeel",instance="{}",route="{}",slot="{}",acknowledged="false"}}'
UP = 'up{job="evenkeel",instance="a"}'
CASES = {
    "no incident": ([f"{UP} 1"], 0.0),
    "two monitors, one incident": (
        [f"{UP} 1", *(f"{OPEN.format(monitor, 'chat', 1)} 1" for monitor in "ab")],
        1.0,
    ),
    "two incidents": ([f"{UP} 1", *(f"{OPEN.format('a', 'chat', slot)} 1" for slot in (1, 2))], 2.0),
    "another route": ([f"{UP} 1", f"{OPEN.format('a', 'desk', 1)} 1"], 0.0),
    "evenkeel is down": ([f"{UP} 0"], None),
    "not scraped": ([], None),
}


@pytest.mark.service("promtool")
@pytest.mark.parametrize("tool", QUERIES)
def test_the_query_counts_open_incidents_and_is_empty_where_nothing_is_known(tool, tmp_path):
    """An incident counts once for all monitors; a monitor that is gone is no 0."""
    query = re.sub(r"\{\{.*?\}\}", "chat", QUERIES[tool])
    tests = [
        {
            "name": name,
            "interval": "1m",
            "input_series": [
                {"series": line.rpartition(" ")[0], "values": f"{line.rpartition(' ')[2]}x5"}
                for line in series
            ],
            "promql_expr_test": [
                {
                    "expr": query,
                    "eval_time": "3m",
                    "exp_samples": [] if value is None else [{"labels": "{}", "value": value}],
                }
            ],
        }
        for name, (series, value) in CASES.items()
    ]
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump({"tests": tests}))
    done = subprocess.run(
        ["promtool", "test", "rules", "cases.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("result", "success", "failure"), [([0.0], True, False), ([2.0], False, True), ([], False, False)]
)
def test_argo_takes_an_empty_result_for_neither(result, *, success, failure):
    """Inconclusive: the rollout waits."""
    metric = ARGO["evenkeel-prometheus"]
    assert holds(metric["successCondition"], result) is success
    assert holds(metric["failureCondition"], result) is failure


def test_argo_reads_the_number_of_open_incidents_from_the_api():
    """The template's address, path in the answer and condition are used."""
    metric = ARGO["evenkeel-api"]
    scene = SCENES["alert"]()
    with TestClient(create_app(altered(scene.sources()))) as client:
        counts = []
        for route in (
            "no-such-route",
            *dict.fromkeys(name for body in incidents(scene) for name in body.routes),
        ):
            url = metric["provider"]["web"]["url"].replace("{{args.route}}", route)
            answer = client.get(url.removeprefix("http://evenkeel-monitor.evenkeel"))
            assert metric["provider"]["web"]["jsonPath"] == "{$.count}"
            counts.append(answer.json()["count"])
    assert counts[0] == 0
    assert holds(metric["successCondition"], counts[0])
    assert max(counts) > 0
    assert holds(metric["failureCondition"], max(counts))


def incidents(scene):
    return [Incident.from_bytes(body) for body in scene.store.incidents()]


def holds(condition, result):
    """Return whether a condition of Argo's expression language holds; these read the same in Python."""
    return bool(eval(condition.replace("&&", "and"), {"len": len, "result": result}))
