"""Settings: precedence, and errors that say where, what and what to do."""

import importlib.util
import json
import re
from dataclasses import replace

import pytest
import yaml

from evenkeel.core.exchange import Exchange
from evenkeel.metrics.tasks import Task
from evenkeel.runtime import replays
from evenkeel.runtime.choices import bundles, check
from evenkeel.runtime.notes import notes
from evenkeel.runtime.preflight import missing_keys
from evenkeel.runtime.stores import RedisStores
from evenkeel.settings import Settings, SettingsError, load, route_table
from evenkeel.settings.gone import GONE
from evenkeel.settings.settings import _places, settings_in_effect
from evenkeel.settings.types import without_credentials
from tests.cases import cases
from tests.kit.commands import run_command

CASES = cases(__file__)

UPSTREAM = {"upstream": "http://127.0.0.1:9/v1"}


ROUTE = "routes:\n  - {upstream: 'http://a'}"


@pytest.fixture
def write(tmp_path):
    """Writes a settings file."""

    def write_file(text):
        path = tmp_path / "evenkeel.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def read(write):
    """Settings of a text, with a route unless it has some."""
    return lambda text: load(write(text if "routes:" in text else f"{text}\n{ROUTE}"), {}, {})


def test_the_command_line_wins_over_environment_and_file(write, monkeypatch):
    """Command line, then environment, then file, section by section; one upstream is enough."""
    settings = load(None, {}, UPSTREAM)
    assert [route.name for route in settings.routes] == ["default"]
    assert (settings.listen.port, settings.storage.redis) == (8100, None)
    path = write("listen: {port: 1, host: 127.0.0.2}\nroutes: [{upstream: 'http://a/v1', task: t}]\n")
    monkeypatch.setenv("EVENKEEL_LISTEN__PORT", "2")
    assert load(path, {}, {}).listen.port == 2
    settings = load(path, {"listen": {"port": 3}}, {"upstream": "http://b/v1"})
    assert (settings.listen.port, settings.listen.host) == (3, "127.0.0.2")
    assert (settings.routes[0].upstream, settings.routes[0].task) == ("http://b/v1", "t")


@pytest.mark.parametrize(("text", "message"), CASES["bad files"])
def test_a_bad_file_is_a_clear_line_for_each_fault(read, tmp_path, text, message):
    """The error names the file and the place."""
    with pytest.raises(SettingsError, match=message) as caught:
        check(read(text), str(tmp_path / "evenkeel.yaml"))
    for line in str(caught.value).split("\n"):
        assert "evenkeel.yaml: " in line
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("EVENKEEL_LISTEN__PORT", "x", "EVENKEEL_LISTEN__PORT: listen.port: must be a valid integer"),
        (
            "EVENKEEL_LISTEN",
            '{"prt": 1}',
            "EVENKEEL_LISTEN: listen.prt: unknown setting; did you mean 'port'",
        ),
        ("EVENKEEL_LISTEN__HOSTS", "[", "EVENKEEL_LISTEN__…: is not JSON"),
        (
            "EVENKEEL_LISTEN__PORT",
            "1",
            "the command line: listen.port: must be greater than or equal to 0 (it is -1)",
        ),
    ],
)
def test_a_fault_outside_the_file_is_looked_for_there(write, monkeypatch, variable, value, message):
    """Nobody finds in the file what stands in a variable, or was an option."""
    monkeypatch.setenv(variable, value)
    options = {"listen": {"port": -1}} if value == "1" else {}
    with pytest.raises(SettingsError, match=re.escape(message)) as refused:
        load(write("routes: [{upstream: 'http://a'}]"), options, {})
    assert "evenkeel.yaml" not in str(refused.value)


def test_what_the_settings_add_can_be_chosen(write):
    """A language, a quality in words and a task's own qualities are there once they are set."""
    path = write(
        """
        replays:
          languages: [pl]
        judge:
          model: m
          qualities: {kind: {description: How kind it is, scale: {3: kind, 2: neutral, 1: rude}}}
          tasks: {case_summary: [faithfulness, kind]}
        routes:
          - upstream: 'http://a'
            task: case-summary
            trials: {perturbations: [multilingual.pl]}
        """
    )
    settings = load(path, {}, {})
    check(settings, str(path))
    assert [kind.name for kind in replays.chosen(settings)["default"]] == ["multilingual.pl"]
    judged = bundles(settings)[Task.CASE_SUMMARY].judged
    assert [prompt.name for prompt in judged] == ["faithfulness", "kind"]


