"""`evenkeel goldens` on a store of its own."""

import gzip
import json
import re

import pytest

from evenkeel.core.pair import Answer
from evenkeel.release.goldens.files import load_goldens
from evenkeel.stores.archive import ExchangeArchive
from evenkeel.stores.audit_log import ActionLog
from evenkeel.stores.goldens import GoldenStore
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.cases import cases
from tests.kit.commands import run_command
from tests.kit.records import altered
from tests.stores.examples import ARCHIVED

CASES = cases(__file__)

QUESTIONS = (
    "May I send back the red kettle that I have used twice?",
    "May I send back the red kettle that I have used twice, please?",
    "How many days does delivery to an island take?",
    "Which lamp fits the reading desk of last spring?",
    "Who repairs a torn tent pole at the weekend?",
)


def exchange(number, question, **changes):
    given = {
        "id": f"{number:016x}",
        "request": json.dumps({"model": "m", "messages": [{"role": "user", "content": question}]}),
        "answer": Answer(f"Answer {number}.", model="m-1"),
        "model": "m-1",
        "prompt_version": "p1",
        "received_at": 1000.0 + number,
    }
    return altered(ARCHIVED, **given | changes)


@pytest.fixture
def folder(tmp_path):
    """A data folder with five archived exchanges of one route, one of another, and one that says nothing."""
    database = Database(tmp_path / "data" / DATABASE_FILE)
    archive = ExchangeArchive(SqliteDocuments(database))
    for number, question in enumerate(QUESTIONS, start=1):
        archive.put(exchange(number, question))
    archive.put(exchange(8, "Are you there?", answer=Answer("")))
    archive.put(exchange(9, "Bonjour ?", route="other", task=None))
    database.close()
    return tmp_path / "data"


@pytest.fixture
def run(folder, monkeypatch):
    """Runs a command on that folder as "ann"; gives what it printed."""
    monkeypatch.setenv("EVENKEEL_USER", "ann")

    def runner(*arguments, code=0, typed=None):
        result = run_command("goldens", *arguments, "--data-dir", str(folder), code=code, input=typed)
        return result.output

    return runner


@pytest.fixture
def store(folder):
    database = Database(folder / DATABASE_FILE)
    yield GoldenStore(SqliteDocuments(database))
    database.close()


def test_candidates_are_what_can_be_approved(run):
    """The newest first, without what says nothing, what was approved, and what says the same again."""

    def candidates(*arguments):
        rows = json.loads(run("candidates", "--json", *arguments))
        return [int(row["exchange"], 16) for row in rows]

    assert candidates() == [9, 5, 4, 3, 2, 1]
    row = json.loads(run("candidates", "--json"))[1]
    assert (row["prompt"], row["answer"]) == (f"user: {QUESTIONS[4]}", "Answer 5.")
    assert candidates("--route", "other") == [9]
    assert len(candidates("--task", "chat")) == 5
    run("approve", "0000000000000005", "--name", "tent")
    run("approve", "0000000000000004", "--name", "tent")
    assert candidates() == [9, 3, 2, 1]
    table = run("candidates", "--limit", "2")
    assert "0000000000000009" in table
    assert "0000000000000002" not in table
    assert "… and 2 more; --limit shows more of them" in table


def test_a_choice_may_be_of_one_model(run, store, folder):
    """The answers of the model before a swap can be approved, listed and exported apart."""
    database = Database(folder / DATABASE_FILE)
    ExchangeArchive(SqliteDocuments(database)).put(
        exchange(7, "Is the shop open on Sundays?", answer=Answer("Yes.", model="m-2"), model="m-2")
    )
    database.close()
    rows = json.loads(run("candidates", "--model", "m-2", "--json"))
    assert [int(row["exchange"], 16) for row in rows] == [7]
    assert run("approve", "--sample", "9", "--model", "m-2", "--yes").count("approved:") == 1
    run("approve", "0000000000000001")
    assert len(store.select()) == 2
    for command in (("export",), ("list", "--json")):
        assert "Is the shop open" in run(*command, "--model", "m-2")
        assert "Is the shop open" not in run(*command, "--model", "m-1")


