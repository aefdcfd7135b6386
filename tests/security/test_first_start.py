"""The first start: a token is made, lies where only its owner reads it, and a link brings it once."""

import os
import re
import stat

import pytest
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.console.guard import own_path
from evenkeel.runtime.process import guarded
from evenkeel.stores.keys import ADMIN_TOKEN, KEY_FILES, LOGIN_CODE, METRICS_TOKEN, fresh, kept, redeemed
from tests.security.desk import LOCAL, access_of, bearer, console_over, pages

PAGE = {"accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def port(tmp_path, folder):
    """The admin port of settings that name no token."""
    guard = guarded(pages(), access_of(tmp_path), folder)
    with TestClient(guard, base_url=LOCAL) as client:
        client.follow_redirects = False
        yield client


def shown(folder, name):
    return bearer(kept(folder, name))


def test_without_a_token_nobody_reads_anything_on_loopback(port, folder):
    """Any user of the machine reaches the port; a made token opens it, another one only the metrics."""
    for path in ("/", "/metrics", "/trials", "/api/cells"):
        assert port.get(path).status_code == 401
        assert port.get(path, headers=shown(folder, ADMIN_TOKEN)).text == "content"
    assert port.get("/metrics", headers=shown(folder, METRICS_TOKEN)).text == "content"
    assert port.get("/", headers=shown(folder, METRICS_TOKEN)).status_code == 403
    assert port.get("/static/console.css").text == "content"


def test_what_is_made_is_long_stays_and_is_the_owners_alone(folder):
    """32 random bytes; mode 0600 in a folder of mode 0700, whatever the umask is; the same the next time."""
    before = os.umask(0)
    try:
        made = {name: kept(folder, name) for name in sorted(KEY_FILES)}
    finally:
        os.umask(before)
    assert len(set(made.values())) == 4
    assert all(len(text) >= 43 for text in made.values())
    assert {name: kept(folder, name) for name in sorted(KEY_FILES)} == made
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert {file.name for file in folder.iterdir()} == KEY_FILES


@pytest.mark.parametrize("spoil", ["read", "short", "empty", "link", "binary"])
def test_a_token_that_others_could_know_is_replaced(folder, tmp_path, spoil):
    """A token that was readable, cut, or put there as a link is never used."""
    old = kept(folder, ADMIN_TOKEN)
    file = folder / ADMIN_TOKEN
    if spoil == "read":
        file.chmod(0o640)
    elif spoil == "link":
        (tmp_path / "theirs").write_text("a-token-that-somebody-else-has-chosen-to-put-there\n")
        file.unlink()
        file.symlink_to(tmp_path / "theirs")
    else:
        file.write_bytes({"short": b"short\n", "empty": b"", "binary": b"\xff\x00" * 40}[spoil])
    new = kept(folder, ADMIN_TOKEN)
    assert new != old
    assert len(new) >= 43
    assert not file.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert kept(folder, ADMIN_TOKEN) == new


def test_the_link_signs_in_once(port, folder):
    """A cookie that no script reads and no other site sends stands for the token; the address is clean."""
    code = fresh(folder, LOGIN_CODE)
    answer = port.get(f"/login?code={code}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert re.search(r"; Path=/; Max-Age=86400; HttpOnly; SameSite=Strict$", cookie)
    assert code not in cookie
    assert kept(folder, ADMIN_TOKEN) not in cookie
    assert port.get("/").text == "content"
    port.cookies.clear()
    again = port.get(f"/login?code={code}")
    assert again.status_code == 401
    assert "This link has been used" in again.text
    assert "set-cookie" not in again.headers


def test_a_link_is_too_old_after_an_hour(folder):
    """The attempt uses it up; a wrong one uses nothing up."""
    code = fresh(folder, LOGIN_CODE)
    made = (folder / LOGIN_CODE).stat().st_mtime
    assert not redeemed(folder, "guessed", now=made)
    assert not redeemed(folder, "", now=made)
    assert not redeemed(folder, code, now=made + 3601)
    assert not redeemed(folder, code, now=made)
    assert redeemed(folder, fresh(folder, LOGIN_CODE), now=made)


def test_codes_are_throttled_as_tokens_are(port, folder, caplog):
    """Ten wrong ones in a minute, and the right one has to wait; the log shows none of them."""
    code = fresh(folder, LOGIN_CODE)
    assert [port.get(f"/login?code=guess{number}").status_code for number in range(10)] == [401] * 10
    assert port.get(f"/login?code={code}").status_code == 429
    assert port.post("/login", data={"token": kept(folder, ADMIN_TOKEN)}).status_code == 429
    assert "wrong login code from" in caplog.text
    assert not any("guess" in line.getMessage() for line in caplog.records if line.name == "evenkeel.console")


def test_a_page_of_another_site_locks_nobody_out(port, folder):
    """Pictures of it may point at the sign-in page as often as they like."""
    for number in range(20):
        port.get(f"/login?code=guess{number}", headers={"sec-fetch-site": "cross-site"})
    assert port.post("/login", data={"token": kept(folder, ADMIN_TOKEN)}).status_code == 303


def test_the_page_takes_the_token_and_goes_on(port, folder):
    """The page that was asked for comes next; a wrong token is refused with the place of the right one."""
    refused = port.get("/trials?route=a", headers=PAGE)
    assert refused.status_code == 401
    assert not refused.headers["www-authenticate"].startswith("Basic")
    assert 'name="next" value="/trials?route=a"' in refused.text
    wrong = port.post("/login", data={"token": "wrong", "next": "/trials?route=a"})
    assert (wrong.status_code, "This is not the token." in wrong.text) == (401, True)
    assert "<code>admin-token</code> of the data folder" in wrong.text
    right = port.post("/login", data={"token": kept(folder, ADMIN_TOKEN), "next": "/trials?route=a"})
    assert (right.status_code, right.headers["location"]) == (303, "/trials?route=a")
    assert port.get("/trials").text == "content"
    out = port.post("/logout")
    assert (out.status_code, out.headers["location"]) == (303, "/login")
    assert port.get("/trials").status_code == 401
    assert "admin-token" in port.get("/trials").text


def test_the_way_on_stays_on_this_port():
    outside = [
        "//evil.test",
        "/\\evil.test",
        "https://evil.test",
        "javascript:alert(1)",
        "",
        "evil",
        "\\\\evil",
    ]
    outside += ["/\t/evil.test", "/\n/evil.test", "/logout", "/login?code=x", "/" + "x" * 2000, "/ä"]
    assert {own_path(path) for path in outside} == {"/"}


def test_a_page_of_another_site_signs_nobody_in_or_out(port, folder):
    """The right token does not help: actions would be recorded under a name of its choosing."""
    token = {"token": kept(folder, ADMIN_TOKEN)}
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "http://evil.test"}):
        for path in ("/login", "/logout"):
            answer = port.post(path, data=token, headers=headers)
            assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    assert port.get("/logout").status_code == 405
    assert port.post("/login", json=token).status_code == 401
    assert port.post("/login", data={"token": "x" * 9000}).status_code == 401


