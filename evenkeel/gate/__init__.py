"""`evenkeel gate`: does a candidate (model, endpoint, prompt) answer the goldens worse than before?

`arguments` (words of the command line) → `options` → `command`: `sides` (what each side is asked, with the
`edits` of a candidate's prompt), `run` (asks with `asking` and its `cache`, scores with `scoring`, tells
`metrics.gate`) → an `Outcome` → `table` (terminal), `markdown`, `junit` and `document` (JSON).
"""
