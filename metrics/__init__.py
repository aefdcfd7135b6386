"""Judgement plane: from a pair of answers to a gauge and an alert. Imports nothing of ours.

`pair` (two answers) → `similarity`, `quality`, `judge` (rate them) → `scoring` (the two-stage
`Judgement`) → `verdict` (logged in `stores`) → `estimate` (rates with intervals) → `detect`
(evidence against a threshold) → `cells`, `monitor` (the fold over the log) → `export` (Prometheus).
"""
