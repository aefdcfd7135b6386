"""`evenkeel gate`: does a candidate (model, endpoint, prompt) answer the goldens worse than before?

`arguments` (words of the command line) → `options` → `command`: `goldens`, `comparison` of two `sides` (what
each is asked, with the `edits` of a candidate's prompt), `estimate` of the cost, `run` (asks with `asking`
and its `cache`, scores with `scoring` and the `thresholds` of a calibration, tells `metrics.gate`) → an
`outcome` → `table` (terminal), `markdown`, `junit` and `document` (JSON), in one `wording`.
"""
