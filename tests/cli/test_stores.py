"""Commands that read what the roles have stored: the same over a data folder and over a Redis."""

import json
import time

import pytest
import yaml

from evenkeel.cli.gate import gate, options_of
from evenkeel.core.records import to_json
from evenkeel.runtime.stores import opened, settings_of_stores
from evenkeel.stores.references import Reference
from tests.kit.commands import run_command
from tests.kit.records import altered
from tests.lab.calibrate.planted_goldens import write_goldens
from tests.monitor.planted_verdicts import VERDICT
from tests.redis_server import a_store
from tests.stores.examples import ARCHIVED

pytestmark = pytest.mark.system

REDIS = pytest.param("redis", marks=pytest.mark.service("redis-server"))


@pytest.fixture(params=["sqlite", REDIS])
def config(request, tmp_path):
    """A settings file that names a store: a folder, or a Redis and a folder in which nothing must be."""
    settings = {"routes": [{"upstream": "http://127.0.0.1:9/v1"}], "data_dir": str(tmp_path / "data")}
    path = tmp_path / "evenkeel.yaml"
    if request.param == "sqlite":
        path.write_text(yaml.safe_dump(settings))
        yield path
        return
    store = a_store(request.getfixturevalue("redis_server"))
    place = store.place
    redis = {"url": place.url, "prefix": place.prefix}
    settings["storage"] = {"redis": redis}
    path.write_text(yaml.safe_dump(settings))
    yield path
    store.close()
    assert not (tmp_path / "data").exists()


@pytest.fixture
def stores(config):
    with opened(settings_of_stores(config, None), create=True) as found:
        yield found


@pytest.fixture
def run(config):
    def run(*arguments, code=0):
        result = run_command(*arguments, "--config", str(config), code=code)
        return result.stdout if code == 0 else result.output

    return run


def test_exchanges_are_approved_where_the_settings_say(run, stores):
    stores.archive.put(ARCHIVED)
    assert ARCHIVED.id in run("goldens", "candidates", "--json")
    run("goldens", "approve", ARCHIVED.id, "--name", "first", "--by", "ann")
    assert [golden.id for golden in stores.goldens.select()] == ["first"]
    assert json.loads(run("goldens", "export"))["id"] == "first"


def test_the_gate_takes_the_goldens_that_the_settings_lead_to(run, stores, config, tmp_path):
    """No file of goldens is needed; a folder that is named wins over the settings."""
    run("goldens", "import", write_goldens(tmp_path / "goldens.jsonl", 3), "--by", "ann")
    given = gate.make_context("gate", ["--config", str(config), "--model", "m"]).params
    options = options_of((), given)
    assert len(options.goldens) == 3
    assert options.source == stores.place
    without = ["gate", "--data-dir", tmp_path / "empty", "--model", "m", "--yes"]
    assert f"there is no store in {tmp_path / 'empty'}" in run(*without, code=2)


def test_calibrate_takes_goldens_from_there(run, tmp_path):
    run("goldens", "import", write_goldens(tmp_path / "goldens.jsonl", 4), "--by", "ann")
    quick = ["--no-embeddings", "--resamples", 20, "--out", tmp_path / "o"]
    assert "4 workflows" in run("calibrate", "--from-store", *quick)


def test_a_backtest_of_the_store_is_that_of_the_same_verdicts_in_a_file(run, stores, config, tmp_path):
    """All figures are equal, and the store is as it was."""
    path = tmp_path / "verdicts.jsonl"
    ratings = [3] * 60 + [1, 3] * 60
    for place, rating in enumerate(ratings):
        trial = altered(
            VERDICT, id=f"v{place}", exchange_id=f"e{place}", scored_at=1e9 + place, rating=rating
        )
        stores.verdicts.append(trial, None)
        with path.open("a") as file:
            file.write(to_json(trial) + "\n")
    stored = json.loads(run("backtest", "--json"))
    read = json.loads(run("backtest", path, "--json"))
    assert stored.pop("source") == stores.place
    assert read.pop("source") == path.name
    assert stored == read
    assert stored["trials"] == len(ratings)
    assert stores.monitor.load() == (None, 0, {})


def test_a_report_is_about_the_trials_of_the_store(run, stores):
    """Of the period that is asked for; 20 of its 80 trials changed the content."""
    now = time.time()
    for place, rating in enumerate([1] * 20 + [3] * 60 + [1] * 30):
        at = now - (3_600 if place < 80 else 7 * 86_400) + place
        verdict_id = f"v{place}"
        stores.verdicts.append(
            altered(VERDICT, id=verdict_id, exchange_id=verdict_id, scored_at=at, rating=rating), None
        )
    report = json.loads(run("report", "--since", "36h", "--json"))
    (cell,) = report["cells"]
    assert (cell["trials"], cell["content_delta"]["value"]) == (80, 0.25)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("goldens list", 2),
        ("changes list", 2),
        ("backtest", 2),
        ("calibrate --from-store", 2),
        ("gate --model m --yes", 2),
        ("check-config", 1),
    ],
)
def test_a_redis_that_cannot_be_used_is_one_line(tmp_path, command, code):
    path = tmp_path / "evenkeel.yaml"
    path.write_text(
        "routes: [{upstream: 'http://127.0.0.1:9'}]\nstorage: {redis: {url: 'redis://127.0.0.1:9/0'}}\n"
    )
    result = run_command(*command.split(), "--config", str(path), code=code)
    assert "cannot use the Redis redis://127.0.0.1:9/0" in result.output
    assert "Traceback" not in result.output


def test_reference_prompts_are_forgotten_by_command(stores, run):
    """References of one route or all are deleted; who did it is on record, as of the page."""
    kept = Reference(
        id="x", route="shop", requested_model="m", prompt_version="", path="/v1/chat/completions",
        request="{}", taken_at=1.0, answers=(),
    )  # fmt: skip
    for name, route in (("a", "shop"), ("b", "shop"), ("c", "forms")):
        stores.references.add(altered(kept, id=name, route=route))
    said = run("changes", "forget-references", "--route", "shop", "--by", "ann")
    assert said.strip() == "2 reference prompts deleted"
    assert [state.id for state in stores.references.states()] == ["c"]
    run("changes", "forget-references", "--by", "bob")
    assert stores.references.states() == []
    latest = stores.actions.latest(2)
    assert [(action.by, action.what, action.subject) for action in latest] == [
        ("bob", "references_forgotten", "forms"),
        ("ann", "references_forgotten", "shop"),
    ]
    run("changes", "forget-references", "--by", " ", code=2)
