"""`evenkeel calibrate`: what scores mean, measured on goldens that are degraded by known amounts.

`goldens` (which answers) → `candidates` (degraded ones) → `cheap`, `encoded`, `judged` (their scores, kept
in the `journal` at once) → `scores` (a table) → `metrics.calibration` → `written` (files) and `table` (the
terminal). `scoring` decides what is still missing, `asking` does so for the judge.
"""
