"""`evenkeel gate`: does a candidate (model, endpoint, prompt) answer the goldens worse than before?

`sides` (what candidate and reference are asked, with the `edits` of a candidate's prompt) → `run` (asks until
`evenkeel.monitor.detect.gate` is settled; scores with `scoring`) → an `Outcome` → `reports`.
"""
