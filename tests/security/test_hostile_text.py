"""Text is text, the whole way: odd texts and JSON end as a verdict, a counted failure or a clear error."""

import asyncio
import contextlib
import json
import re

import httpx2
import pytest
from click.testing import CliRunner
from litestar.testing import TestClient
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from evenkeel.cli.main import main
from evenkeel.console import create_app
from evenkeel.core.approval import Approval, ApprovedCell
from evenkeel.core.cells import CellKey
from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Evidence
from evenkeel.metrics.judge.reply import read_ruling
from evenkeel.monitor.export import CellCollector
from evenkeel.monitor.notify import NoticeMessage
from evenkeel.monitor.notify.services import Webhook
from evenkeel.stores.archive import ExchangeArchive
from evenkeel.stores.audit_log import Action, ActionLog
from evenkeel.stores.goldens import Golden, GoldenStore
from evenkeel.stores.labels import LabelStatement, LabelStore, label_of
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.cases import cases
from tests.kit.cells import cell_report
from tests.kit.records import altered
from tests.security.desk import console_over
from tests.shadow.wild_plane import WildPlane
from tests.stores.examples import ARCHIVED, exchange, verdict

CASES = cases(__file__)

DIGITS = "9" * 5_000
DEEP = "[" * 100_000 + "]" * 100_000
VALUES = {
    "deep list": DEEP,
    "deep object": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "almost too deep": "[" * 900 + "]" * 900,
    "deep": "[" * 320 + "]" * 320,
    "5,000 digits": DIGITS,
    "400 digits": DIGITS[:400],
    "no number": "NaN",
    "huge exponent": "-1e999999",
    "twice": '{"a": 1, "a": 2}',
    "half a pair": '"\\ud800"',
    "steering": '"a\\u0000b\\u202egnp.exe\\u2066\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m"',
    "long": f'"{"x" * 5_000}"',
    "null": "null",
    "list": "[]",
    "object": "{}",
}
"""JSON texts that no client, model or judge should write."""

REQUESTS = CASES["requests"]
ANSWERS = CASES["responses"]
STREAMED = CASES["streamed"]
PLAIN_REQUESTS = CASES["plain_requests"]
PLAIN_ANSWERS = CASES["plain_responses"]


def filled(shape, place, value):
    """A shape with the value in one place and a usual one in the others."""
    head, *parts = shape.split("@")
    return head + "".join(
        (value if number == place else _usual(before)) + part
        for number, (before, part) in enumerate(zip([head, *parts], parts, strict=False))
    )


