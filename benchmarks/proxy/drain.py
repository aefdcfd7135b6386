"""In place of workers: empties evenkeel's queue, so that every sampled exchange finds room in it.

    python -m benchmarks.proxy.drain DATABASE

At the rates of a benchmark no number of workers could replay the testing. Undrained, the queue would be
full after seconds, and from then on nothing would be measured but the counting of what is dropped.
Prints how many exchanges there have been.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from pathlib import Path

_EVERY_S = 0.2
_PATIENCE_S = 5.0


def drain(path: Path) -> None:
    """Go on until killed."""
    while not path.exists():
        time.sleep(_EVERY_S)
    connection = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)
    total = 0
    while True:
        time.sleep(_EVERY_S)
        try:
            gone = connection.execute("DELETE FROM exchanges").rowcount
        except sqlite3.OperationalError:
            # Locked for longer than the patience, or the table is not there yet.
            continue
        if gone:
            total += gone
            print(total, flush=True)


if __name__ == "__main__":
    drain(Path(sys.argv[1]))
