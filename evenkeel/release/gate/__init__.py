"""`evenkeel gate`: does a candidate (model, endpoint, prompt) answer the goldens worse than before?

`sides` (what candidate and reference are asked) → `run` (asks until `evenkeel.monitor.detect.gate` is
settled; scores with `scoring`) → an `Outcome` → `reports`.
"""