def test_routes_by_host_header_and_key(write, monkeypatch):
    """Every rule and the injected credential reach the data plane; the credential shows nowhere."""
    monkeypatch.setenv("UPSTREAM_KEY", "sk-secret")
    path = write(
        """
        routes:
          - {upstream: 'http://a/v1'}
          - name: team
            match: {hosts: [llm.internal], headers: {x-team: red}, key_fingerprints: [0123456789abcdef]}
            upstream: 'http://b/v1'
            fallbacks: ['http://c/v1']
            timeouts: {total_s: 9}
            api_key_env: UPSTREAM_KEY
            api_key_header: Api-Key
        """
    )
    settings = load(path, {}, {})
    route = route_table(settings.routes).named("team")
    assert [upstream.host for upstream in route.upstreams] == ["b", "c"]
    assert (route.hosts, route.headers) == (("llm.internal",), (("x-team", "red"),))
    assert (route.key_fingerprints, route.timeouts.total_s) == (("0123456789abcdef",), 9)
    assert route.inject == ((b"api-key", b"sk-secret"),)
    assert "sk-secret" not in repr(route) + repr(settings) + settings.model_dump_json()


@pytest.mark.parametrize("command", ["up", "proxy"])
def test_an_empty_upstream_key_is_refused_where_requests_are_forwarded(write, monkeypatch, command):
    """Requests without the key they need would fail one by one; nobody else needs it."""
    monkeypatch.delenv("UPSTREAM_KEY", raising=False)
    path = write("routes: [{upstream: 'http://a/v1', api_key_env: UPSTREAM_KEY}]")
    assert load(path, {}, {}).routes[0].api_key_env == "UPSTREAM_KEY"
    refused = run_command(command, "--config", str(path), code=2)
    assert "the variable UPSTREAM_KEY named by api_key_env is empty" in refused.output


@pytest.mark.parametrize(
    ("role", "variables"),
    [
        ("proxy", {"UPSTREAM_KEY"}),
        ("worker", {"EVENKEEL_SHADOW_API_KEY", "JUDGE_KEY", "REWRITER_KEY"}),
        ("monitor", {"EVENKEEL_SHADOW_API_KEY", "JUDGE_KEY"}),
        (None, {"UPSTREAM_KEY", "JUDGE_KEY", "REWRITER_KEY"}),
    ],
)
def test_a_role_needs_the_keys_that_it_uses_and_no_other(read, monkeypatch, role, variables):
    """Each role lacks these when nothing is set; with just them set, nothing is missing."""
    names = ("UPSTREAM_KEY", "EVENKEEL_SHADOW_API_KEY", "JUDGE_KEY", "REWRITER_KEY")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    model = "{model: m, base_url: 'http://a/v1', api_key_env: %s}"
    settings = read(
        "routes: [{upstream: 'http://a/v1', api_key_env: UPSTREAM_KEY}]\n"
        f"judge: {model % 'JUDGE_KEY'}\nreplays: {{rewriter: {model % 'REWRITER_KEY'}}}\n"
    )
    assert {re.findall("[A-Z_]+_KEY", line)[0] for line in missing_keys(settings, role)} == variables
    for name in variables:
        monkeypatch.setenv(name, "k")
    assert missing_keys(settings, role) == []


def test_route_options_do_not_fit_several_routes(write, tmp_path):
    """--upstream and a file with two routes contradict each other; so does a file that is not there."""
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load(tmp_path / "nowhere.yaml", {}, {})
    path = write(
        "routes: [{name: a, upstream: 'http://a'}, {name: b, match: {prefix: /b}, upstream: 'http://b'}]"
    )
    with pytest.raises(SettingsError, match=r"several routes; set upstream there"):
        load(path, {}, UPSTREAM)


def test_everything_that_leads_to_a_redis(monkeypatch):
    """Passwords come from the environment alone."""
    monkeypatch.setenv("EVENKEEL_REDIS_PASSWORD", "s3cret")
    monkeypatch.setenv("EVENKEEL_REDIS_SENTINEL_PASSWORD", "other")
    redis = {
        "url": "rediss:///3",
        "sentinels": ["one:26379", "[::1]:26380"],
        "sentinel_master": "main",
        "prefix": "prod",
    }
    settings = load(None, {"storage": {"redis": redis}}, UPSTREAM)
    place = RedisStores(settings)._store.place
    assert (place.password, place.sentinel_password) == ("s3cret", "other")
    assert place.sentinels == ("one:26379", "[::1]:26380")
    assert (place.sentinel_master, place.prefix) == ("main", "prod")
    for shown in (json.dumps(settings.model_dump(mode="json")), repr(settings), repr(place), str(place)):
        assert "s3cret" not in shown


