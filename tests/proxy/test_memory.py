import ctypes
import os
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
from evenkeel.proxy.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def bodies():
    return [b"x" * 200_000 for _ in range(20)]
bodies()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    bodies()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_freed_memory_is_used_again_without_page_faults():
    """Fifty rounds of 20 bodies, 4 MB, take pages from the kernel only before the first round ends."""
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("this C library has no such setting")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC")}
    faults = {
        how: int(
            subprocess.run(
                [sys.executable, "-c", PROGRAM, how], check=True, capture_output=True, text=True, env=plain
            ).stdout
        )
        for how in ("keep", "default")
    }
    # Each round touches about 1,000 pages of 4 KB.
    assert faults["keep"] < 1_000
    assert faults["default"] > 4 * faults["keep"]