def test_a_spread_is_shown_and_approved_on_confirmation(run, store):
    """Near-duplicates are left out, which is said; the same seed chooses the same."""
    choose = ("approve", "--route", "shop", "--sample", "5", "--spread", "--seed", "3")
    output = run(*choose, typed="n\n", code=1)
    assert "4 of 5 candidates; the others are nearly the same" in output
    assert "Approve these 4 answers as ann? [y/N]: n" in output
    assert "nothing approved" in output
    assert store.select() == ()
    assert output.count("approved:") == 0
    output = run(*choose, typed="y\n")
    assert output.count("approved:") == 4
    chosen = {int(golden.id, 16) for golden in store.select()}
    assert {3, 4, 5} < chosen
    assert len(chosen & {1, 2}) == 1


@pytest.mark.parametrize(("arguments", "said"), CASES["mistakes"])
def test_mistakes_are_explained(run, arguments, said):
    """The message is one line, the exit code 2."""
    assert said in run(*arguments, code=2)


def test_what_a_command_does_is_on_record_as_typed(run, store, folder, tmp_path):
    """The time is that of the golden itself, so that the two can be matched."""
    run("approve", "0000000000000001", "--name", "kettle")
    run("retire", "kettle", "--by", "bob")
    run("unretire", "kettle")
    file = tmp_path / "more.jsonl"
    file.write_text('{"id": "lamp", "prompt": "Which?", "answer": "This."}\n')
    run("import", str(file))
    run("import", str(file))  # known already: nothing is done
    database = Database(folder / DATABASE_FILE)
    found = ActionLog(SqliteDocuments(database)).latest(10)[::-1]
    database.close()
    assert [(action.by, action.known_by, action.what, action.subject) for action in found] == [
        ("ann", "command", "golden_approved", "kettle"),
        ("bob", "command", "golden_retired", "kettle"),
        ("ann", "command", "golden_unretired", "kettle"),
        ("ann", "command", "goldens_imported", "more.jsonl"),
    ]
    assert store.find("kettle").approved_at == found[0].at


def test_nobody_approves_in_no_name(run, monkeypatch):
    """USER stands in for EVENKEEL_USER; without both the command asks for --by."""
    monkeypatch.delenv("EVENKEEL_USER")
    monkeypatch.setenv("USER", "pat")
    run("approve", "0000000000000001")
    assert json.loads(run("list", "--json"))[0]["approved_by"] == "pat"
    monkeypatch.delenv("USER")
    assert "EVENKEEL_USER" in run("retire", "0000000000000001", code=2)


def test_the_list_is_narrowed(run):
    """Lists go by route, task and use; as a table or as JSON."""
    assert "No goldens" in run("list")
    run("approve", "0000000000000001", "--name", "kettle")
    run("approve", "0000000000000009")
    run("approve", "0000000000000003")
    assert run("retire", "0000000000000003") == "retired: 0000000000000003 version 1\n"

    def ids(*arguments):
        return [golden["id"] for golden in json.loads(run("list", "--json", *arguments))]

    assert ids() == ["0000000000000009", "kettle"]
    assert ids("--all") == ["0000000000000003", "0000000000000009", "kettle"]
    assert ids("--route", "other") == ["0000000000000009"]
    assert ids("--task", "chat") == ["kettle"]
    table = run("list", "--all")
    for word in ("kettle", "v1", "retired", "ann", "m-1", QUESTIONS[0]):
        assert word in table
    assert run("unretire", "0000000000000003") == "in use: 0000000000000003 version 1\n"
    assert len(ids()) == 3


def test_one_golden_is_shown_in_full(run):
    """Prompt, answer, and who approved and retired each version; any version of it."""
    run("approve", "0000000000000001", "--name", "kettle", "--note", "by the book")
    run("approve", "0000000000000003", "--name", "kettle", "--by", "bob")
    run("retire", "kettle")
    output = run("show", "kettle")
    for text in (
        "kettle   version 2 of 2   retired by ann",
        f"user: {QUESTIONS[2]}",
        "Answer 3.",
        "by ann   answered by m-1, prompt p1",
    ):
        assert text in output
    assert re.search(r"  2  approved .* by bob; retired .* by ann", output)
    assert "by the book" in run("show", "kettle", "--version", "1")
    assert "has no version 3; there are 1, 2" in run("show", "kettle", "--version", "3", code=2)
    record = json.loads(run("show", "kettle", "--json"))
    assert record["golden"]["version"] == 2
    assert [version["answer"]["text"] for version in record["versions"]] == ["Answer 1.", "Answer 3."]


