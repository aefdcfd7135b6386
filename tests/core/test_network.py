"""The environment's proxies, fixed headers and certificates."""

import pytest

from evenkeel.core import network
from tests.cases import cases
from tests.kit.certificates import Authority

CASES = cases(__file__)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    """No test depends on the proxies of the machine that runs it."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(("exempt", "host", "direct"), CASES["exempt"])
def test_no_proxy(monkeypatch, exempt, host, direct):
    """NO_PROXY holds names, parent domains, ports, addresses and networks."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", exempt)
    assert (network.proxy_for(host, 443, tls=True) is None) == direct


def test_which_proxy(monkeypatch):
    """Each scheme has its own, ALL_PROXY stands in, and plain HTTP on this machine needs none."""
    monkeypatch.setenv("HTTPS_PROXY", "http://me:p%40ss@secure")
    monkeypatch.setenv("ALL_PROXY", "any:8080")
    proxy = network.proxy_of("https://api.example.com/v1")
    assert (proxy.host, proxy.port, proxy.authorization) == ("secure", 80, "Basic bWU6cEBzcw==")
    assert "p%40ss" not in f"{proxy}{proxy!r}"
    assert str(network.proxy_of("http://api.example.com/v1")) == "any:8080"
    assert network.proxy_of("http://localhost:11434/v1") is None
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:secret@proxy")
    with pytest.raises(network.NetworkError, match=r"write http://HOST:PORT") as caught:
        network.proxy_of("https://api.example.com/v1")
    assert "secret" not in str(caught.value)


def test_fixed_headers(monkeypatch):
    """The variable holds pairs in one line; anything else is refused without its value."""
    monkeypatch.setenv("EVENKEEL_HEADERS", "X-Team=ml%2C support, x-egress=7")
    assert network.fixed_headers() == (("x-team", "ml, support"), ("x-egress", "7"))
    monkeypatch.setenv("EVENKEEL_HEADERS", "x-team=a%0D%0Asecret")
    with pytest.raises(network.NetworkError, match="x-team") as caught:
        network.fixed_headers()
    assert "secret" not in str(caught.value)


def test_files_that_cannot_be_used(monkeypatch, tmp_path):
    """A missing authority, a locked key and a key alone are named."""
    cert, key = Authority(tmp_path).signed("client", password=b"secret")
    monkeypatch.setenv("EVENKEEL_CLIENT_KEY", str(key))
    with pytest.raises(network.NetworkError, match="without EVENKEEL_CLIENT_CERT"):
        network.trust()
    monkeypatch.setenv("EVENKEEL_CLIENT_CERT", str(cert))
    with pytest.raises(network.NetworkError, match="without a passphrase"):
        network.trust()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(network.NetworkError, match=r"none\.pem, which does not exist"):
        network.trust()
