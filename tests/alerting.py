"""Prometheus with our rules and Alertmanager with our routes, over a running evenkeel."""

import re
from pathlib import Path

import yaml

from evenkeel.stores.keys import METRICS_TOKEN
from tests.services import prometheus, service

DEPLOY = Path(__file__).parents[1] / "deploy"


def branches(route):
    """A branch of the routing with all below it."""
    yield route
    for branch in route.get("routes", ()):
        yield from branches(branch)


def alertmanager(folder, receiver, *, wait="1s"):
    """Ours in a hurry, with every receiver that tells somebody replaced by the one here."""
    config = yaml.safe_load((DEPLOY / "alertmanager" / "alertmanager.yml").read_text())
    config["receivers"] = [
        {"name": told["name"], "webhook_configs": [{"url": f"{receiver}{told['name']}"}] * (len(told) > 1)}
        for told in config["receivers"]
    ]
    config["templates"] = []
    for branch in branches(config["route"]):
        branch |= {"group_wait": wait, "group_interval": "1s"}
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(config))
    return service(
        folder,
        "prometheus-alertmanager",
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'alertmanager'}",
        "--cluster.listen-address=",
    )


def watching(folder, running, alerts_to):
    """Ours in a hurry: it looks every five seconds, with waits of a second."""
    (folder / "rules").mkdir()
    for file in (DEPLOY / "prometheus" / "rules").glob("*.yaml"):
        (folder / "rules" / file.name).write_text(re.sub(r"for: \w+", "for: 1s", file.read_text()))
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    # A scrape may take as long as there is between two: one that comes too late would end the alerts.
    config["global"] |= {"scrape_interval": "5s", "evaluation_interval": "1s"}
    config["global"]["external_labels"]["evenkeel_console"] = running.admin
    config["scrape_configs"][0]["authorization"] = {"credentials_file": str(running.data / METRICS_TOKEN)}
    hosts = [
        (config["scrape_configs"][0], running.admin),
        (config["alerting"]["alertmanagers"][0], alerts_to),
    ]
    for section, url in hosts:
        section["static_configs"] = [{"targets": [url.removeprefix("http://")]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    return prometheus(folder, folder / "prometheus.yml")
