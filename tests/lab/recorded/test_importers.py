"""Recorded answers read from files: every format, and what is wrong with a line or a file."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest

from evenkeel.lab.recorded.importers import FORMATS, RecordingError, import_files
from evenkeel.release.kit.arguments import InputError
from evenkeel.simulate.model import PromptMessage


def lines(*rows):
    """JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(*rows):
    """A CSV table with the first row's names as its header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


STABILITY = {"model": "m", "temperature": 0.0, "task": "math", "gt": "(A)"}
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1 + 1?"}]
EXAMPLES = {
    "evenkeel": lines(
        {"prompt": "1 + 1?", "model": "m", "answers": ["2", "Two"], "temperature": 0.7, "task": "math"}
    ),
    "llm_stability": lines(
        {**STABILITY, "condition": "0", "run": 0, "qid": "7", "response": "2", "prompt": ASKED},
        {**STABILITY, "condition": "0", "run": 1, "qid": "7", "response": "Two"},
    ),
    "llm_drift": table(
        {
            "model": "vendor/m",
            "temperature": "0.1",
            "dataset": "math",
            "id": "0",
            "query": "1 + 1?",
            "answer": "2,\n2",
        }
    ),
    "pbss": table(
        {
            "origin": "math",
            "variant_id": "1",
            "model": "m",
            "temperature": "1.3",
            "prompt": "1 + 1?",
            "output": "2",
        }
    ),
}


@pytest.fixture
def file(tmp_path):
    """Write a file and give its path."""

    def written(content, name="answers.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("gzipped", [False, True])
def test_a_format_is_recognised_by_its_content(file, form, gzipped):
    """No name decides: files are known, plain or gzipped, and with the format stated as well."""
    content = EXAMPLES[form].encode()
    path = file(gzip.compress(content) if gzipped else content, "data")
    recordings, skipped = import_files([path])
    assert skipped == []
    assert {recording.version for recording in recordings} == {"m"}
    assert {recording.task for recording in recordings} == {"math"}
    assert {recording.messages[-1] for recording in recordings} == {PromptMessage("user", "1 + 1?")}
    assert recordings[0].samples[0].text.startswith("2")
    assert import_files([path], form=form).recordings == recordings


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "is not JSON"),
        ("[1]", "is not a JSON object"),
        ('{"model": "m", "answer": "2"}', "prompt or messages is missing"),
        ('{"prompt": "p", "answer": "2"}', "version or model is missing"),
        ('{"prompt": "p", "model": "m"}', "answer or answers is missing"),
        ('{"prompt": "p", "model": "m", "answer": 2}', "answer: Input should be a valid string"),
        (
            '{"messages": [{"content": "p"}], "model": "m", "answer": "2"}',
            "messages[0] must be an object with a role",
        ),
    ],
)
def test_a_broken_line_is_skipped_and_said(file, line, reason):
    """The others are read; the note says file, line and what is wrong."""
    path = file(EXAMPLES["evenkeel"] + line + "\n" + EXAMPLES["evenkeel"])
    recordings, (skipped,) = import_files([path])
    assert len(recordings) == 2
    assert str(skipped).startswith(f"{path}:2: {reason}")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("name,age\nx,1\n", {}, "no known format of recorded answers; it begins 'name,age"),
        ("", {}, "no known format"),
        (b"\x1f\x8b\x08broken", {}, "gzip"),
        (b"prompt\xff", {}, "is not UTF-8 (byte 6)"),
        ("name,age\nx,1\n", {"form": "llm_drift"}, ":1: the header lacks model, query, answer"),
        ('{"prompt": "", "model": "m", "answer": "2"}\n', {}, ":1: prompt or messages is missing"),
    ],
)
def test_a_file_that_cannot_be_served_is_an_error(file, content, options, message):
    """The message says which file, what is wrong with it, and where."""
    path = file(content)
    with pytest.raises(InputError) as caught:
        import_files([path], **options)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_folder_is_read_with_its_folders(file, tmp_path):
    """Files of other kinds are left alone; those of no known format are skipped and said."""
    (tmp_path / "deep").mkdir()
    file(EXAMPLES["pbss"], "deep/results.csv")
    file(gzip.compress(EXAMPLES["evenkeel"].encode()), "answers.jsonl.gz")
    file("Do what you want.", "LICENSE")
    file("{}", "other.json")
    recordings, (skipped,) = import_files([tmp_path])
    assert len(recordings) == 2
    assert str(skipped) == f"{tmp_path / 'other.json'}: no known format"
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordingError, match=r"no \.json"):
        import_files([tmp_path / "empty"])
