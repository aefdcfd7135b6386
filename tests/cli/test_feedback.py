"""`evenkeel feedback`, and the audit that reads what it writes."""

import json

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Evidence, QualityScore
from evenkeel.stores.labels import LabelStatement, LabelStore, label_of
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.kit.commands import run_command
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

BASE = altered(VERDICT, route="desk", details={"decided_by": 2.0}, judge_model="j-1")
TEXTS = Evidence("How long?", "How lnog?", Answer("Four days."), Answer("It takes five days."))
JUDGE = (3, 3, 3, 2, 2, 1, 1, 3, 2, 1)
PEOPLE = (3, 3, 2, 2, 2, 1, 1, 3, 1, 1)


def verdict(number, **changes):
    return altered(BASE, id=f"v{number}", exchange_id=f"x{number}", rating=JUDGE[number], **changes)


@pytest.fixture
def folder(tmp_path):
    """Ten verdicts that ann and bob have labelled alike; bob leaves out the last one."""
    database = Database(tmp_path / "evenkeel.db")
    log, store = SqliteVerdictLog(database), LabelStore(SqliteDocuments(database))
    for number, rating in enumerate(PEOPLE):
        given = verdict(number, quality=(QualityScore("f", 1, 3, 1),) if JUDGE[number] < 3 else ())
        log.append(given, TEXTS)
        for by in ("ann", "bob")[: 1 if number == 9 else 2]:
            said = LabelStatement(by, rating, "worse" if rating < 3 else "equal", drawn=number < 4)
            store.put(label_of(given, said, at=float(number)), TEXTS)
    database.close()
    return tmp_path


def run(*arguments):
    result = run_command(*arguments)
    return result.stdout or result.stderr


def test_an_export_is_what_the_audit_reads(folder, tmp_path):
    """Judge and people agree in the audit as they do in the labels: on 8 of 10 verdicts.

    One of the two differences is 3 against 2, the other 2 against 1, so alpha is high and not 1.
    """
    people, judge = (tmp_path / name for name in ("labels.jsonl.gz", "judge.jsonl"))
    said = run("feedback", "export", "--data-dir", folder, "-o", people, "--recorded", judge)
    assert "20 rows in " in said
    audit = json.loads(run("judge-audit", people, "--recorded", judge, "--json", "--resamples", "50"))
    metrics = {metric["metric"]: metric for metric in audit["ratings"]["metrics"]}
    assert set(metrics) == {"similarity", "quality_change"}
    similarity = metrics["similarity"]
    assert (similarity["items"], similarity["raters"]) == (10, 2)
    assert similarity["people"]["value"] == 1.0
    (strategy,) = similarity["strategies"]
    assert strategy["strategy"] == "knowledge"
    assert 0.7 < strategy["plain"]["with_mode"]["value"] < 1.0


def test_an_export_to_the_console_is_only_rows(folder):
    """The rows of a judge can be piped."""
    lines = run("feedback", "export", "--data-dir", folder, "--judge", "j-1").splitlines()
    assert len(lines) == 20
    assert json.loads(lines[0])["ratings"] == {"ann": 3, "bob": 3}


def test_what_cannot_be_exported_is_said(folder, tmp_path):
    """Refusals name missing labels, no judge, several judges, and a folder that is not there."""
    store = LabelStore(SqliteDocuments(Database(folder / "evenkeel.db")))
    cheap = altered(BASE, id="c", exchange_id="c", scorer="metrics", judge_model="")
    store.put(label_of(cheap, LabelStatement("ann", 3), at=1.0), None)

    def refused(*arguments):
        result = CliRunner().invoke(main, ["feedback", "export", "--data-dir", str(folder), *arguments])
        assert result.exit_code != 0
        return result.output

    recorded = str(tmp_path / "j.jsonl")
    assert "no matching ratings" in refused("--route", "none")
    assert "no judge decided" in refused("--judge", "", "--recorded", recorded)
    store.put(label_of(altered(BASE, judge_model="j-2"), LabelStatement("ann", 3), at=1.0), None)
    assert "several judges (j-1, j-2)" in refused("--recorded", recorded)
    assert "No such file" in refused("-o", str(tmp_path / "none" / "x.jsonl"))
