"""A key of a command goes to the origin that it is for, and to no other one that the command asks."""

from pathlib import Path
from random import Random

import pytest
import yaml
from click.testing import CliRunner

from evenkeel.cli import gate as gate_command
from evenkeel.cli.lab import bench as bench_command
from evenkeel.cli.main import main
from evenkeel.cli.options import experiment_settings, settings_source
from evenkeel.core.endpoint import Upstream
from evenkeel.release.gate.sides import view_of
from evenkeel.release.kit.arguments import InputError
from evenkeel.settings import SettingsError
from evenkeel.stores.goldens import Golden

SHADOW = "EVENKEEL_SHADOW_API_KEY"
ORIGINS = ("http://a.test", "http://a.test:81", "https://a.test", "http://b.test", "http+unix://%2Fone")
REQUEST = '{"model": "m", "messages": [{"role": "user", "content": "Do you ship to Malta?"}]}'


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (SHADOW, "OTHER_KEY", "A_KEY", "B_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "goldens.jsonl").write_text(
        '{"id": "malta", "prompt": "Do you ship to Malta?", "answer": "Yes."}', "utf-8"
    )


def write(name, content):
    """A YAML file in the current folder."""
    path = Path(name)
    path.write_text(yaml.safe_dump(content), "utf-8")
    return path


def sent_by_gate(*arguments, route="default"):
    """Return by side the key that a golden of a route is asked with; "" for none."""
    context = gate_command.gate.make_context("gate", ["goldens.jsonl", *map(str, arguments)])
    given = {name: value for name, value in context.params.items() if name not in {"plan", "noise", "yes"}}
    sides = gate_command.options_of(given.pop("files"), given).sides
    golden = Golden(
        id="malta", version=1, prompt_version="", route=route, approved_by="", approved_at=0.0, model="m",
        path="/v1/chat/completions", request=REQUEST, answer="Yes.", task=None, retired_at=None,
    )  # fmt: skip
    calls = [side.request(golden, view_of(golden)) for side in sides]
    return {side.name: key_of(call.target) for side, call in zip(sides, calls, strict=True)}


@pytest.mark.parametrize(
    "command", ["check p --model m --api-key-env", "gate --reference-key-env", "challenge --key-env"]
)
def test_a_key_in_place_of_its_variable_is_refused_and_not_repeated(command):
    done = CliRunner().invoke(main, [*command.split(), "sk-marker-6c2d"])
    assert done.exit_code == 2
    assert "a credential belongs into the variable" in done.output
    assert "marker" not in done.output


def sent_by_bench(*arguments):
    """Return by model the key that it is asked with; "" for none."""
    given = bench_command.bench.make_context("bench", ["--no-embeddings", *map(str, arguments)]).params
    settings = experiment_settings(given)
    return {model.name: key_of(model.target) for model in bench_command._models(given, settings)}


def key_of(target):
    """Return the key in a target's headers."""
    return "".join(value.removeprefix("Bearer ") for _, value in target.headers if "key" in value)


def test_the_gate_sends_the_candidates_key_to_no_reference_of_another_origin(monkeypatch):
    """The usual variable and `--api-key-env` are the candidate's; `--reference-key-env` names the other."""
    monkeypatch.setenv(SHADOW, "key-usual")
    monkeypatch.setenv("A_KEY", "key-a")
    monkeypatch.setenv("B_KEY", "key-b")
    both = ("--base-url", "https://a.test/v1", "--reference-url", "http://b.test/v1")
    assert sent_by_gate(*both) == {"candidate": "key-usual", "reference": ""}
    assert sent_by_gate(*both, "--api-key-env", "A_KEY") == {"candidate": "key-a", "reference": ""}
    named = sent_by_gate(*both, "--api-key-env", "A_KEY", "--reference-key-env", "B_KEY")
    assert named == {"candidate": "key-a", "reference": "key-b"}
    same = ("--base-url", "https://a.test/v1", "--reference-url", "https://A.test:443/old/v1")
    assert sent_by_gate(*same, "--api-key-env", "A_KEY") == {"candidate": "key-a", "reference": "key-a"}