def test_a_session_ends_with_its_token_its_key_or_its_time(tmp_path, folder, monkeypatch):
    """A cookie of a token that was replaced opens nothing, nor a forged, changed or old one."""
    app = pages()
    now = [1_000_000.0]
    monkeypatch.setattr("evenkeel.runtime.process.time.time", lambda: now[0])

    def asked(*cookies):
        """Ask a process that has just started."""
        with TestClient(guarded(app, access_of(tmp_path), folder), base_url=LOCAL) as client:
            return [client.get("/", headers={"cookie": cookie}).status_code for cookie in cookies]

    with TestClient(guarded(app, access_of(tmp_path), folder), base_url=LOCAL) as client:
        given = client.post("/login", data={"token": kept(folder, ADMIN_TOKEN)}, follow_redirects=False)
        cookie = given.headers["set-cookie"].partition(";")[0]
    name, _, value = cookie.partition("=")
    forged = ("", value[:-4], value[:-8] + "AAAAAAA=", value.swapcase(), "AAAA")
    assert asked(cookie, *(f"{name}={wrong}" for wrong in forged)) == [200, 401, 401, 401, 401, 401]
    now[0] += 24 * 3600 + 1
    assert asked(cookie) == [401]
    now[0] -= 24 * 3600
    assert asked(cookie) == [200]
    fresh(folder, ADMIN_TOKEN)
    assert asked(cookie) == [401]


def test_one_setting_turns_it_off_on_loopback(tmp_path, folder):
    guard = guarded(pages(), access_of(tmp_path, "{open_on_loopback: true}"), folder)
    with TestClient(guard, base_url=LOCAL) as client:
        assert client.get("/").text == "content"
    assert not folder.exists()


def test_forms_work_for_whoever_signed_in_with_the_page(tmp_path, database, folder):
    """The cookie is enough for a form of the console's own, and for nothing that another site sends."""
    guard = guarded(create_app(console_over(database)), access_of(tmp_path), folder)
    with TestClient(guard, base_url=LOCAL) as client:
        assert client.get("/", headers=PAGE).status_code == 401
        client.post("/login", data={"token": kept(folder, ADMIN_TOKEN)})
        assert client.get("/goldens", headers=PAGE).status_code == 200
        crossing = {"sec-fetch-site": "cross-site"}
        assert client.post("/api/goldens", json={"retire": "g"}, headers=crossing).status_code == 403
        assert client.post("/api/goldens", json={"retire": "g", "by": "ann"}).status_code == 400