def test_text_of_models_does_not_steer_the_terminal(run, tmp_path):
    """Escape sequences, overrides of direction and markup are shown, not obeyed."""
    file = tmp_path / "g.jsonl"
    file.write_text(
        json.dumps(
            {"id": "x", "prompt": "[red]q[/]\x1b[2J", "answer": "\u202ea\x07[bold]", "note": "\x1b[1m"}
        )
    )
    run("import", str(file))
    for output in (run("list"), run("show", "x")):
        assert not any(sign in output for sign in ("\x1b", "\x07", "\u202e"))
        assert "[red]q[/]\ufffd[2J" in output
        assert "[bold]" in output


def test_files_come_in_whole_or_not_at_all(run, store, tmp_path):
    """Over all files of one command; an error names file, line and field."""
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"id": "a", "prompt": "Q", "answer": "A", "approved_by": "zoe"}\n{"answer": "B"}\n')
    bad.write_text('{"id": "b", "answer": "B"}\n{"id": "c", "answr": "C"}\n')
    output = run("import", str(good), str(bad), code=2)
    assert f'{bad}, line 2, field "answr": is unknown; known are' in output
    assert store.select() == ()
    assert run("import", str(good)) == "2 imported, 0 known already\n"
    assert run("import", str(good), "--by", "bob") == "0 imported, 2 known already\n"
    assert {golden.approved_by for golden in store.select()} == {"zoe", "ann"}
    good.write_text('{"id": "a", "prompt": "Q", "answer": "another"}')
    assert 'write "version": 2 to replace it' in run("import", str(good), code=2)


def test_a_row_that_a_dataset_holds_twice_is_one_golden(run, tmp_path):
    """It is counted; the same id with another answer is refused, since nobody knows which is meant."""
    rows = tmp_path / "rows.csv"
    rows.write_text("input,expected\nHi,Hello\nBye,Goodbye\nHi,Hello\nHi,Good day\n")
    assert run("import", str(rows)) == "3 imported, 1 known already\n"
    doubles = run_command("gate", "--plan", "--noise", "0.04", rows).output
    assert "1 golden left out: written before in the same words" in doubles
    rows.write_text("id,input,expected\na,Hi,Hello\na,Hi,Good day\n")
    assert '"a" in version 1 says something else on row 1' in run("import", str(rows), code=2)


def test_what_is_exported_can_be_imported_elsewhere(run, store, tmp_path, monkeypatch):
    """The same goldens, with versions and retired ones if wanted, on standard output or in a file."""
    run("approve", "0000000000000001", "--name", "kettle")
    run("approve", "0000000000000003", "--name", "kettle")
    run("approve", "0000000000000004")
    run("approve", "0000000000000009", "--name", "größe")
    run("retire", "0000000000000004")
    plain, packed = tmp_path / "all.jsonl", tmp_path / "newest.jsonl.gz"
    plain.write_text(run("export", "--all", "--versions"), encoding="utf-8")
    run("export", "-o", str(packed))
    assert [golden.id for golden in load_goldens(packed)] == ["kettle", "größe"]
    assert packed.read_bytes()[:2] == b"\x1f\x8b"
    assert gzip.decompress(packed.read_bytes()).decode().count("\n") == 2
    assert run("export", "--route", "other").count("\n") == 1
    assert "nothing is written" in run("export", "--route", "otehr", "-o", str(packed), code=2)
    assert len(load_goldens(packed)) == 2
    assert "no/x.jsonl: cannot be written" in run("export", "-o", "no/x.jsonl", code=2)
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setenv("EVENKEEL_DATA_DIR", str(elsewhere))
    assert run_command("goldens", "import", plain).output == "4 imported, 0 known already\n"
    there = GoldenStore(SqliteDocuments(Database(elsewhere / DATABASE_FILE)))
    for golden in store.select(active=False):
        assert there.history(golden.id) == store.history(golden.id)
    assert len(there.select(active=False)) == 3
