"""Goldens in files: what a person may write, what comes back, and every error."""

import gzip
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.errors import UserError
from evenkeel.core.pair import Answer, ToolCall
from evenkeel.release.goldens.files import default_id, golden_lines, load_goldens, read_goldens, request_text
from evenkeel.release.kit import arguments
from evenkeel.stores.goldens import Golden

CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))


def one(line):
    (golden,) = read_goldens([line if isinstance(line, str) else json.dumps(line)], "g.jsonl")
    return golden


def test_an_answer_is_all_that_a_line_needs():
    """Everything else has a default; the id follows from the content."""
    golden = one('{"answer": "Four days."}')
    assert golden == Golden(id=default_id(None, Answer("Four days.")), answer=Answer("Four days."))
    assert len(golden.id) == 16
    assert one('{"answer": "Five days."}').id != golden.id
    assert one('{"prompt": "How long?", "answer": "Four days."}').id != golden.id


def test_the_default_id_does_not_change_between_versions_of_the_program():
    """A file without ids that is imported again next year is the same goldens."""
    assert default_id('{"messages":[]}', Answer("Yes.", (ToolCall("f", "{}"),))) == "cdff7b7bb87e2b00"


@pytest.mark.parametrize(("line", "body"), CASES["requests"])
def test_a_request_is_a_body_messages_or_a_prompt(line, body):
    """Each is turned into the body that its API takes."""
    golden = one({**line, "answer": "x"})
    assert (golden.request and json.loads(golden.request)) == body


@pytest.mark.parametrize(("answer", "said"), CASES["answers"])
def test_an_answer_is_text_or_calls_or_a_whole_response(answer, said):
    """Responses of each API are taken as they are; the model is theirs unless the line says otherwise."""
    calls = tuple(ToolCall(*call) for call in said.get("tool_calls", ()))
    expected = Answer(**{**said, "tool_calls": calls})
    golden = one({"answer": answer})
    assert golden.answer == expected
    assert golden.model == expected.model
    assert one({"answer": answer, "model": "mine"}).model == "mine"
    assert one({"answer": answer, "model": None}).model is None


@pytest.mark.parametrize(("written", "seconds"), CASES["times"])
def test_times_are_iso_or_unix(written, seconds):
    """Times without an offset are UTC."""
    golden = one({"answer": "x", "approved_at": written, "retired_at": written})
    assert (golden.approved_at, golden.retired_at) == (seconds, seconds)


def test_blank_lines_byte_order_mark_and_line_ends_say_nothing():
    """Editors on other systems leave them so."""
    lines = ['\ufeff{"answer": "a"}\r\n', "\r\n", "  \n", ' {"answer": "b"} \r\n', ""]
    assert [golden.answer.text for golden in read_goldens(lines, "f")] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *CASES["faults"],
        pytest.param("[" * 100_000, "is not JSON (maximum recursion depth", id="deep"),
        pytest.param(json.dumps({"answer": "x", "id": "y" * 201}), 'field "id": is not a name', id="long"),
    ],
)
def test_an_error_names_file_line_and_field(line, said):
    """The message says what to do; nothing of the file is read by halves."""
    with pytest.raises(UserError) as caught:
        read_goldens(["", line], "dir/g.jsonl")
    assert str(caught.value).startswith("dir/g.jsonl, line 2")
    assert said in str(caught.value)


def test_files_are_read_compressed_or_not(tmp_path):
    """Content decides, whatever they are called."""
    text = '\ufeff{"answer": "Größe"}\r\n'.encode()
    plain, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    assert load_goldens(plain) == load_goldens(packed)
    assert load_goldens(plain)[0].answer.text == "Größe"


