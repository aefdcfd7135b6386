"""Memory of bodies: kept for reuse instead of being returned to the kernel each time.

A relay allocates and frees pieces of up to 256 KB all the time. Where glibc returns the top of its
heap to the kernel after each, every piece costs a page fault for each of its 4 KB: about a tenth of
the work on bodies of 64 KB and 1 MB.
"""

from __future__ import annotations

import ctypes

# Numbers of glibc's `mallopt` parameters, from malloc.h.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3  # parameters of mallopt, malloc.h

# Free memory at the end of the heap that is kept; what is above goes back to the system.
KEPT_BYTES = 8 << 20
# Large bodies get a mapping of their own, which goes back as soon as they are freed.
MAPPED_FROM_BYTES = 1 << 20


def keep_freed_memory() -> bool:
    """Let this process keep up to 8 MB of freed memory, for all its life.

    Blocks from 1 MB on are still mapped and unmapped one by one. Returns False where the C library
    has no such setting; nothing is different then.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, KEPT_BYTES) and mallopt(_MMAP_THRESHOLD, MAPPED_FROM_BYTES))
