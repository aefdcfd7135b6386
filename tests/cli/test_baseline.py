"""`evenkeel baseline`: shows what would be approved, and writes it into the log."""

import json
import re

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.monitor.monitor import Monitor
from evenkeel.stores.audit_log import ActionLog
from evenkeel.stores.monitor_state import MonitorStore
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT


@pytest.fixture
def database(tmp_path):
    """A store with 40 trials of one cell, a quarter of them shifted, and 3 of another; folded."""
    opened = Database(tmp_path / DATABASE_FILE)
    log = SqliteVerdictLog(opened)
    for number in range(40):
        rating = 2 if number % 4 == 3 else 3
        log.append(altered(VERDICT, id=f"v{number}", exchange_id=f"e{number}", rating=rating), None)
        if number < 3:
            log.append(altered(VERDICT, id=f"w{number}", exchange_id=f"e{number}", perturbation="a.b"), None)
    Monitor(log, MonitorStore(SqliteDocuments(opened))).step()
    yield opened
    opened.close()


def run(database, *arguments, **options):
    folder = ("--data-dir", str(database.path.parent))
    return CliRunner().invoke(main, ["baseline", *arguments, *folder], **options)


def test_a_route_is_approved_and_the_monitor_takes_it_up(database):
    """The figures are shown, then asked about; those with too few trials are named and left."""
    done = run(
        database, "approve", "--route", VERDICT.route, "--by", "ann", "--note", "as agreed", input="y\n"
    )
    assert done.exit_code == 0, done.output
    assert "25.0%" in done.output
    assert "too few trials since the last change, left as they are: a.b" in done.output
    (approved,) = SqliteVerdictLog(database).approvals()
    assert (approved.by, approved.note) == ("ann", "as agreed")
    assert f"approved as {approved.id}" in done.output
    monitor = Monitor(SqliteVerdictLog(database), MonitorStore(SqliteDocuments(database)))
    assert monitor.step() == 1
    drift = {report.key.perturbation: report.detection.drift for report in monitor.reports()}
    assert drift["a.b"] is None
    assert (drift[VERDICT.perturbation].baseline, drift[VERDICT.perturbation].provisional) == (0.25, False)
    (action,) = ActionLog(SqliteDocuments(database)).latest(5)
    assert (action.by, action.known_by, action.subject) == ("ann", "command", VERDICT.route)
    listed = run(database, "list")
    assert "as agreed" in listed.output
    (row,) = json.loads(run(database, "list", "--json").output)
    assert (row["id"], row["cells"][0]["n"]) == (approved.id, 40)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--route", "nowhere"), "no scored trials of nowhere"),
        (("--route", VERDICT.route, "--perturbation", "a.b"), "need 30 trials .* have 3 at most"),
    ],
)
def test_what_cannot_be_approved_is_explained(database, arguments, said):
    """A route without trials, and cells with too few."""
    done = run(database, "approve", *arguments, "--by", "ann", "--yes")
    assert done.exit_code == 2
    assert re.search(said, done.output.replace("\n", " "))


LISTS = ("baseline list", "goldens list", "goldens candidates", "goldens export", "changes list")


@pytest.mark.parametrize("command", [*LISTS, "changes forget-references --by ann"])
def test_an_empty_list_of_a_misspelt_route_says_which_there_are(database, command):
    folder = str(database.path.parent)
    done = CliRunner().invoke(main, [*command.split(), "--route", "chta", "--data-dir", folder])
    assert done.stderr.startswith(f"note: no route 'chta' is known to {database.path}; it has chat\n")