def test_a_compressed_file_may_not_unpack_to_more_than_its_limit(tmp_path, monkeypatch):
    """A megabyte of one letter takes a kilobyte; the message names the limit and what to do."""
    monkeypatch.setattr(arguments, "LARGEST_UNPACKED_BYTES", 1 << 20)
    file = tmp_path / "g.jsonl.gz"
    around = len('{"answer": ""}')
    for size_bytes, fits in ((1 << 20, True), ((1 << 20) + 1, False)):
        file.write_bytes(gzip.compress(b'{"answer": "%b"}' % (b"x" * (size_bytes - around))))
        if fits:
            assert load_goldens(file)
        else:
            with pytest.raises(UserError, match="more than 1 MiB; split it into smaller files"):
                load_goldens(file)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "cannot be read: No such file"),
        (b"\n\n", "holds no goldens"),
        (b'{"answer": "\xff"}', "is not UTF-8 (byte 12)"),
        (gzip.compress(b'{"answer": "x"}', mtime=0)[:-9], "is not a complete gzip file"),
        (b"\x1f\x8bnothing", "is not a complete gzip file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, data, said):
    """The message says what is wrong with it."""
    file = tmp_path / "g.jsonl.gz"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(UserError) as caught:
        load_goldens(file)
    assert str(caught.value).startswith(str(file))
    assert said in str(caught.value)


def test_lines_are_readable_and_stay_one_line_in_any_editor():
    """Text is not escaped, but for what some readers take for the end of a line, and what has no UTF-8."""
    (line,) = golden_lines([Golden(id="a", answer=Answer("Grüße\u2028日本\x85"))])
    assert "Grüße\\u2028日本\\u0085" in line
    assert line.splitlines() == [line]
    (line,) = golden_lines([Golden(id="a", answer=Answer("é \ud83d"))])
    assert line.isascii()


def test_headers_that_a_request_needs_go_with_it():
    """A request of a beta keeps the beta's name in a file; any other header is an error."""
    request = '{"messages": [{"role": "user", "content": "Hi"}]}'
    kept = Golden(id="a", request=request, headers=(("anthropic-beta", "files-1"),), answer=Answer("x"))
    (line,) = golden_lines([kept])
    assert read_goldens([line], "g")[0].headers == kept.headers
    with pytest.raises(UserError, match='"headers": holds "cookie"'):
        read_goldens([line.replace("anthropic-beta", "cookie")], "g")


words = st.text(st.characters(), max_size=12)
names = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=20).filter(
    lambda text: text.strip() and text not in {".", ".."}
)
optional = st.none() | words.filter(bool)
moments = st.none() | st.floats(0, 4e9)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
requests = st.none() | st.builds(
    lambda messages, rest: request_text({**rest, "messages": messages}),
    st.lists(st.dictionaries(words, json_values, max_size=3), min_size=1, max_size=3),
    st.dictionaries(words, json_values, max_size=3),
)
answers = st.builds(
    Answer,
    words,
    st.lists(st.builds(ToolCall, words, words), max_size=2).map(tuple),
    optional,
    optional,
    optional,
    st.none() | st.integers(0, 10**6),
    st.none() | st.integers(0, 10**6),
).filter(lambda answer: answer.text or answer.tool_calls)
goldens = st.builds(
    Golden,
    id=names,
    version=st.integers(1, 10**6),
    route=words.filter(bool),
    path=st.sampled_from(["/v1/chat/completions", "/v1/messages", "/x/chat/completions?v=1"]),
    request=requests,
    answer=answers,
    task=optional,
    model=optional,
    prompt_version=optional,
    approved_by=words,
    approved_at=moments,
    note=words,
    retired_by=optional,
    retired_at=moments,
)


@given(st.lists(goldens, max_size=3, unique_by=lambda golden: (golden.id, golden.version)))
def test_what_is_written_is_read_back_the_same(made):
    """Any text comes back, half a surrogate pair included, and however the lines are split."""
    lines = list(golden_lines(made))
    assert read_goldens(lines, "f") == tuple(made)
    assert read_goldens("\n".join(lines).splitlines(), "f") == tuple(made)


def test_lines_of_worfbench_are_read_as_they_are_published():
    """The last turn of a conversation is the answer; a line with `gold_text` has its task as the prompt."""
    plan = "Node:\n1: Fill the kettle\n2: Boil it\nEdge: (START,1) (1,2) (2,END)"
    turns = [{"role": "user", "content": "Tea"}, {"role": "assistant", "content": plan}]
    rows = [
        {"source": "os", "conversations": turns},
        {"source": "os", "id": "os_1", "task": "Tea", "nodes": ["a"], "edges": [[0, 1]], "gold_text": plan},
    ]
    lines = [json.dumps(row) for row in rows]
    first, second = read_goldens(lines, "worfbench.jsonl")
    assert first.answer.text == second.answer.text
    assert first.answer.text.startswith("Node:")
    assert first.request == second.request
    assert (first.task, second.task, second.id) == ("workflow", "workflow", "os-os_1")


DATASETS = yaml.safe_load((Path(__file__).parents[1] / "datasets.yaml").read_text("utf-8"))


@pytest.mark.parametrize(("name", "content", "questions", "expected"), [row for row in DATASETS if row[3]])
def test_datasets_of_other_tools_are_goldens_with_the_expected_answer(
    tmp_path, name, content, questions, expected
):
    """The readers of the check, with the prompt as the request."""
    path = tmp_path / name
    path.write_text(content)
    goldens = load_goldens(path)
    assert [golden.answer.text for golden in goldens] == expected
    assert all(question in golden.request for question, golden in zip(questions, goldens, strict=True))
