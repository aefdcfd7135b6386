"""Settings that would give something away are refused, in a line that repeats no credential."""

import os
import re
import subprocess
import sys

import pytest

from evenkeel.core.challenge import Challenge
from evenkeel.runtime.stores import opened, settings_of_stores
from evenkeel.settings import SettingsError
from evenkeel.settings.settings import load
from evenkeel.stores.errors import StoreError
from tests.cases import cases
from tests.security.desk import access_of

CASES = cases(__file__)

MARKER = "sk-marker-6c2d"
ROUTE = "routes: [{upstream: 'http://a'}]\n"
ADMIN, SESSION = "EVENKEEL_ADMIN_TOKEN", "EVENKEEL_SESSION_KEY"


@pytest.mark.parametrize("text", CASES["credentials"])
def test_an_error_in_the_settings_repeats_no_credential(tmp_path, text):
    """The place is named, in one line, and what stands there is not."""
    path = tmp_path / "evenkeel.yaml"
    path.write_text(text.replace("ROUTE\n", ROUTE).replace("MARKER", MARKER))
    with pytest.raises(SettingsError) as refused:
        load(path, {}, {})
    message = str(refused.value)
    assert MARKER not in message
    assert "\n" not in message
    assert len(message) > len(str(path)) + 10


def test_a_file_that_is_nested_without_end_is_refused(tmp_path):
    """The error is one line with the file's name, as for every file that cannot be read."""
    path = tmp_path / "evenkeel.yaml"
    path.write_text("[" * 600)
    with pytest.raises(SettingsError, match=r"evenkeel\.yaml: is nested too deeply"):
        load(path, {}, {})


TOKENS = {"T_ANN": "token-of-our-ann", "T_VIC": "token-of-our-vic", "SHORT": "x" * 15}


@pytest.mark.parametrize(("access", "message"), CASES["refused"])
def test_access_that_lets_in_the_wrong_people_is_refused(tmp_path, monkeypatch, access, message):
    """The start fails, in a line that shows no token: beyond loopback, and where a token protects nothing."""
    for name, value in TOKENS.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=re.escape(message)) as refused:
        access_of(tmp_path, access)
    assert not any(token in str(refused.value) for token in TOKENS.values())


def test_a_command_that_serves_nothing_needs_no_secret(tmp_path):
    """Who reads the store at night has the settings file, and none of the variables that it names."""
    path = tmp_path / "evenkeel.yaml"
    path.write_text(
        f"{ROUTE}access: {{host: 0.0.0.0, people: [{{name: ann, token_env: NONE}}],"
        " tls: {cert_file: none.pem, key_file: none.pem}}\n"
        f"storage: {{encrypted: true}}\ndata_dir: {tmp_path}\n"
    )
    with opened(settings_of_stores(path, None), create=True) as stores:
        with pytest.raises(StoreError, match="encrypted is set, but EVENKEEL_PAYLOAD_KEY holds no key"):
            stores.challenges.put(Challenge(route="support", model="small"))
        assert stores.verdicts.latest(1) == []


def test_a_short_token_is_one_line_also_without_a_section():
    """The default of a section is made as modules are loaded; nothing may fail there."""
    short = dict.fromkeys((ADMIN, SESSION), "short")
    command = [sys.executable, "-m", "evenkeel", "check-config", "--upstream", "http://127.0.0.1:9"]
    done = subprocess.run(
        command, env=os.environ | short, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"the token in the variable {ADMIN} has 5 characters" in done.stderr


@pytest.mark.parametrize(
    ("variable", "value", "access", "message"),
    [
        (ADMIN, TOKENS["SHORT"], "port: 0", f"{ADMIN} has 15 characters; it needs at least 16"),
        (SESSION, TOKENS["SHORT"], "port: 0", f"{SESSION} has 15 characters; it needs at least 16"),
        (ADMIN, TOKENS["T_ANN"], "people: [{name: ann, token_env: T_ANN}]", "the same token"),
        (ADMIN, TOKENS["T_ANN"], "open_on_loopback: true", "open_on_loopback is set beside"),
    ],
)
def test_a_variable_that_protects_nothing_is_refused(tmp_path, monkeypatch, variable, value, access, message):
    """A token may be guessed, be somebody's own, or stand beside a port that asks for none."""
    for name, token in {**TOKENS, variable: value}.items():
        monkeypatch.setenv(name, token)
    with pytest.raises(SettingsError, match=re.escape(message)):
        access_of(tmp_path, access)