def test_the_gate_sends_each_route_the_key_of_its_replays(monkeypatch):
    """A named key is refused where the routes are of several origins: it can be for one only."""
    monkeypatch.setenv(SHADOW, "key-usual")
    monkeypatch.setenv("B_KEY", "key-b")
    routes = [
        {"name": "a", "match": {"prefix": "/a"}, "upstream": "https://a.test/v1"},
        {"name": "b", "match": {"prefix": "/b"}, "upstream": "https://b.test/v1", "replay_key_env": "B_KEY"},
    ]
    file = write("s.yaml", {"routes": routes})
    arguments = ("--config", file, "--model", "new")
    assert sent_by_gate(*arguments, route="a") == {"candidate": "", "reference": ""}
    assert sent_by_gate(*arguments, route="b") == {"candidate": "key-b", "reference": "key-b"}
    elsewhere = sent_by_gate(*arguments, "--base-url", "https://c.test", route="b")
    assert elsewhere == {"candidate": "", "reference": "key-b"}
    elsewhere = sent_by_gate(*arguments, "--base-url", "https://c.test", "--api-key-env", SHADOW, route="b")
    assert elsewhere == {"candidate": "key-usual", "reference": "key-b"}
    with pytest.raises(SettingsError, match="several origins"):
        sent_by_gate(*arguments, "--api-key-env", SHADOW)


def test_the_usual_key_stays_at_the_origin_that_the_settings_give_it(monkeypatch):
    """Another endpoint than the settings' needs its key named: that of replays is for the routes' origin."""
    monkeypatch.setenv(SHADOW, "key-usual")
    file = write("s.yaml", {"routes": [{"upstream": "https://a.test/v1"}]})
    there = sent_by_gate("--config", file, "--base-url", "https://b.test/v1")
    assert there == {"candidate": "", "reference": "key-usual"}
    there = sent_by_gate("--config", file, "--reference-url", "https://b.test/v1")
    assert there == {"candidate": "key-usual", "reference": ""}
    monkeypatch.setenv("A_KEY", "key-a")
    named = sent_by_gate("--config", file, "--api-key-env", "A_KEY")
    assert named == {"candidate": "key-a", "reference": "key-a"}
    assert sent_by_bench("--config", file, "--model", "m", "--base-url", "https://b.test/v1") == {"m": ""}
    at_home = sent_by_bench("--config", file, "--model", "m", "--base-url", "https://a.test/v1")
    assert at_home == {"m": "key-usual"}


def test_the_benchmark_sends_the_key_of_one_endpoint_to_no_other(monkeypatch):
    """The usual key is for `--base-url`; a model elsewhere has the key that its own entry names, or none."""
    monkeypatch.setenv(SHADOW, "key-usual")
    monkeypatch.setenv("B_KEY", "key-b")
    models = [
        {"name": "here"},
        {"name": "same", "base_url": "https://a.test/other/v1"},
        {"name": "elsewhere", "base_url": "https://b.test/v1"},
        {"name": "own", "base_url": "https://b.test/v1", "api_key_env": "B_KEY"},
    ]
    sent = sent_by_bench("--models", write("m.yaml", {"models": models}), "--base-url", "https://a.test/v1")
    assert sent == {"here": "key-usual", "same": "key-usual", "elsewhere": "", "own": "key-b"}
    alone = write("m.yaml", {"models": models[1:2]})
    assert sent_by_bench("--models", alone) == {"same": "key-usual"}
    several = write("m.yaml", {"models": models[1:]})
    with pytest.raises(InputError, match="api_key_env"):
        sent_by_bench("--models", several)
    monkeypatch.delenv(SHADOW)
    assert sent_by_bench("--models", several) == {"same": "", "elsewhere": "", "own": "key-b"}


