"""Records that several threads read for the first time at once."""

import subprocess
import sys

SCRIPT = """
import sys, threading
sys.setswitchinterval(1e-6)
from evenkeel.core.challenge import ChallengeAnswer, ChallengePair, ChallengeRewording
from evenkeel.core.records import from_json, to_json
answer = ChallengeAnswer(characters=1, tool_calls=("a",))
rewording = ChallengeRewording(perturbation="x")
pair = ChallengePair(
    challenge="c", exchange="e", time=1.0, served=answer, again=answer, candidate=answer, rewording=rewording
)
text = to_json(pair)
together = threading.Barrier(6)
def read():
    together.wait()
    for _ in range(50):
        from_json(text, ChallengePair)
threads = [threading.Thread(target=read) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_threads_that_read_a_kind_for_the_first_time_do_not_crash_the_process():
    """Seven processes of ten died without a lock around msgspec's first look at the class."""
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
