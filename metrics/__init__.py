"""Judgement plane: from a pair of answers to a gauge and an alert. Imports nothing of ours.

`pair` (two answers) → `tasks` (what they are for) → `similarity`, `judge` (rate them, `cascade` asking
the judge only where it is needed and `noise` watching it), `quality` (what else changed) → `scoring`
(the two-stage `Judgement`) → `verdict` (logged in `stores`) → `estimate` (rates with intervals) → `detect`
(evidence against a threshold) → `cells`, `monitor` (the fold over the log) → `export` (Prometheus).

`registry` names every metric of `lexical`, `semantic`, `structured`, `entity`, `tools`, `surface` and
`structural`; `audit` holds a judge against people; `calibration` sets thresholds.
"""