@pytest.mark.parametrize("seed", range(20))
def test_no_key_of_the_gate_leaves_its_origin_whatever_the_options_are(seed, monkeypatch):
    """Random endpoints and keys: each side gets what was named for it, or a key of its own origin."""
    rng = Random(seed)
    urls = {"--base-url": rng.choice(ORIGINS), "--reference-url": rng.choice((None, *ORIGINS))}
    keys = {"--api-key-env": rng.choice((None, "A_KEY")), "--reference-key-env": rng.choice((None, "B_KEY"))}
    for name, value in ((SHADOW, "key-usual"), ("A_KEY", "key-a"), ("B_KEY", "key-b")):
        monkeypatch.setenv(name, value)
    given = [word for pair in (urls | keys).items() if pair[1] for word in pair]
    sent = sent_by_gate(*given, "--model", "new")
    named = "key-a" if keys["--api-key-env"] else "key-usual"
    here = Upstream.parse(urls["--base-url"])
    there = Upstream.parse(urls["--reference-url"] or urls["--base-url"])
    assert sent["candidate"] == named
    others = named if here.same_origin(there) else ""
    assert sent["reference"] == ("key-b" if keys["--reference-key-env"] else others)


@pytest.mark.parametrize("section", ["judge", "rewriter"])
def test_an_option_does_not_carry_the_key_of_the_file_to_another_endpoint(section, monkeypatch):
    """`--judge-url` over a file whose judge is elsewhere needs `--judge-key-env`, if a key is there."""
    model = {"model": "m", "base_url": "https://a.test/v1", "api_key_env": "A_KEY"}
    file = write("s.yaml", {
        "routes": [{"upstream": "https://a.test/v1"}],
        **({"replays": {"rewriter": model}} if section == "rewriter" else {"judge": model}),
    })  # fmt: skip
    options = dict.fromkeys(
        ("judge", "judge_url", "judge_key_env", "rewriter", "rewriter_url", "rewriter_key_env")
    )
    options |= {"config": file, f"{section}_url": "https://b.test/v1"}

    def chosen(**more):
        settings = experiment_settings(options | more)
        return settings.judge if section == "judge" else settings.replays.rewriter

    assert chosen().base_url == "https://b.test/v1"  # There is no key that could leak.
    monkeypatch.setenv("A_KEY", "key-a")
    with pytest.raises(SettingsError, match=f"--{section}-key-env"):
        chosen()
    assert chosen(**{f"{section}_key_env": "B_KEY"}).api_key_env == "B_KEY"
    assert chosen(**{f"{section}_url": "https://a.test/other/v1"}).api_key_env == "A_KEY"


@pytest.mark.parametrize("variable", ["api_key_env", "replay_key_env", None])
def test_an_option_does_not_carry_a_routes_key_to_another_upstream(variable, monkeypatch):
    """`--upstream` over a file whose upstream is elsewhere is refused while a key for that one is there."""
    own = {variable: "A_KEY"} if variable else {}
    file = write("s.yaml", {"routes": [{"upstream": "https://a.test/v1", **own}]})
    options = "host port processes admin_port data_dir budget_usd budget_tokens judge no_judge judge_url"
    options += " judge_key_env webhook redis_url simulated log_level log_format sampling_rate task"

    def upstream_with(upstream):
        given = dict.fromkeys(options.split()) | {"upstream": upstream}
        return settings_source(file, given, checked=False).read().routes[0].upstream

    assert upstream_with("https://b.test/v1") == "https://b.test/v1"
    monkeypatch.setenv("A_KEY" if variable else SHADOW, "key-a")
    with pytest.raises(SettingsError, match="--upstream names another server"):
        upstream_with("https://b.test/v1")
    assert upstream_with("https://a.test/v2") == "https://a.test/v2"
