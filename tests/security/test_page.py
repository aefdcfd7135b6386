"""The threat model against the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_threat_model_names_tests_that_exist():
    """Every test that `docs/security.md` leans on is there under its name."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\S+/test_\w+\.py)::(test_\w+)`", page)
    folder = ROOT / "tests"
    sources = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("test_*.py")
    }
    assert len(named) > 130
    assert [one for one in named if f"def {one[1]}(" not in sources.get(one[0], "")] == []


def test_every_threat_has_a_defence_and_a_test():
    """No row of the tables of attacks is without one."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    tables = page.split("| attack | defence | test |\n|---|---|---|\n")[1:]
    rows = [row for table in tables for row in table.split("\n\n")[0].splitlines()]
    assert len(rows) > 50
    for row in rows:
        attack, defence, test = (cell.strip() for cell in row.strip("|").split(" | "))
        assert attack
        assert defence
        assert "::test_" in test


@pytest.mark.parametrize(
    "threat",
    [
        *("smuggling", "bomb", "DNS rebinding", "forms of other sites", "markup", "paths that lead to files"),
        *("longer than its length", "takes to another provider", "budget", "web page", "other users of"),
        *("heads that never end", "half surrogate", "act when they are sent again", "over-long questions"),
        *("redaction", "moving sealed payloads", "absolute targets", "tells the judge", "lines of the log"),
        *("without a password", "an action, an image or a package", "broken into", "handshakes"),
    ],
)
def test_the_threat_model_speaks_of_what_was_tried(threat):
    """What attackers tried once stays in the page, with its defence."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    assert any(threat in line for line in page.splitlines() if line.startswith("| ") and "::test_" in line)


def test_reports_have_a_private_way_and_no_invented_address():
    """SECURITY.md names GitHub's private reporting, the supported versions and what is in scope."""
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "Report a vulnerability" in page
    assert "docs/security.md" in page
    for heading in ("Supported versions", "In scope", "Checking a release"):
        assert f"## {heading}" in page
    assert not re.search(r"[\w.+-]+@[\w-]+\.\w", page)
