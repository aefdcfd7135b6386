"""The rules: each alert fires when it must, holds still when it must, and says what to do."""

import functools
import re
import subprocess

import pytest
import yaml

from docs.generate.metrics import documented
from evenkeel.monitor.incidents.incident import SEVERITY
from tests.deploy.rule_files import ALERTS, NAMES, PROMETHEUS, RECORDED, RULE_FILES, TOLD, rules
from tests.house import ROOT

RUNBOOKS = ROOT / "docs" / "runbooks"
METRICS_PAGE = ROOT / "docs" / "reference" / "metrics.md"
TEST_FILES = sorted((PROMETHEUS / "tests").glob("*.yaml"))
PAIRED = [file for file in TEST_FILES if file.stem != "proxy"]
"""Files of what monitors export."""
SECTIONS = ("What to look at", "What to do", "It is over when")


def exposed():
    """Every name that evenkeel exposes, parts of histograms included."""
    names = set()
    for series in documented():
        parts = ("_bucket", "_count", "_sum") if series.kind == "histogram" else ("",)
        names |= {f"{series.name}{part}" for part in parts}
    return names


def severities(rule):
    """Return the severities that an alert can have: an incident's are its own."""
    severity = rule["labels"]["severity"]
    return set(SEVERITY.values()) if severity == "{{ $labels.severity }}" else {severity}


def promtool(*arguments, **options):
    """Run it; its output is the message of a failure."""
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.service("promtool")
@pytest.mark.parametrize("file", TEST_FILES, ids=lambda file: file.stem)
def test_the_alerts_fire_when_they_must_and_only_then(file):
    """Promtool plays the series of each case and compares what fires, texts included."""
    promtool("test", "rules", file.name, cwd=file.parent)


@pytest.mark.service("promtool")
@pytest.mark.parametrize("file", PAIRED, ids=lambda file: file.stem)
def test_a_second_monitor_changes_nothing(file, tmp_path):
    """Every case again, with what monitors export scraped from two of them: alerts, texts and ratios stay."""
    shared = {series.name for series in documented() if series.shared}
    cases = yaml.safe_load(file.read_text(encoding="utf-8"))
    doubled = 0
    for test in cases["tests"]:
        for series in list(test["input_series"]):
            name = series["series"].partition("{")[0]
            if name in shared:
                other = re.sub('instance="', 'instance="second-', series["series"])
                assert other != series["series"]
                test["input_series"].append({**series, "series": other})
                doubled += 1
    assert doubled
    cases["rule_files"] = [str((file.parent / path).resolve()) for path in cases["rule_files"]]
    (tmp_path / file.name).write_text(yaml.safe_dump(cases), encoding="utf-8")
    promtool("test", "rules", file.name, cwd=tmp_path)


@functools.cache
def alert_cases():
    """Return the expectations of all test files."""
    cases = []
    for file in TEST_FILES:
        for test in yaml.safe_load(file.read_text(encoding="utf-8"))["tests"]:
            cases += test["alert_rule_test"]
    return cases


@pytest.mark.parametrize("name", NAMES)
def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(name):
    """A rule that nobody has seen fire may never fire."""
    cases = [case["exp_alerts"] for case in alert_cases() if case["alertname"] == name]
    assert any(cases)
    assert not all(cases)


@pytest.mark.service("promtool")
def test_the_example_configuration_loads_all_rules():
    """Prometheus takes the configuration as it is shipped, and every rule file is one it names."""
    said = promtool("check", "config", "prometheus.yml", cwd=PROMETHEUS)
    assert f"{len(RULE_FILES)} rule files found" in said


@pytest.mark.parametrize("rule", TOLD, ids=lambda rule: f"{rule['alert']}-{rule['labels']['concern']}")
def test_every_alert_says_what_where_and_what_to_do(rule):
    """Severity, concern, a sentence with values, and links to the console and to its own runbook."""
    labels, notes = rule["labels"], rule["annotations"]
    assert labels["severity"] in {"critical", "warning", "info", "{{ $labels.severity }}"}
    assert labels["concern"] in {"robustness", "provider", "judge", "pipeline", "proxy"}
    assert ("mutes" in labels) == ("scope" in labels)
    assert f"{{{{ $externalLabels.evenkeel_runbooks }}}}/{rule['alert']}.md" in notes["runbook_url"]
    assert notes["console_url"].startswith("{{ $externalLabels.evenkeel_console }}/")
    assert len(notes["summary"]) < 140 or rule["alert"] == "EvenkeelIncident"  # a sentence made of many parts
    assert (
        rule["alert"] == "EvenkeelDown"
        or "$value" in notes["description"]
        or "$labels" in notes["description"]
    )
    by_route = re.search(r"by \(job, route\b", rule["expr"]) or labels["concern"] == "robustness"
    if by_route:
        assert "{{ $labels.route }}" in notes["summary"]


