"""`evenkeel demo`: the whole product against a simulated model whose true deltas are known.

`processes` starts `simulate` and `up`; `traffic` is an application on the real openai SDK; `comparison`
holds what was measured against what was planted; `story` runs the phases and tells them.
"""

from evenkeel.simulate.demo.story import run_demo

__all__ = ["run_demo"]
