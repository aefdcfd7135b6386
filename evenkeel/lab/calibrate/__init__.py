"""`evenkeel calibrate`: what scores mean, measured on goldens that are degraded by known amounts.

`candidates` (goldens of one form, degraded) → scores, kept in the
`journal` at once (`scoring` by heuristics and an `encoder`, `judge`) → a `score_table` → `calibrate`
(`sensitivity`, `threshold`) → a `Calibration` and its `report`.
The limits of live alerts are placed by quiet traffic, in `evenkeel.release.calibration`.
"""
