"""The Helm chart: what it renders is valid, hardened, and fits the program and the files it is made of."""

import copy
import functools
import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

from evenkeel.runtime.data_plane import _DRAIN_S
from evenkeel.runtime.preflight import missing_keys
from evenkeel.settings import load
from evenkeel.settings.replay import BudgetSettings
from evenkeel.settings.server import Access, Listen
from evenkeel.stores.redis.connection import RedisPlace, RedisStore
from evenkeel.stores.redis.queue import RedisExchangeQueue
from tests.cases import cases
from tests.deploy.chart_rendering import manifests, render, values_of
from tests.kit.commands import run_command

CASES = cases(__file__)

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "evenkeel"
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))

LEAST = {"settings": {"storage": {"redis": {"url": "redis://redis:6379/0"}}}}
MOST = yaml.safe_load(Path(__file__).with_name("most.yaml").read_text(encoding="utf-8"))
BARE = LEAST | {
    "podDisruptionBudget": {"enabled": False},
    "networkPolicy": {"enabled": False},
    "serviceAccount": {"create": False},
    "worker": {"autoscaling": {"by": "cpu"}},
}
EXTERNAL = LEAST | {"worker": {"autoscaling": {"by": "external"}}}
SETUPS = {"least": LEAST, "most": MOST, "bare": BARE, "external": EXTERNAL}
CUSTOM = {"HTTPRoute", "ServiceMonitor", "PrometheusRule", "ScaledObject", "TriggerAuthentication"}
"""Kinds that operators bring along; their schemas are not among Kubernetes' own."""


