"""What lies in grafana/ is what the code writes, and leads where it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from grafana import BUILTIN, Addresses, to_json
from grafana.__main__ import main
from tests.deploy.rule_files import NAMES
from tests.grafana.scene import panels

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "grafana" / "dashboards").glob("*.json"))


@pytest.mark.parametrize("board", BUILTIN, ids=lambda board: board.uid)
def test_the_file_is_what_the_code_writes(board):
    """`python -m grafana` has been run since the dashboard changed."""
    written = (ROOT / "grafana" / "dashboards" / f"{board.uid}.json").read_text(encoding="utf-8")
    assert written == to_json(board, Addresses())


def test_there_is_a_file_for_each_dashboard_and_no_other():
    """A dashboard that is gone leaves no file behind."""
    assert [path.stem for path in FILES] == sorted(board.uid for board in BUILTIN)


def test_the_command_writes_the_files_with_other_addresses(tmp_path):
    """Links lead where the operator's console and runbooks are."""
    result = CliRunner().invoke(
        main,
        ["--out", str(tmp_path), "--console", "https://keel.example/", "--runbooks", "https://run.example"],
    )
    assert result.exit_code == 0
    for path in tmp_path.iterdir():
        variables = {one["name"]: one for one in json.loads(path.read_text())["templating"]["list"]}
        assert variables["console"]["query"] == "https://keel.example"
        assert variables["runbooks"]["query"] == "https://run.example"
    assert len(list(tmp_path.iterdir())) == len(BUILTIN)


def test_the_default_addresses_are_those_of_the_example_configuration():
    """Alerts of Prometheus and dashboards of Grafana lead to the same places."""
    config = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    labels = config["global"]["external_labels"]
    assert (labels["evenkeel_console"], labels["evenkeel_runbooks"]) == Addresses()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_runbook_that_a_panel_links_to_exists(path):
    """A link of a panel names a file in docs/runbooks."""
    links = [link["url"] for panel in panels(json.loads(path.read_text())) for link in panel.get("links", ())]
    runbooks = [url.removeprefix("${runbooks}/") for url in links if url.startswith("${runbooks}")]
    assert runbooks
    assert [name for name in runbooks if not (ROOT / "docs" / "runbooks" / name).is_file()] == []


def test_every_alert_is_linked_from_some_panel():
    """Who gets an alert finds a panel that shows its subject."""
    linked = {name for path in FILES for name in re.findall(r"Runbook: (\w+)", path.read_text())}
    assert set(NAMES) - linked == set()


def test_provisioning_names_the_data_source_and_where_the_files_go():
    """Both files are what Grafana reads at its start."""
    folder = ROOT / "grafana" / "provisioning"
    (source,) = yaml.safe_load((folder / "datasources" / "prometheus.yaml").read_text())["datasources"]
    assert (source["type"], source["jsonData"]["httpMethod"]) == ("prometheus", "POST")
    (provider,) = yaml.safe_load((folder / "dashboards" / "evenkeel.yaml").read_text())["providers"]
    assert provider["type"] == "file"
    assert provider["options"]["path"].startswith("/")
