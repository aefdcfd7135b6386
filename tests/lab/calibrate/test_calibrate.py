"""`evenkeel calibrate` from the command line: its files, its errors, and a run that goes on where it was."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.lab.calibrate.calibration import BertModel, FailureMode
from evenkeel.release.goldens.files import load_goldens
from evenkeel.stores.goldens import GoldenStore
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.lab.calibrate.planted_goldens import calibration_in, write_goldens

QUICK = ["--no-embeddings", "--processes", "1", "--resamples", "50"]


def run(*arguments, exit_code=0, **options):
    done = CliRunner().invoke(main, ["calibrate", *map(str, arguments)], **options)
    assert done.exit_code == exit_code, done.output
    return done.output


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
    assert page.count("<svg") >= 7
    for name in ("calibration.yaml", "calibration.html", "calibration-scores.jsonl"):
        assert f"wrote {folder / name}" in shown
    assert "24 workflows" in shown


def test_the_same_command_again_scores_nothing_and_gives_the_same_bytes(calibrated):
    """Everything comes out of the journal, processing times included."""
    folder, _ = calibrated
    names = ("calibration.yaml", "calibration-scores.jsonl")
    before = {name: (folder / name).read_bytes() for name in names}
    lines = (folder / "calibration-journal.jsonl").read_bytes()
    shown = run(folder / "goldens.jsonl", "--out", folder, *QUICK)
    assert "scores were in the journal already" in shown
    assert (folder / "calibration-journal.jsonl").read_bytes() == lines
    assert {name: (folder / name).read_bytes() for name in names} == before


def children_of(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks processes up in /proc")
def test_a_killed_run_goes_on_without_repeating_a_score_and_leaves_no_process(tmp_path):
    """Kill -9 in the middle: its processes end, what was scored is kept, the torn line is dropped."""
    goldens = write_goldens(tmp_path / "goldens.jsonl", 30)
    journal = tmp_path / "calibration-journal.jsonl"
    command = [str(goldens), "--out", str(tmp_path), "--no-embeddings", "--resamples", "50"]
    process = subprocess.Popen(
        [sys.executable, "-m", "evenkeel", "calibrate", *command, "--processes", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 240
        while not journal.exists() or journal.read_bytes().count(b"\n") < 100:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        workers = children_of(process.pid)
        assert len(workers) >= 2
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(240)
    deadline = time.monotonic() + 240
    while any(alive(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    begun = journal.read_bytes()
    assert 100 <= begun.count(b"\n") < 30 * 18
    with journal.open("ab") as file:
        file.write(b'{"golden": "g0')  # as a process that dies while it writes leaves it
    shown = run(*command, "--processes", "1")
    assert "scores were in the journal already" in shown
    assert journal.read_bytes().startswith(begun)
    rows = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    scored = Counter(
        (row["golden"], row["mode"], row["severity"], name) for row in rows for name in row.get("scores", {})
    )
    assert set(scored.values()) == {1}
    assert len({row["golden"] for row in rows}) == 30


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
    shown = run(path, "--out", tmp_path, *QUICK, exit_code=2)
    assert "was begun with or without --published" in " ".join(shown.split())


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
    journal = (tmp_path / "calibration-journal.jsonl").read_text()
    assert '"workflow_bert_score@1:all-MiniLM-L6-v2 at layer 6"' in journal
    shown = run(path, "--out", tmp_path / "out", *options, "--bert-rescale", exit_code=2)
    assert "no baseline is known for the packaged model at layer 6" in " ".join(shown.split())


@pytest.mark.service("sentence_transformers")
def test_with_an_encoder_the_calibration_names_it(tmp_path):
    """Steps are aligned by MiniLM."""
    path = write_goldens(tmp_path / "goldens.jsonl", 2)
    options = ["--out", tmp_path, "--processes", "1", "--resamples", "50", "--metrics", "workflow_chain_f1"]
    run(path, *options)
    found = calibration_in(tmp_path)
    assert found.encoder == "all-MiniLM-L6-v2"


def test_a_few_goldens_give_sensitivities_but_no_threshold(tmp_path):
    """Two are enough to start with; what is missing is said."""
    path = write_goldens(tmp_path / "goldens.jsonl", 2)
    shown = run(path, "--out", tmp_path, *QUICK)
    assert "none: too few goldens" in shown


ANSWERLESS = '{"id": "a", "answer": {"text": "", "tool_calls": [{"name": "f", "arguments": "{}"}]}}\n'


@pytest.mark.parametrize(
    ("lines", "arguments", "message"),
    [
        ("", [], "holds no goldens"),
        ('{"id": "a", "answer": "One sentence. Another one."}\n', [], "0 of 1 goldens are workflows"),
        (
            ANSWERLESS + ANSWERLESS.replace('"a"', '"b"'),
            [],
            "0 of 2 goldens are workflows; a threshold needs",
        ),
        (None, ["--metrics", "rogue_l"], "no metric 'rogue_l'; did you mean rouge_l"),
        (None, ["--route", "support"], "--route chooses among the goldens of the store"),
        (None, ["--from-store"], "give either a file of goldens or --from-store, not both"),
        (None, ["--encoder", "m", "--no-embeddings"], "contradict each other"),
        (None, ["--judge-model", "m", "--price", "cheap"], '--price: "cheap" is not a price'),
        (None, ["--metrics", "embeddings"], "embeddings cannot be measured on workflows"),
        (None, ["--metrics", "language_match"], "language_match cannot be measured on workflows"),
        (None, ["--metrics", "workflow_judge"], "workflow_judge needs a judge: name one with --judge-model"),
        (None, ["--modes", "missing,lost"], '--modes: "lost" is none of missing, compressed, reworded'),
        (None, ["--modes", ","], "--modes: is empty; give some of missing"),
        (None, ["--metrics", "tool_names"], "no metric tells the degraded answers apart"),
    ],
)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--seed", "2"], "was begun with --seed 0; delete it or choose another --journal"),
        ("goldens", "belongs to other goldens; delete it or choose another --journal"),
        ("garbage", "is not the journal of a calibration; choose another --journal"),
        ("line", "line 3: is not the journal of a calibration; choose another --journal"),
        ("version", "another version of the degradations; delete it or choose another --journal"),
        ("schema", "was written by another version of evenkeel (schema 99); delete it"),
    ],
)
def test_a_journal_of_another_run_is_not_mixed_in(tmp_path, change, message):
    """Scores of other candidates would be taken for these."""
    path = write_goldens(tmp_path / "goldens.jsonl", 2)
    journal = tmp_path / "calibration-journal.jsonl"
    run(path, "--out", tmp_path, *QUICK)
    lines = journal.read_text().splitlines(keepends=True)
    head = json.loads(lines[0])
    if change == "goldens":
        write_goldens(path, 2, seed=5)
    elif change == "garbage":
        lines[0] = "hello\n"
    elif change == "line":
        lines[2] = '{"golden": "g000"}\n'
    elif change == "version":
        head["degradations"] = dict.fromkeys(head["degradations"], 99)
    elif change == "schema":
        head["calibration_journal"] = 99
    if change in ("version", "schema"):
        lines[0] = json.dumps(head) + "\n"
    journal.write_text("".join(lines))
    more = change if isinstance(change, list) else []
    shown = run(path, "--out", tmp_path, *QUICK, *more, exit_code=2)
    assert message in " ".join(shown.split())


def test_approved_exchanges_of_the_store_are_goldens(tmp_path):
    """Those of the route that are not retired, in their newest version."""
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