@pytest.mark.parametrize(
    "rule", [*ALERTS, *rules("record")], ids=lambda rule: rule.get("alert", rule.get("record"))
)
def test_rules_read_series_that_exist(rule):
    """Every name in an expression or a text is one that evenkeel exposes, or a rule records."""
    text = rule["expr"] + " ".join(rule.get("annotations", {}).values())
    known = exposed() | {"evenkeel_console", "evenkeel_runbooks"}
    assert set(re.findall(r"\bevenkeel_[a-z0-9_]+", text)) <= known
    assert set(re.findall(r"\bevenkeel:[a-z0-9_:]+", text)) <= RECORDED


@pytest.mark.parametrize("name", NAMES)
def test_every_alert_has_a_runbook(name):
    """The page has every section, and the index leads to it."""
    text = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n")
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == list(SECTIONS)
    assert f"]({name}.md)" in (RUNBOOKS / "README.md").read_text(encoding="utf-8")
    assert f"](runbooks/{name}.md)" in (ROOT / "docs" / "alerting.md").read_text(encoding="utf-8")
    assert all(
        severity in text.splitlines()[2]
        for rule in TOLD
        if rule["alert"] == name
        for severity in severities(rule)
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_page_on_alerting_says_what_the_rules_say(name):
    """Concern, severities and wait of each alert, as in its row."""
    mine = [rule for rule in ALERTS if rule["alert"] == name]
    text = (ROOT / "docs" / "alerting.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| \[{name}\]\(.*", text, re.MULTILINE)
    _, _, concern, said, _, wait, _ = (cell.strip() for cell in row.split("|"))
    assert {rule["labels"]["concern"] for rule in mine} == set(concern.split(", "))
    assert {severity for rule in mine for severity in severities(rule)} == set(said.split(", "))
    waits = {rule.get("for", "none").replace("m", " min").replace("h", " h") for rule in mine}
    assert waits == {wait}


def test_there_is_no_runbook_without_an_alert():
    """An alert that is gone takes its page along."""
    assert {page.stem for page in RUNBOOKS.glob("*.md")} == {*NAMES, "README"}


def queries(page):
    """The expressions in a page's blocks of PromQL; one that goes on over lines is indented."""
    found = []
    for indent, block in re.findall(r"^( *)```promql\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL):
        lines = [line.removeprefix(indent) for line in block.splitlines()]
        whole = "\n".join(lines)
        found += [whole] if re.search(r"^[ )]", whole, re.MULTILINE) else lines
    return found


@pytest.mark.service("promtool")
def test_the_queries_of_the_pages_are_promql_on_series_that_exist(tmp_path):
    """Queries of a runbook can be pasted at 3 a.m."""
    pages = [page.read_text(encoding="utf-8") for page in RUNBOOKS.glob("*.md")]
    every = [query for page in [*pages, METRICS_PAGE.read_text(encoding="utf-8")] for query in queries(page)]
    assert len(every) > 10
    file = tmp_path / "queries.yaml"
    group = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(every)]
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": group}]}), encoding="utf-8")
    promtool("check", "rules", str(file))
    for query in every:
        assert set(re.findall(r"\bevenkeel_[a-z0-9_]+", query)) <= exposed(), query
        assert set(re.findall(r"\bevenkeel:[a-z0-9_:]+", query)) <= RECORDED, query


@pytest.mark.service("promtool")
def test_the_objective_is_set_in_one_place_and_for_single_routes(tmp_path):
    """The override that the file shows in a comment gives its route a budget of 3 %, and no other."""
    text = (PROMETHEUS / "rules" / "slo.yaml").read_text(encoding="utf-8")
    assert text.count("vector(") == 2
    (tmp_path / "slo.yaml").write_text(re.sub(r"# (- record|  expr|  labels|    route)", r"\1", text))
    series = [
        {"series": f'evenkeel_ratings_total{{job="evenkeel",route="{route}",rating="3"}}', "values": "1x5"}
        for route in ("billing", "chat")
    ]
    name = "evenkeel:robustness_budget:ratio"
    samples = [
        {"labels": f'{name}{{job="evenkeel",route="{route}"}}', "value": value}
        for route, value in (("billing", 0.03), ("chat", 0.1))
    ]
    check = {"expr": f"round({name}, 0.001)", "eval_time": "5m", "exp_samples": samples}
    for sample in samples:
        sample["labels"] = sample["labels"].removeprefix(name)
    test = {"interval": "1m", "input_series": series, "promql_expr_test": [check]}
    plan = {"rule_files": ["slo.yaml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(plan))
    promtool("test", "rules", "test.yaml", cwd=tmp_path)