@pytest.mark.parametrize(("route", "more", "said"), CASES["notes"])
def test_what_the_settings_leave_undone_is_said(write, route, more, said):
    """Such settings are valid, and the pages would stay empty."""
    settings = load(write(f"routes: [{{upstream: 'http://a', {route}}}]\n{more}"), {}, {})
    found = notes(settings)
    assert [note.startswith(start) for note, start in zip(found, said, strict=True)] == [True] * len(said)


def test_replays_go_in_the_tier_of_their_route_and_to_fallbacks_in_the_usual_one(write):
    """Nobody states the tiers of a fallback."""
    settings = load(
        write("routes: [{upstream: 'http://a', fallbacks: ['http://b'], replay_tier: flex}]"),
        {},
        {},
    )
    target = replays.replay_target(settings)
    exchange = Exchange("1", "default", 0.0, 0.1, "POST", "/v1/chat/completions", 200, (), b"", (), b"")
    assert target(exchange).flex
    assert not target(replace(exchange, upstream=1)).flex


@pytest.mark.parametrize(
    ("module", "extra", "values"),
    [
        ("redis", "redis", {"storage": {"redis": {"url": "redis://localhost:6379/0"}}}),
        ("opentelemetry.sdk", "tracing", {"telemetry": {"traces": True}}),
        ("re2", "patterns", {"storage": {"redaction": {"patterns": {"customer": "C-[0-9]{4}"}}}}),
    ],
)
def test_a_setting_says_which_extra_it_needs(monkeypatch, module, extra, values):
    """The settings are refused with what to install where it is missing."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "evenkeel.settings.types.find_spec", lambda name: None if name == module else found(name)
    )
    with pytest.raises(ValueError, match=re.escape(f"pip install 'evenkeel-proxy[{extra}]'")):
        Settings.model_validate({"routes": [{"upstream": "https://api.example"}], **values})


def test_nothing_that_is_gone_is_a_setting():
    """Advice about a setting that exists would never be read."""
    existing = {".".join(part for part in path if part != "[]") for path in _places(Settings)}
    assert not existing & set(GONE)


def test_what_is_set_is_told_from_defaults(tmp_path, monkeypatch):
    """The value decides, wherever it was set; required settings have no default."""
    monkeypatch.setenv("EVENKEEL_LISTEN__PORT", "8200")
    file = tmp_path / "evenkeel.yaml"
    file.write_text("routes: [{upstream: 'https://api.example/v1', sampling_rate: 0.5}]\n")
    shown = yaml.safe_load(settings_in_effect(load(file, {}, {})))
    route = {"upstream": "https://api.example/v1", "sampling_rate": 0.5}
    assert (shown["listen"], shown["routes"]) == ({"port": 8200}, [route])
    assert not {"access", "judge"} & shown.keys()


def test_a_credential_is_set_or_not(tmp_path, monkeypatch):
    """The variable that holds it decides; its value and the variable's name are not shown."""
    monkeypatch.setenv("A_KEY", "s3cret")
    file = tmp_path / "evenkeel.yaml"
    file.write_text(
        "routes: [{upstream: 'https://a.example/v1', api_key_env: A_KEY, "
        "match: {headers: {x-key: s3cret}}}]\n"
        "judge: {model: m, api_key_env: NO_KEY}\n"
        "alerts: {webhook: 'https://hooks.example/s3cret', notify: [A_KEY, NO_KEY]}\n"
    )
    text = settings_in_effect(load(file, {}, {}))
    shown = yaml.safe_load(text)
    assert shown["routes"][0]["api_key_env"] == shown["routes"][0]["match"]["headers"]["x-key"] == "set"
    assert shown["judge"]["api_key_env"] == "not set"
    assert shown["alerts"] == {"webhook": "set", "notify": ["set", "not set"]}
    assert "s3cret" not in text
    assert "_KEY" not in text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("redis://user:pw@host:6379/0", "redis://host:6379/0"),
        ("https://h.example/v1?key=abc#x", "https://h.example/v1"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
        ("careful: a:b@c", "careful: a:b@c"),
    ],
)
def test_addresses_lose_what_may_be_a_credential(given, shown):
    """User, password and query; other text stays."""
    assert without_credentials(given) == shown