def rendered_by_helm(given, folder):
    """Return what Helm itself makes of the chart."""
    (folder / "given.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    shutil.copytree(CHART, folder / "chart", dirs_exist_ok=True)  # follows links, as packaging does
    command = ["helm", "template", "evenkeel", folder / "chart", "-n", "watch", "-f", folder / "given.yaml"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return {"all.yaml": done.stdout}


@functools.cache
def _rendered(given):
    return manifests(render(CHART, json.loads(given)))


def objects(given=LEAST):
    """Return what the chart makes of values; rendered once for all tests, so nobody may change it."""
    return _rendered(json.dumps(given))


def of_kind(kind, given=LEAST):
    return [manifest for manifest in objects(given) if manifest["kind"] == kind]


def settings_of(given):
    """The text of the settings file."""
    [text] = [
        page["data"]["evenkeel.yaml"]
        for page in of_kind("ConfigMap", given)
        if "evenkeel.yaml" in page["data"]
    ]
    return text


def workloads(given):
    return [manifest for manifest in objects(given) if manifest["kind"] in {"Deployment", "StatefulSet"}]


def named(manifest):
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


@pytest.mark.parametrize("setup", SETUPS)
def test_every_manifest_is_valid_kubernetes(setup):
    """Against the API's own schemas, in which unknown fields are errors; nothing is named twice."""
    found = objects(SETUPS[setup])
    for manifest in found:
        if manifest["kind"] not in CUSTOM:
            kubernetes_validate.validate(manifest, "1.34", strict=True)
    names = [named(manifest) for manifest in found]
    assert len(names) == len(set(names))
    assert all(len(manifest["metadata"]["name"]) <= 63 for manifest in found)


if shutil.which("helm"):  # comes from no package index, so it is not asked for

    @pytest.mark.parametrize("setup", SETUPS)
    def test_helm_renders_the_same(setup, tmp_path):
        """Helm's own output is what the other tests look at."""
        theirs = manifests(rendered_by_helm(SETUPS[setup], tmp_path))
        assert {named(manifest): manifest for manifest in theirs} == {
            named(manifest): manifest for manifest in objects(SETUPS[setup])
        }


@pytest.mark.parametrize("setup", SETUPS)
def test_the_values_fit_their_schema(setup):
    """Defaults and the settings of these tests are accepted."""
    jsonschema.validate(values_of(CHART, SETUPS[setup]), SCHEMA)


@pytest.mark.parametrize("wrong", CASES["refused"], ids=json.dumps)
def test_the_schema_refuses(wrong):
    """Misspelt values, secrets in plain text, doors to nowhere, and what the chart decides or has itself."""
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values_of(CHART, wrong), SCHEMA)


def test_the_schema_knows_the_settings_of_the_ports():
    """All of them but those that the chart decides: addresses, certificates and an open port."""
    sections = SCHEMA["properties"]["settings"]["properties"]
    decided = {"host", "port", "tls", "open_on_loopback"}
    for section, fields in (("access", Access.model_fields), ("listen", Listen.model_fields)):
        assert sections[section]["properties"].keys() == fields.keys() - decided


@pytest.mark.parametrize("setup", SETUPS)
def test_pods_are_hardened(setup):
    """Pods are not root, write to two empty folders only, and have no capabilities and no cluster token."""
    for manifest in workloads(SETUPS[setup]):
        pod = manifest["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        [container] = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
        assert writable == {"/var/lib/evenkeel", "/tmp"}
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert volumes.keys() == {mount["name"] for mount in container["volumeMounts"]}
        assert all("emptyDir" in volumes[name] for name in ("data", "tmp"))


@pytest.mark.parametrize("setup", SETUPS)
def test_secrets_come_by_reference_and_only_where_they_are_needed(setup):
    """The chart makes no Secret, no value stands in a variable, and a key reaches the role that uses it."""
    assert not of_kind("Secret", SETUPS[setup])
    keys = {}
    for manifest in workloads(SETUPS[setup]):
        for variable in manifest["spec"]["template"]["spec"]["containers"][0]["env"]:
            if variable["name"] not in {"SSL_CERT_FILE", "HTTPS_PROXY"}:
                assert set(variable) == {"name", "valueFrom"}
                assert set(variable["valueFrom"]) == {"secretKeyRef"}
            role = manifest["metadata"]["labels"]["app.kubernetes.io/component"]
            keys.setdefault(variable["name"], set()).add(role)
    assert keys["EVENKEEL_ADMIN_TOKEN"] >= {"proxy", "worker"}
    if setup == "most":
        assert keys["CASES_KEY"] == {"proxy"}
        assert keys["EVENKEEL_JUDGE_API_KEY"] == {"worker", "monitor"}


def test_each_role_has_every_key_that_it_uses(tmp_path, monkeypatch):
    """A role misses none of its credentials with the variables of its pod alone."""
    (tmp_path / "evenkeel.yaml").write_text(settings_of(MOST), encoding="utf-8")
    for manifest in workloads(MOST):
        [container] = manifest["spec"]["template"]["spec"]["containers"]
        with monkeypatch.context() as pod:
            for name in ("CASES_KEY", *MOST["worker"]["secretEnv"]):
                pod.delenv(name, raising=False)
            for variable in container["env"]:
                if "valueFrom" in variable:
                    pod.setenv(variable["name"], f"held as {variable['name']}")
            settings = load(tmp_path / "evenkeel.yaml", {}, {})
            assert missing_keys(settings, container["name"]) == []
            others = {"proxy": "worker"}.get(container["name"], "proxy")
            assert missing_keys(settings, others) != []


@pytest.mark.parametrize("setup", SETUPS)
def test_the_arguments_are_those_of_the_program(setup):
    """Each role's command line is understood, and the admin port it opens is the one that is probed."""
    for manifest in workloads(SETUPS[setup]):
        [container] = manifest["spec"]["template"]["spec"]["containers"]
        run_command(*container["args"], "--help")
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert str(ports["admin"]) == container["args"][container["args"].index("--admin-port") + 1]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            check = container[probe]
            assert (check.get("httpGet") or check["tcpSocket"])["port"] in ports


@pytest.mark.parametrize("setup", SETUPS)
def test_the_settings_file_loads(setup, tmp_path, monkeypatch):
    """The chart's own settings win over those given, and large numbers stay numbers."""
    monkeypatch.setenv("EVENKEEL_ADMIN_TOKEN", "token-of-sixteen-characters")
    (tmp_path / "evenkeel.yaml").write_text(settings_of(SETUPS[setup]), encoding="utf-8")
    settings = load(tmp_path / "evenkeel.yaml", {}, {})
    assert (settings.listen.host, settings.listen.port) == ("0.0.0.0", 8100)
    names = [manifest["metadata"]["name"] for manifest in of_kind("Service", SETUPS[setup])]
    [name] = [name for name in names if name.endswith("-proxy")]
    inside = [name, f"{name}.watch", f"{name}.watch.svc", f"{name}.watch.svc.cluster.local"]
    outside = ["llm.corp.example", "llm-2.corp.example"]  # of Ingress and HTTPRoute, and of the settings
    assert settings.listen.hosts == inside + (outside if setup == "most" else [])
    assert settings.access.host == "0.0.0.0"
    assert settings.budget.tokens_per_day == BudgetSettings().tokens_per_day
    assert str(settings.data_dir) == "/var/lib/evenkeel"
    assert settings.storage.redis is not None
    assert settings.storage.redis.url == SETUPS[setup]["settings"]["storage"]["redis"]["url"]


def test_pods_start_anew_when_the_settings_change():
    """The checksum on the pods follows the settings file."""
    changed = copy.deepcopy(LEAST)
    changed["settings"]["alerts"] = {"threshold": 0.2}
    sums = [
        {
            manifest["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]
            for manifest in workloads(given)
        }
        for given in (LEAST, changed)
    ]
    assert [len(each) for each in sums] == [1, 1]
    assert sums[0] != sums[1]


@pytest.mark.parametrize("setup", SETUPS)
def test_selectors_find_their_pods(setup):
    """Each Service, budget and policy selects pods there are, and ports they have."""
    pods = [manifest["spec"]["template"] for manifest in workloads(SETUPS[setup])]

    def selected(labels):
        return [pod for pod in pods if labels.items() <= pod["metadata"]["labels"].items()]

    for manifest in objects(SETUPS[setup]):
        if manifest["kind"] == "Service":
            found = selected(manifest["spec"]["selector"])
            wanted = {port["targetPort"] for port in manifest["spec"]["ports"]}
        elif manifest["kind"] in {"PodDisruptionBudget", "NetworkPolicy"}:
            where = manifest["spec"].get("selector") or manifest["spec"]["podSelector"]
            found, wanted = selected(where["matchLabels"]), set()
        else:
            continue
        assert found, named(manifest)
        for pod in found:
            assert wanted <= {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
    for manifest in of_kind("HorizontalPodAutoscaler", SETUPS[setup]) + of_kind(
        "ScaledObject", SETUPS[setup]
    ):
        target = manifest["spec"]["scaleTargetRef"]["name"]
        [scaled] = [each for each in workloads(SETUPS[setup]) if each["metadata"]["name"] == target]
        assert "replicas" not in scaled["spec"]  # or each upgrade would undo the scaling


def test_the_proxy_has_time_to_drain():
    """Kubernetes waits longer than the pause for the endpoints, the drain, and the hand-off's emptying."""
    [proxy] = [manifest for manifest in workloads(LEAST) if manifest["metadata"]["name"] == "evenkeel-proxy"]
    pod = proxy["spec"]["template"]["spec"]
    command = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert pod["terminationGracePeriodSeconds"] > int(command[1]) + 2 * _DRAIN_S
    assert proxy["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_keda_watches_the_queue_s_own_stream():
    """The stream, the database and the address are those that the roles use."""
    [scaled] = of_kind("ScaledObject", MOST)
    [trigger] = scaled["spec"]["triggers"]
    place = RedisPlace(url="redis://store.example:6380/3", prefix="blue")
    queue = RedisExchangeQueue(RedisStore(place), lambda: 0.0)
    assert trigger["type"] == "redis-streams"
    assert trigger["metadata"] == {
        "address": "store.example:6380",
        "databaseIndex": "3",
        "stream": queue._stream,
        "streamLength": "200",
        "enableTLS": "true",
        "username": "keel",
    }
    [credentials] = of_kind("TriggerAuthentication", MOST)
    assert trigger["authenticationRef"]["name"] == credentials["metadata"]["name"]


def test_rules_and_dashboards_are_those_of_the_repository():
    """The chart brings what deploy/prometheus and grafana have, value for value, and all of it."""
    rules = {
        manifest["metadata"]["name"].removeprefix("keel-"): manifest["spec"]
        for manifest in of_kind("PrometheusRule", MOST)
    }
    assert rules == {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in (ROOT / "deploy" / "prometheus" / "rules").glob("*.yaml")
    }
    boards = {
        name: json.loads(text)
        for manifest in of_kind("ConfigMap", MOST)
        for name, text in manifest["data"].items()
        if name != "evenkeel.yaml"
    }
    kept = {
        path.name: path.read_text(encoding="utf-8")
        for path in (ROOT / "grafana" / "dashboards").glob("*.json")
    }
    assert boards == {name: json.loads(text) for name, text in kept.items()}
    assert sum(map(len, kept.values())) < 1_000_000  # an object may have 1 MiB; each board is one


def test_the_scrape_has_the_token_and_the_job_of_the_rules():
    """All roles are one job, whose name the rules take, behind the metrics token or else the admin token."""
    [watch] = of_kind("ServiceMonitor", MOST)
    [endpoint] = watch["spec"]["endpoints"]
    assert endpoint["authorization"]["credentials"] == {"name": "evenkeel", "key": "admin-token"}
    tokens = {
        f"EVENKEEL_{name.upper()}_TOKEN": {"secret": "evenkeel", "key": f"{name}-token"}
        for name in ("admin", "metrics")
    }
    setup = {**MOST, "secretEnv": tokens}
    [watch] = of_kind("ServiceMonitor", setup)
    own = watch["spec"]["endpoints"][0]["authorization"]["credentials"]
    assert own == {"name": "evenkeel", "key": "metrics-token"}
    [scraper] = json.loads(settings_of(setup))["access"]["people"]
    assert (scraper["token_env"], scraper["role"]) == ("EVENKEEL_METRICS_TOKEN", "scraper")
    assert endpoint["relabelings"] == [{"targetLabel": "job", "replacement": "evenkeel"}]


def test_the_network_lets_in_who_is_named_and_nobody_else():
    """The data port is the proxy's only, the console the monitors' only, and Redis is where it was said."""
    everybody, proxy, console, _ = of_kind("NetworkPolicy", MOST)
    assert everybody["spec"]["policyTypes"] == ["Ingress", "Egress"]
    [metrics] = everybody["spec"]["ingress"]
    assert metrics["ports"] == [{"protocol": "TCP", "port": "admin"}]
    redis = everybody["spec"]["egress"][1]
    assert redis == {
        "ports": [{"protocol": "TCP", "port": 6380}],
        "to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
    }
    [calls] = proxy["spec"]["ingress"]
    assert calls == {"from": [{"namespaceSelector": {}}], "ports": [{"protocol": "TCP", "port": "http"}]}
    [people] = console["spec"]["ingress"]
    assert people["from"] == [{"podSelector": {"matchLabels": {"app": "gate"}}}]


@pytest.mark.parametrize("setup", [name for name in SETUPS if name != "bare"])
def test_the_network_lets_out_to_named_places_only(setup):
    """Places are DNS, Redis and what the values say; else the internet, and no private network."""
    everybody, *others = of_kind("NetworkPolicy", SETUPS[setup])
    assert "Egress" in everybody["spec"]["policyTypes"]
    assert all("egress" not in other["spec"] for other in others)
    assert everybody["spec"]["podSelector"]["matchLabels"].keys() == {
        "app.kubernetes.io/name",
        "app.kubernetes.io/instance",
    }
    dns, redis, *outside = everybody["spec"]["egress"]
    for rule in (dns, redis, *outside):
        assert rule["ports"]
        assert rule["to"]
        assert all(peer for peer in rule["to"])
        for block in (peer["ipBlock"] for peer in rule["to"] if "ipBlock" in peer):
            assert not block["cidr"].endswith("/0") or block["except"]
    assert {port["port"] for port in dns["ports"]} == {53}
    [resolver] = dns["to"]
    assert resolver.keys() == {"namespaceSelector", "podSelector"}
    if setup == "most":
        assert [port["port"] for port in outside[0]["ports"]] == [443, 8443]
        assert outside[0]["to"][0] == {"ipBlock": {"cidr": "203.0.113.0/24"}}
        assert outside[1:] == SETUPS[setup]["networkPolicy"]["extraEgress"]
    else:
        assert redis["to"] == [{"namespaceSelector": {}}]
        [public] = outside
        assert [port["port"] for port in public["ports"]] == [443]
        assert {"10.0.0.0/8", "169.254.0.0/16"} <= set(public["to"][0]["ipBlock"]["except"])
        assert "NO UPSTREAM CAN BE REACHED" not in render(CHART, SETUPS[setup])["NOTES.txt"]