_USUAL = dict.fromkeys(
    ("index", "prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "seed"), "1"
) | {
    "max_tokens": "99",
    "max_output_tokens": "99",
    "temperature": "0.5",
    "role": '"user"',
    "arguments": '"{}"',
    "tools": "[]",
    "refusal": "null",
    "rating": '"3"',
    "quality": '"equal"',
    "drawn": "null",
    "withdraw": "null",
    "exchange": '"e1"',
}


def _usual(before):
    name = before.rpartition('"')[0].rpartition('"')[2]
    return _USUAL.get(name, '"usual"')


def everywhere(shape, value):
    """The value by itself, and the shape with the value in each of its places in turn."""
    return [value, *(filled(shape, place, value) for place in range(shape.count("@")))]


def exchanges(value):
    """Exchanges with the value in each place of each request and answer, whole and streamed."""
    sent = []
    for path, shape in REQUESTS.items():
        for body in everywhere(shape, value):
            sent.append((path, body, PLAIN_ANSWERS[path], "application/json"))
    for path, shape in ANSWERS.items():
        for body in everywhere(shape, value):
            sent.append((path, PLAIN_REQUESTS[path], body, "application/json"))
    path = "/v1/chat/completions"
    for event in everywhere(STREAMED, value):
        stream = f"data: {event}\n\ndata: [DONE]\n\n"
        sent.append((path, PLAIN_REQUESTS[path], stream, "text/event-stream"))
    return [
        exchange(
            number,
            route=f"quiet-{number}",
            path=path,
            request_body=request.encode(),
            response_headers=(("content-type", kind),),
            response_body=answer.encode(),
            task=None,
        )
        for number, (path, request, answer, kind) in enumerate(sent)
    ]


@pytest.mark.parametrize("name", VALUES)
def test_no_value_anywhere_in_an_exchange_breaks_the_worker(name, tmp_path):
    """Each place of each API, asked and answered, whole and streamed, comes to a counted end."""
    sent = exchanges(VALUES[name])
    plane = WildPlane(tmp_path, trials_per_exchange=1)
    try:
        asyncio.run(plane.work(sent))
        outcomes = plane.outcomes()
        lag = plane.queue.lag()
    finally:
        plane.close()
    assert not [outcome for outcome in outcomes if outcome.startswith("worker_errors")]
    assert "exchanges_dead too_many_attempts" not in outcomes
    ended = 0
    for outcome, number in outcomes.items():
        if outcome.startswith("exchanges_") and "archived" not in outcome:
            ended += number
    assert (ended, lag.waiting, lag.leased) == (len(sent), 0, 0)


@pytest.mark.parametrize("name", VALUES)
def test_no_value_anywhere_in_a_judges_reply_is_more_than_a_failure(name):
    """It stands for the reply, its rating, explanation or further fields, in a fence or not."""
    value = VALUES[name]
    for reply in (
        value,
        f"```json\n{value}\n```",
        f'{{"rating": {value}}}',
        f'{{"rating": 3, "explanation": {value}}}',
        f'{{"rating": 3, "initial_rating": {value}}}',
        f'{{"rating": 3, "findings": {value}}}',
    ):
        ruling = read_ruling(reply)
        json.dumps(ruling._asdict() if hasattr(ruling, "_asdict") else ruling.explanation).encode()


# --- the command line


STEERING = "x\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2066\x00\x08\x7f y"
STEERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)")
ROUTE = "desk"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store that tests read, and nobody writes."""
    return stored_in(tmp_path_factory.mktemp("steering"))


def stored_in(folder):
    """The folder, with steering text in its store wherever clients, models, judges and people can put it."""
    database = Database(folder / "evenkeel.db")
    log, documents = SqliteVerdictLog(database), SqliteDocuments(database)
    answer = Answer(STEERING, (ToolCall(STEERING, STEERING),), STEERING, STEERING)
    places = ("model", "explanation", "parameters", "prompt_version", "judge_model")
    everywhere = dict.fromkeys(places, STEERING)
    for number in range(10):
        entry = altered(verdict(number, id=f"v{number}", exchange_id=f"e{number}", route=ROUTE), **everywhere)
        log.append(entry, Evidence(STEERING, STEERING, answer, answer))
    texts = Evidence(STEERING, STEERING, answer, answer)
    LabelStore(documents).put(label_of(entry, LabelStatement("ann", rating=3, note=STEERING), at=2.0), texts)
    cell = ApprovedCell(STEERING, "general.spelling", 0.2, 0.1, 0.3, 9)
    log.note(Approval.of(ROUTE, [cell], by="ann", at=3.0, note=STEERING))
    request = json.dumps({"messages": [{"role": "user", "content": STEERING}]})
    golden = Golden(id="g1", route=ROUTE, request=request, answer=answer, note=STEERING, model=STEERING)
    GoldenStore(documents).approve(golden, by="ann", at=1.0)
    ActionLog(documents).record(Action(1.0, STEERING, "typed", "golden_approved", "g1", STEERING))
    archived = altered(ARCHIVED, route=ROUTE, request=request, answer=answer, model=STEERING)
    ExchangeArchive(SqliteDocuments(database)).put(archived)
    database.close()
    return folder


@pytest.mark.parametrize("command", CASES["reading"])
def test_no_stored_text_steers_the_terminal_of_a_command(command, folder):
    """Commands print no control and no override of the writing direction."""
    words = [word.format(out=folder / "reports") for word in command.split()]
    done = CliRunner().invoke(main, [*words, "--data-dir", str(folder)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.output.strip()
    assert not STEERS.search(done.output), STEERS.findall(done.output)


@pytest.mark.parametrize(
    "name", ["deep list", "deep object", "5,000 digits", "half a pair", "no number", "twice"]
)
@pytest.mark.parametrize("command", CASES["commands"])
def test_odd_json_in_a_file_is_an_error_in_one_line(command, name, tmp_path):
    """Never a traceback: the command says what is wrong with which file."""
    file, array = tmp_path / "file.jsonl", tmp_path / "file.json"
    odd = VALUES[name]
    line = f'{{"reference": {odd}, "candidate": "x", "prompt": {odd}, "answer": {odd}}}'
    file.write_text(line + "\n")
    array.write_text(f"[{line}]")
    words = [word.format(file=file, array=array, folder=tmp_path / "store") for word in command.split()]
    done = CliRunner().invoke(main, words, input=line)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)[:300]
    assert "Traceback" not in done.output


# --- what people and machines read


def test_a_name_with_half_a_character_stops_no_notification_and_no_scrape():
    """The webhook gets the event as JSON, the exposition is UTF-8 that Prometheus reads."""
    bodies = []

    def take(request):
        bodies.append(request.content)
        return httpx2.Response(200)

    odd = f"{STEERING}\ud800"
    with httpx2.Client(transport=httpx2.MockTransport(take)) as client:
        assert Webhook("http://hooks.test/x", client=client).tell(NoticeMessage(odd, odd, good=False))
    assert json.loads(bodies[0])["title"] == odd

    model = f'{odd}"}} 1\nevil_metric 1\r\n'
    registry = CollectorRegistry()
    report = cell_report(CellKey("shop", model, "general.casing"), ratings={3: 1})
    registry.register(CellCollector(lambda: [report], version="1"))
    exposition = generate_latest(registry).decode()
    assert "evil_metric 1" not in exposition.splitlines()
    list(text_string_to_metric_families(exposition))


@contextlib.contextmanager
def served(folder):
    """A client of the console over what is stored in a folder."""
    database = Database(folder / "evenkeel.db")
    app = create_app(console_over(database, change_reports=lambda: ()))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client
    database.close()


@pytest.fixture(scope="module")
def console(folder):
    with served(folder) as client:
        yield client


PATHS = """
/ /trials /verdicts/v1 /goldens /goldens/g1 /routes/desk /setup /pipeline /spend /api/pipeline
/api/goldens /api/goldens/g1 /api/trials /api/labels /api/actions /api/cells
/verdicts/%00 /goldens/%ED%A0%80 /routes/%ED%A0%80 /trials?model=%ED%A0%80 /trials?route=%00%1b%5b2J
/api/goldens/%F0%9F /trials?before={many} /api/trials?limit={many} /api/trials?limit=NaN /trials?since={many}
""".split()


@pytest.mark.parametrize("path", PATHS)
def test_no_stored_text_and_no_address_breaks_a_page(console, path):
    """Pages and the API answer below 500, in UTF-8."""
    answer = console.get(path.format(many="9" * 5_000))
    assert answer.status_code < 500, answer.text[:300]
    answer.content.decode()


BODIES = (
    ("/api/labels", '{"verdict":@}'),
    ("/api/labels", '{"verdict":"v1","by":@,"rating":@,"quality":@,"note":@,"drawn":@,"withdraw":@}'),
    ("/api/goldens", '{"by":@,"exchange":@,"name":@,"note":@,"route":@}'),
    ("/api/goldens", '{"by":@,"golden":{"id":@,"prompt":@,"answer":@,"note":@,"route":@}}'),
    ("/api/goldens", '{"by":@,"retire":@}'),
)


@pytest.mark.parametrize(
    "name", ["deep list", "deep object", "5,000 digits", "no number", "half a pair", "twice", "steering"]
)
def test_no_body_breaks_the_api(name, tmp_path):
    """Odd JSON, whole or in any field, is refused or taken, and answered in JSON."""
    with served(stored_in(tmp_path)) as console:
        for path, shape in BODIES:
            for body in everywhere(shape, VALUES[name]):
                answer = console.post(path, content=body, headers={"content-type": "application/json"})
                assert answer.status_code < 500, (path, body[:60], answer.text[:300])
                assert isinstance(answer.json(), dict)
