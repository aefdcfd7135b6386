"""The workflows for GitHub Actions: they are well-formed, may change nothing, and call what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = [
    *sorted((ROOT / ".github" / "workflows").glob("*.yml")),
    *sorted((ROOT / "deploy" / "github-actions").glob("*.yml")),
]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_reads_only_and_ends(path):
    """No job may write to the repository's contents, and each has a time limit."""
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"]["contents"] == "read"
    for job in workflow["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 60


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_targets_that_exist(path):
    """Each `make` target is one of the Makefile's."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    asked = {
        word
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
        for step in job["steps"]
        for line in re.findall(r"(?m)^\s*make (.+)$", step.get("run", ""))
        for word in line.split()
        if "=" not in word
    }
    assert asked <= targets
