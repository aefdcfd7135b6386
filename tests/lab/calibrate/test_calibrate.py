"""`evenkeel calibrate` from the command line: its files and its errors."""

import json
import re
from statistics import fmean

import pytest

from evenkeel.lab.calibrate.calibration import BertModel, FailureMode
from evenkeel.release.goldens.files import load_goldens
from evenkeel.stores.goldens import GoldenStore
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.cases import cases
from tests.kit.commands import run_command
from tests.lab.calibrate.planted_goldens import calibration_in, write_goldens

CASES = cases(__file__)

QUICK = ["--no-embeddings", "--resamples", "50"]


def run(*arguments, exit_code=0, **options):
    return run_command("calibrate", *arguments, code=exit_code, **options).output


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """24 workflows, calibrated once: the folder and what was shown."""
    folder = tmp_path_factory.mktemp("calibrated")
    goldens = write_goldens(folder / "goldens.jsonl", 24)
    return folder, run(goldens, "--out", folder, *QUICK)


def test_goldens_become_a_calibration_that_flags_what_lost_its_steps(calibrated):
    """The threshold for missing steps lies between the mean scores of 10 and of 50 % missing."""
    folder, _ = calibrated
    found = calibration_in(folder)
    assert (found.encoder, found.goldens.count) == (None, 24)
    assert {result.mode for result in found.modes} == set(FailureMode)
    primary = found.of(FailureMode.MISSING).primary
    assert primary.metric == "workflow_chain_f1"
    rows = [json.loads(line) for line in (folder / "calibration-scores.jsonl").read_text().splitlines()[1:]]
    scores = {
        severity: fmean(
            row["scores"][primary.metric]
            for row in rows
            if row["mode"] == "missing" and row["severity"] == severity
        )
        for severity in (0.1, 0.5)
    }
    assert scores[0.5] < primary.threshold.value <= scores[0.1]


def test_the_files_hold_what_was_shown(calibrated):
    """Scores that can be read again, a page with plots and a line for each file."""
    folder, shown = calibrated
    head, *rows = map(json.loads, (folder / "calibration-scores.jsonl").read_text().splitlines())
    assert len({row["golden"] for row in rows}) == 24
    assert len({(row["mode"], row["severity"]) for row in rows}) == 18
    assert all(facts["time_ms"] > 0 and facts["cost_usd"] == 0 for facts in head["metrics"])
    page = (folder / "calibration.html").read_text()
    assert "Missing steps" in page
    assert page.count("<svg") == 6
    for name in ("calibration.yaml", "calibration.html", "calibration-scores.jsonl"):
        assert f"wrote {folder / name}" in shown
    assert "24 workflows" in shown


def test_the_published_tables_stand_beside_the_same_damage_to_other_goldens(tmp_path):
    """Table 2 has the F1 of n steps without the last ⌈n · severity⌉, k of them: 2(n − k) / (2n − k)."""
    path = write_goldens(tmp_path / "goldens.jsonl", 12)
    shown = run(path, "--out", tmp_path, *QUICK, "--published")
    sizes = [len(golden.answer.text.splitlines()) for golden in load_goldens(path)]
    lost = [[max(1, -(-size * tenths // 10)) for size in sizes] for tenths in (1, 3, 5)]
    means = [
        fmean(2 * (size - k) / (2 * size - k) for size, k in zip(sizes, each, strict=True)) for each in lost
    ]
    table = shown[shown.index("Table 2: missing steps") : shown.index("Table 3: compressed steps")]
    for name in ("Graph F1", "Chain F1"):
        (row,) = [line for line in table.splitlines() if re.match(f"│ {name} +│", line)]
        _, _, paper, measured, _ = row.split("│")
        assert paper.split(" / ")[0].startswith(" 0.90 ± ")
        assert [part.split()[0] for part in measured.split(" / ")] == [f"{mean:.2f}" for mean in means]
    assert re.search(r"LLM-as-Judge +│ 0.64 ± 0.21 / .* │ – +│", table)
    assert re.search(r"Graph F1 +│ 0.72 / 1.04 / 0.29 +│ \d.\d\d / \d.\d\d / \d.\d\d", shown)
    assert "Table 4: description changes" in (tmp_path / "calibration.html").read_text()


@pytest.mark.service("sentence_transformers")
def test_bert_score_may_have_a_model_and_layer_of_its_own(tmp_path):
    """The calibration says which, and no encoder is behind it."""
    path = write_goldens(tmp_path / "goldens.jsonl", 2)
    options = ["--modes", "missing", "--metrics", "workflow_bert_score", "--bert-layer", "6", *QUICK]
    run(path, "--out", tmp_path, *options)
    found = calibration_in(tmp_path)
    assert found.encoder is None
    assert found.bert_score == BertModel(layer=6)
    assert "workflow_bert_score" in {metric.name for metric in found.metrics}
    shown = run(path, "--out", tmp_path / "out", *options, "--bert-rescale", exit_code=2)
    assert "no baseline is known for the packaged model at layer 6" in " ".join(shown.split())


@pytest.mark.service("sentence_transformers")
def test_with_an_encoder_the_calibration_names_it(tmp_path):
    """Steps are aligned by MiniLM."""
    path = write_goldens(tmp_path / "goldens.jsonl", 2)
    options = ["--out", tmp_path, "--resamples", "50", "--metrics", "workflow_chain_f1"]
    run(path, *options)
    found = calibration_in(tmp_path)
    assert found.encoder == "all-MiniLM-L6-v2"


def test_a_few_goldens_give_the_same_scores_every_time_but_no_threshold(tmp_path):
    """Two are enough to start with; what is missing is said. Every choice follows from the seed."""
    path, scores = write_goldens(tmp_path / "goldens.jsonl", 2), []
    for _ in range(2):
        assert "none: too few goldens" in run(path, "--out", tmp_path, *QUICK)
        # The first line has the times that metrics took.
        scores.append((tmp_path / "calibration-scores.jsonl").read_text().splitlines()[1:])
    assert scores[0] == scores[1]


@pytest.mark.parametrize(("lines", "arguments", "message"), CASES["unusable"])
def test_what_cannot_be_used_is_one_line(tmp_path, lines, arguments, message):
    """Exit code 2, what is wrong and what to do."""
    path = tmp_path / "goldens.jsonl"
    if lines is None:
        write_goldens(path, 2)
    else:
        path.write_text(lines)
    shown = run(path, "--out", tmp_path / "out", *QUICK, *arguments, exit_code=2)
    assert message in shown
    assert "Traceback" not in shown


def test_approved_exchanges_of_the_store_are_goldens(tmp_path):
    """Goldens of the route that are not retired are taken, in their newest version."""
    database = Database(tmp_path / DATABASE_FILE)
    store = GoldenStore(SqliteDocuments(database))
    goldens = load_goldens(write_goldens(tmp_path / "goldens.jsonl", 6))
    for golden in goldens:
        store.approve(golden, by="ana", at=1.0)
    store.retire("g002", by="ana", at=2.0)
    database.close()
    shown = run("--from-store", "--route", "default", "--data-dir", tmp_path, "--out", tmp_path / "o", *QUICK)
    assert "5 workflows" in shown
    found = calibration_in(tmp_path / "o")
    assert found.goldens.source == "approved exchanges of route default"
    shown = run("--from-store", "--route", "other", "--data-dir", tmp_path, *QUICK, exit_code=2)
    assert "no goldens; approve some with `evenkeel goldens approve`" in shown
