"""The image and the compose stack: hardened, complete, and started with arguments that the program takes."""

import contextlib
import ipaddress
import json
import lzma
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import py3langid
import pytest
import redis
import yaml
from click.testing import CliRunner
from py3langid.langid import MODEL_FILE

from evenkeel.cli.main import main
from evenkeel.settings import load
from tests.kit.commands import run_command
from tests.services import free_port, wait_for

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy" / "compose"
DOCKERFILE = (ROOT / "deploy" / "container" / "Dockerfile").read_text(encoding="utf-8")
STACK = yaml.safe_load((COMPOSE / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = STACK["services"]
ROLES = ("proxy", "worker", "monitor")
LANGUAGES = Path(py3langid.__file__).parent / MODEL_FILE


def instructions():
    """The Dockerfile's instructions, each with its text, continued lines joined."""
    joined = re.sub(r"\\\n", "", re.sub(r"^\s*#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def final_stage():
    found = instructions()
    last = max(number for number, (name, _) in enumerate(found) if name == "FROM")
    return found[last:]


def the(name):
    """The arguments of an instruction that the final stage has once, in its JSON form."""
    [text] = [text for each, text in final_stage() if each == name]
    return json.loads(text)


def test_the_final_stage_builds_and_installs_nothing():
    """Package managers do not run there, and it ends as a user without a name who is not root."""
    for name, text in final_stage():
        assert name != "ADD"
        if name == "RUN":
            assert not re.search(r"\b(pip|apt|apt-get|curl|wget|gcc)\b", text)
    [user] = [text for name, text in final_stage() if name == "USER"]
    numbers = [int(number) for number in user.split(":")]
    assert len(numbers) == 2
    assert all(numbers)


def test_the_build_takes_only_what_is_pinned_by_hash():
    """Every requirement file that a build argument can choose exists, and is a lock with hashes."""
    [choice] = re.findall(r"requirements/image\$\{EXTRA:\+-\}\$\{EXTRA\}\.txt", DOCKERFILE)
    assert choice
    assert "--require-hashes --no-deps -r" in DOCKERFILE
    core = dict(
        re.findall(r"^([\w.-]+)==(\S+) \\$", (ROOT / "requirements/core.txt").read_text(), re.MULTILINE)
    )
    for name in ("image", "image-semantic"):
        text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
        pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))
        assert core.items() <= pinned.items(), name
        assert {"apprise", "cryptography", "google-re2"} <= pinned.keys()
        assert text.count("--hash=sha256:") >= len(pinned)
        assert not pinned.keys() & {"pytest", "ruff", "mypy", "playwright"}


def test_the_image_starts_the_program():
    """The default is `up` with the settings file, which the program understands."""
    entry, arguments = the("ENTRYPOINT"), the("CMD")
    assert entry == ["evenkeel"]
    run_command(*arguments, "--help")


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_hardened(name):
    """Read-only, without capabilities and new privileges, bounded logs, checked for its health."""
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["logging"]["options"]["max-size"]
    assert "privileged" not in service
    if name in ROLES:
        assert "healthcheck" not in service  # the image's own
        assert service["user"].split(":")[0] != "0"
    else:
        assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    for port in service.get("ports", []):
        address = port.rsplit(":", 2)[0].replace("${EVENKEEL_BIND:-127.0.0.1}", "127.0.0.1")
        assert ipaddress.ip_address(address).is_loopback


@pytest.mark.parametrize("name", ROLES)
def test_the_model_of_languages_can_be_unpacked(name):
    """It is unpacked into /tmp while it is loaded; a worker without room for it does not start."""
    [mounted] = SERVICES[name]["tmpfs"]
    megabytes = int(re.fullmatch(r"/tmp:.*size=(\d+)m", mounted)[1])
    with lzma.open(LANGUAGES) as packed:
        assert packed.seek(0, os.SEEK_END) < megabytes << 20


def test_everything_mounted_is_there():
    """Each file or folder of the repository that is mounted exists, read-only; all volumes are declared."""
    for name, service in SERVICES.items():
        for mount in service.get("volumes", []):
            source, _, target = mount.partition(":")
            if source.startswith("."):
                assert (COMPOSE / source).exists(), (name, source)
                assert target.endswith(":ro")
            else:
                assert source in STACK["volumes"]
        assert set(service["networks"]) <= set(STACK["networks"])
    reaching = {name for name, service in SERVICES.items() if "store" in service["networks"]}
    assert reaching == {"redis", *ROLES}


@pytest.mark.parametrize("name", ROLES)
def test_compose_starts_each_role_as_the_chart_does(name):
    """The commands are understood, open the port that the image's check asks, and read the mounted file."""
    command = SERVICES[name]["command"]
    assert command[:5] == [name, "--config", "/etc/evenkeel/evenkeel.yaml", "--admin-port", "8101"]
    assert CliRunner().invoke(main, [*command, "--help"]).exit_code == 0
    assert "./evenkeel.yaml:/etc/evenkeel/evenkeel.yaml:ro" in SERVICES[name]["volumes"]
    assert ", 8101," in " ".join(the_healthcheck())


def the_healthcheck():
    [text] = [text for name, text in final_stage() if name == "HEALTHCHECK"]
    return json.loads(text[text.index("CMD") + 3 :])


def test_the_settings_of_the_stack_load(monkeypatch):
    """The settings name the services of the stack and variables that the stack passes on."""
    monkeypatch.setenv("EVENKEEL_ADMIN_TOKEN", "token-of-sixteen-characters")
    monkeypatch.setenv("EVENKEEL_METRICS_TOKEN", "another-of-sixteen-characters")
    settings = load(COMPOSE / "evenkeel.yaml", {}, {})
    assert settings.storage.redis is not None
    assert settings.storage.redis.url == "redis://redis:6379/0"
    for name in ROLES:
        tokens = {"EVENKEEL_ADMIN_TOKEN", *(person.token_env for person in settings.access.people)}
        assert {*tokens, "EVENKEEL_REDIS_PASSWORD"} <= SERVICES[name]["environment"].keys()
    limit = int(re.search(r"maxmemory (\d+)gb", (COMPOSE / "redis.conf").read_text())[1])
    assert limit * 1000 > 2 * settings.storage.redis.megabytes


def test_prometheus_scrapes_every_role_with_the_rules_of_the_example():
    """The stack's file differs from the example in addresses only."""
    stack = yaml.safe_load((COMPOSE / "prometheus.yml").read_text(encoding="utf-8"))
    example = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8"))
    [job] = stack["scrape_configs"]
    assert set(job["dns_sd_configs"][0]["names"]) == set(ROLES)
    assert job["job_name"] == example["scrape_configs"][0]["job_name"]
    assert stack["rule_files"] == example["rule_files"]
    assert stack["global"].keys() == example["global"].keys()
    assert stack["alerting"]["alert_relabel_configs"] == example["alerting"]["alert_relabel_configs"]


@pytest.mark.service("promtool")
def test_promtool_takes_the_configuration(tmp_path):
    """The rules are beside it, as they are mounted."""
    (tmp_path / "token").write_text("token")
    text = (COMPOSE / "prometheus.yml").read_text().replace("/tmp/metrics-token", str(tmp_path / "token"))
    (tmp_path / "prometheus.yml").write_text(text)
    (tmp_path / "rules").symlink_to(ROOT / "deploy/prometheus/rules")
    done = subprocess.run(
        ["promtool", "check", "config", "prometheus.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rules found" in done.stdout


@pytest.fixture(scope="module")
def stack_redis(tmp_path_factory):
    """The stack's Redis: its own command and configuration, on a free port."""
    folder, port = tmp_path_factory.mktemp("redis"), free_port()
    conf = folder / "mounted.conf"
    conf.write_text((COMPOSE / "redis.conf").read_text().replace("dir /data", f"dir {folder}"))
    [script] = SERVICES["redis"]["command"]
    script = script.replace("/etc/redis/redis.conf", str(conf)).replace(
        "/tmp/redis.conf", f"{folder}/made.conf"
    )
    command = [
        *SERVICES["redis"]["entrypoint"],
        f"{script.replace('$$', '$')} --port {port} --bind 127.0.0.1",
    ]
    process = subprocess.Popen(
        command, env={**os.environ, "EVENKEEL_REDIS_PASSWORD": "word"}, stdout=subprocess.PIPE
    )

    def answers():
        with contextlib.suppress(redis.ConnectionError, redis.BusyLoadingError), client(port) as connection:
            return connection.ping()
        return False

    wait_for(answers, "for Redis")
    yield port, folder
    process.terminate()
    process.communicate(timeout=240)


def client(port, password="word"):
    return redis.Redis(port=port, password=password, retry=None)


@pytest.mark.service("redis-server")
def test_the_stack_s_redis_asks_for_the_password_and_forgets_nothing(stack_redis):
    """Redis takes its configuration, is closed to others, and the password is in no argument or open file."""
    port, folder = stack_redis
    with client(port) as connection:
        assert connection.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
        assert connection.config_get("appendonly")["appendonly"] == "yes"
    with client(port, None) as nobody, pytest.raises(redis.AuthenticationError):
        nobody.ping()
    assert (folder / "made.conf").stat().st_mode & 0o077 == 0


@pytest.mark.service("redis-server")
def test_the_roles_run_as_they_are_started_in_containers(stack_redis, tmp_path):
    """Compose's commands, settings and health check, as processes: each role gets healthy and stops."""
    port, _ = stack_redis
    env = {
        **os.environ,
        "EVENKEEL_ADMIN_TOKEN": "token-of-sixteen-characters",
        "EVENKEEL_METRICS_TOKEN": "another-of-sixteen-characters",
        "EVENKEEL_REDIS_PASSWORD": "word",
    }
    settings = yaml.safe_load((COMPOSE / "evenkeel.yaml").read_text(encoding="utf-8"))
    settings["storage"]["redis"]["url"] = f"redis://127.0.0.1:{port}/0"
    settings["listen"] = {"host": "127.0.0.1", "port": free_port()}
    settings["data_dir"] = str(tmp_path)
    settings["judge"] = None  # without a key for it a worker is not ready
    file = tmp_path / "evenkeel.yaml"
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    started = []
    with contextlib.ExitStack() as stack:
        for name in ROLES:
            admin = free_port()
            places = {"/etc/evenkeel/evenkeel.yaml": str(file), "8101": str(admin)}
            command = [places.get(part, part) for part in SERVICES[name]["command"]]
            process = subprocess.Popen(
                [sys.executable, "-m", "evenkeel", *command],
                env=env,
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            stack.callback(process.kill)
            started.append((f"http://127.0.0.1:{admin}", process))
        for url, _ in started:
            wait_for(lambda url=url: httpx2.get(f"{url}/healthz").is_success)
            wait_for(lambda url=url: httpx2.get(f"{url}/readyz").is_success)
            scraper = {"authorization": "Bearer another-of-sixteen-characters"}
            assert httpx2.get(f"{url}/metrics", headers=scraper).is_success
        check = [part.replace("8101", started[1][0].rpartition(":")[2]) for part in the_healthcheck()]
        assert subprocess.run([sys.executable, *check[1:]], check=False).returncode == 0
        for _, process in started:
            process.send_signal(signal.SIGTERM)
        for name, (_, process) in zip(ROLES, started, strict=True):
            said, _ = process.communicate(timeout=240)
            assert process.returncode == 0, (name, said)
            assert "word" not in said
        assert subprocess.run([sys.executable, *check[1:]], check=False, stderr=subprocess.DEVNULL).returncode
