"""Settings: precedence, and errors that say where, what and what to do."""

from __future__ import annotations

import pytest

from evenkeel import replays
from evenkeel.choices import bundles, check
from evenkeel.settings import SettingsError, load, route_table
from metrics.tasks import Task

UPSTREAM = {"upstream": "http://127.0.0.1:9/v1"}


@pytest.fixture
def write(tmp_path):
    def write_file(text):
        path = tmp_path / "evenkeel.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


def test_one_upstream_is_enough():
    """Everything else has a default."""
    settings = load(None, {}, UPSTREAM)
    assert [route.name for route in settings.routes] == ["default"]
    assert settings.listen.port == 8100


def test_the_command_line_wins_over_environment_and_file(write, monkeypatch):
    """Command line, then environment, then file, section by section."""
    path = write("listen: {port: 1, host: 127.0.0.2}\nroutes: [{upstream: 'http://a/v1', task: t}]\n")
    monkeypatch.setenv("EVENKEEL_LISTEN__PORT", "2")
    assert load(path, {}, {}).listen.port == 2
    settings = load(path, {"listen": {"port": 3}}, {"upstream": "http://b/v1"})
    assert (settings.listen.port, settings.listen.host) == (3, "127.0.0.2")
    assert (settings.routes[0].upstream, settings.routes[0].task) == ("http://b/v1", "t")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "routes: [{upstream: 'http://a', smapling_rate: 1}]",
            r"routes\[0\]\.smapling_rate: unknown setting; did you mean 'sampling_rate'\?",
        ),
        ("routes: [{upstream: 'ftp://a'}]", r"routes\[0\]\.upstream: .*ftp://a.*http://127"),
        (
            "routes: [{upstream: 'http://a', sampling_rate: 2}]",
            r"sampling_rate: .*less than or equal to 1.*it is 2",
        ),
        ("routes: [{upstream: 'http://a'}, {upstream: 'http://b'}]", r"two routes have the name 'default'"),
        ("routes: []", r"routes: List should have at least 1"),
        ("listen: {port: 70000}\nroutes: [{upstream: 'http://a'}]", r"listen\.port: .*it is 70000"),
        ("admin: {host: 0.0.0.0}\nroutes: [{upstream: 'http://a'}]", r"admin: .*set token_env"),
        ("alert: {webhook: x}\nroutes: [{upstream: 'http://a'}]", r"alert\.webhook: 'x' is not an http"),
        ("routes: [", r"evenkeel\.yaml: line \d is not YAML"),
        ("- a", r"must be a mapping"),
        ("listen: {port: 1}", r"no upstream to forward to; name one with --upstream"),
    ],
)
def test_a_bad_file_is_one_clear_line(write, text, message):
    """The error names the file and the place, and fits in one line."""
    with pytest.raises(SettingsError, match=message) as caught:
        load(write(text), {}, {})
    assert "\n" not in str(caught.value)
    assert "evenkeel.yaml" in str(caught.value)


ROUTE = "routes:\n  - {upstream: 'http://a'}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{ROUTE}\n  - {{name: b, prefix: /b, upstream: 'http://b', perturbations: [spelling]}}",
            r"routes\[1\]\.perturbations: .*did you mean general\.spelling",
        ),
        ("routes: [{upstream: 'http://a', task: case_sumary}]", r"routes\[0\]\.task: .*case_summary"),
        ("routes: [{upstream: 'http://a', template: ['{all}']}]", r"routes\[0\]\.template: .*text besides"),
        (
            "compounds: {mix: [format.json, format.xml]}\nroutes: [{upstream: 'http://a'}]",
            r"compounds: .*mix",
        ),
        ("compounds: {mix: [general.speling]}\n" + ROUTE, r"general\.spelling"),
        (
            "scoring: {tasks: {case_summary: [faithfullness]}}\nroutes: [{upstream: 'http://a'}]",
            r"faithfulness",
        ),
        ("scoring: {bands: nowhere.yaml}\n" + ROUTE, r"nowhere\.yaml cannot be read"),
        (
            "scoring: {qualities: {kind: {description: How kind it is, scale: {3: kind}}}}\n" + ROUTE,
            r"kind",
        ),
    ],
)
def test_what_is_chosen_by_name_must_exist(write, text, message):
    """Perturbations, tasks, templates, compounds, qualities and bands are looked up before the start."""
    path = write(text)
    with pytest.raises(SettingsError, match=message) as caught:
        check(load(path, {}, {}), str(path))
    assert "\n" not in str(caught.value)
    assert "evenkeel.yaml" in str(caught.value)


def test_what_the_settings_add_can_be_chosen(write):
    """A language, a compound, a quality in words and a task's own qualities are there once they are set."""
    path = write(
        """
        languages: [pl]
        compounds: {mix: [general.spelling, format.json]}
        scoring:
          qualities: {kind: {description: How kind it is, scale: {3: kind, 2: neutral, 1: rude}}}
          tasks: {case_summary: [faithfulness, kind]}
        routes: [{upstream: 'http://a', perturbations: [multilingual.pl, compound.mix], task: case-summary}]
        """
    )
    settings = load(path, {}, {})
    check(settings, str(path))
    assert [one.name for one in replays.chosen(settings)["default"]] == ["multilingual.pl", "compound.mix"]
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
            hosts: [llm.internal]
            headers: {x-team: red}
            key_fingerprints: [0123456789abcdef]
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


def test_an_empty_upstream_key_is_refused(write, monkeypatch):
    """Requests without the key they need would fail one by one."""
    monkeypatch.delenv("UPSTREAM_KEY", raising=False)
    path = write("routes: [{upstream: 'http://a/v1', api_key_env: UPSTREAM_KEY}]")
    with pytest.raises(SettingsError, match=r"the variable UPSTREAM_KEY named by api_key_env is empty"):
        load(path, {}, {})


def test_a_missing_file_is_named(tmp_path):
    """A wrong --config says which file."""
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load(tmp_path / "nowhere.yaml", {}, {})


def test_route_options_do_not_fit_several_routes(write):
    """--upstream and a file with two routes contradict each other."""
    path = write("routes: [{name: a, upstream: 'http://a'}, {name: b, prefix: /b, upstream: 'http://b'}]")
    with pytest.raises(SettingsError, match=r"several routes; set upstream there"):
        load(path, {}, UPSTREAM)


def test_a_named_but_empty_admin_token_is_refused(write, monkeypatch):
    """An empty token must not mean no token."""
    monkeypatch.delenv("ADMIN_TOKEN", raising=False)
    path = write("admin: {host: 0.0.0.0, token_env: ADMIN_TOKEN}\nroutes: [{upstream: 'http://a'}]")
    with pytest.raises(SettingsError, match=r"ADMIN_TOKEN named by token_env is empty"):
        load(path, {}, {})
