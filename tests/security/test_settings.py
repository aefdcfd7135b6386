"""A credential that somebody wrote where it does not belong is not repeated: errors end in logs."""

from __future__ import annotations

import pytest

from evenkeel.settings import SettingsError
from evenkeel.settings.settings import load

MARKER = "sk-marker-6c2d"
ROUTE = "routes: [{upstream: 'http://a'}]\n"


@pytest.mark.parametrize(
    "text",
    [
        f"routes: [{{upstream: 'http://a', api_key_env: {MARKER}}}]",
        f"routes: [{{upstream: 'http://a', api_key: {MARKER}}}]",
        f"routes: [{{upstream: 'http://ann:{MARKER}@a:99999'}}]",
        f"routes: [{{upstream: 'http://ann:{MARKER}@a b'}}]",
        f"routes: [{{upstream: 'http://a/v1?key={MARKER}'}}]",
        f"routes: [{{upstream: 'http://a', headers: {{authorization: [{MARKER}]}}}}]",
        f"routes: [{{upstream: 'http://a', headers: {MARKER}}}]",
        f"routes: {{upstream: 'http://a', api_key: {MARKER}}}",
        f"{ROUTE}admin: {{token_env: {MARKER}}}",
        f"{ROUTE}judge: {{model: m, api_key_env: {MARKER}}}",
        f"{ROUTE}alerts: {{webhook: 'htp://hooks.example.org/{MARKER}'}}",
        f"{ROUTE}alerts: {{notify: [{MARKER}]}}",
        f"{ROUTE}storage: {{redis: {{url: 'redis://:{MARKER}@r'}}}}",
        f"{ROUTE}storage: {{redis: 'redis://:{MARKER}@r'}}",
        f"{ROUTE}storage: {{redis: {{url: 'redis://r', password_env: {MARKER}}}}}",
        f"{ROUTE}replays: {{api_key_env: {MARKER}}}",
    ],
)
def test_an_error_in_the_settings_repeats_no_credential(tmp_path, text):
    """The place is named, in one line, and what stands there is not."""
    path = tmp_path / "evenkeel.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError) as refused:
        load(path, {}, {})
    said = str(refused.value)
    assert MARKER not in said
    assert "\n" not in said
    assert len(said) > len(str(path)) + 10


def test_a_file_that_is_nested_without_end_is_refused(tmp_path):
    """As every file that cannot be read: in one line, with its name."""
    path = tmp_path / "evenkeel.yaml"
    path.write_text("[" * 2000)
    with pytest.raises(SettingsError, match=r"evenkeel\.yaml: is nested too deeply"):
        load(path, {}, {})
