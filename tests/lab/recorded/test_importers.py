"""Recorded answers read from files: every format, and what is wrong with a line or a file."""

import gzip

import pytest

from evenkeel.lab.recorded.importers import FORMATS, RecordingError, import_files
from evenkeel.release.kit.arguments import InputError
from evenkeel.simulate.model import PromptMessage
from tests.cases import cases

CASES = cases(__file__)


EXAMPLES = CASES["examples"]


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
    CASES["broken lines"],
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
