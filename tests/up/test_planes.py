"""A text that no computing comes back from costs its own exchange: no page and no other one waits for it."""

import os

import pytest

from tests.kit.relaying import ask
from tests.services import wait_for

pytestmark = pytest.mark.system

PATCH = """
import re, sys
if sys.orig_argv[-2:] == ["child", "worker"]:
    from evenkeel.runtime.roles import worker
    from evenkeel.shadow.original import Reader
    worker._EXCHANGE_PROCESSOR_S = 1.5
    read = Reader.read
    def spin(self, exchange):
        if b"NEVER ENDS" in exchange.request_body:
            re.match('(a+)+$', 'a' * 64 + '!')  # in C, which holds the interpreter
        return read(self, exchange)
    Reader.read = spin
"""
DEAD = "evenkeel_exchanges_dead_total"


@pytest.fixture
def planted(tmp_path):
    """Variables of an evenkeel whose worker does not come back from some texts."""
    (tmp_path / "sitecustomize.py").write_text(PATCH)
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}


def interleaved(url):
    """Send two exchanges that never end among eight good ones."""
    for place in range(2):
        ask(url, range(4 * place, 4 * place + 2))
        ask(url, [100 + place], system="NEVER ENDS")
        ask(url, range(4 * place + 2, 4 * place + 4))


def test_what_never_ends_becomes_a_dead_letter_while_pages_are_served(start, upstream, planted):
    """The worker is killed each time; everything else is scored, and was delivered once."""
    options = ("--upstream", upstream, "--sampling-rate", "1")
    with start(*options, environment=planted) as running:
        interleaved(running.url)
        worker, monitor = running.child("worker"), running.child("monitor")

        def given_up():
            assert running.page("/healthz") == "ok\n"
            assert "evenkeel" in running.page("/")
            return running.metric(DEAD, reason="processor_time") == 2

        wait_for(given_up, what="two are given up")

        def controls():
            cells = running.get("/api/cells")["cells"]
            return [cell["trials"] for cell in cells if cell["perturbation"] == "baseline.identical"]

        wait_for(lambda: sum(controls()) >= 8, what="eight are scored")
        wait_for(running.is_idle)
        assert controls() == [8]
        assert running.metric(DEAD) == 2
        assert running.page("/pipeline").count(">processor time<") == 2
        assert running.child("worker") != worker
        assert running.child("monitor") == monitor
        assert "which is given up; starting it again" in running.log.read_text()
