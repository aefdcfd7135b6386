"""Goldens from traffic to file: `up`, a simulated model, the command line and the API on one store."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.release.goldens.files import read_goldens
from evenkeel.stores.goldens import GoldenStore
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.documents import SqliteDocuments

pytestmark = pytest.mark.system

KEY = "sk-application-secret-000"


@pytest.fixture
def goldens(tmp_path):
    """Runs `evenkeel goldens` on the store of `up`."""

    def run(*arguments):
        done = CliRunner().invoke(main, ["goldens", *arguments, "--data-dir", str(tmp_path / "data")])
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def test_an_answer_of_the_day_becomes_a_golden_in_a_file(start, upstream, tmp_path, goldens):
    """Sampled, archived, approved on the command line, listed by the API, exported, and read back equal."""
    config = tmp_path / "evenkeel.yaml"
    config.write_text(
        f"routes: [{{name: desk, match: {{prefix: /desk}}, upstream: '{upstream}', sampling_rate: 1,"
        " trials: {per_exchange: 0}}]\n"
    )
    with start("--config", str(config)) as running:
        said = set(
            running.ask(
                range(4), route="/desk", authorization=f"Bearer {KEY}", x_evenkeel_prompt_version="p7"
            )
        )
        running.settle()
        assert running.metric("evenkeel_exchanges_archived_total", route="desk") == 4
        found = json.loads(goldens("candidates", "--route", "desk", "--json"))
        assert {one["answer"] for one in found} == said
        approved = found[0]["exchange"]
        goldens("approve", approved, "--by", "ann", "--note", "right")
        goldens("approve", "--sample", "2", "--spread", "--yes", "--by", "bob")
        listed = running.get("/api/goldens")["goldens"]
        assert len(listed) == 3
        (golden,) = [one for one in listed if one["id"] == approved]
        assert (golden["approved_by"], golden["note"], golden["prompt_version"]) == ("ann", "right", "p7")
        assert golden["answer"]["text"] == found[0]["answer"]
        assert golden["request"]["model"] == "simulated-1"
        assert "path" not in golden  # the one that goes without saying: the route's prefix is no part of it
        page = running.page(f"/goldens/{approved}")
        assert "approved by ann" in page
        text = goldens("export")
    stored = GoldenStore(SqliteDocuments(Database(tmp_path / "data" / DATABASE_FILE))).select()
    assert read_goldens(text.splitlines(), "export") == tuple(reversed(stored))
    assert KEY not in text
    assert not any(KEY.encode() in file.read_bytes() for file in (tmp_path / "data").iterdir())
