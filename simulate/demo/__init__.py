"""`evenkeel demo`: the whole product against a simulated model whose true deltas are known.

`processes` starts `simulate` and `up` and sends traffic; `story` runs the phases and compares what was
measured with what was planted.
"""

from evenkeel.simulate.demo.story import run_demo

__all__ = ["run_demo"]
