"""`evenkeel calibrate`: what scores mean, measured on goldens that are degraded by known amounts.

`candidates` (goldens of one form, degraded) → scores, kept in the
`journal` at once (`scoring` by heuristics and an `encoder`, `judge`) → a `score_table` → `calibrate`
(`sensitivity`, `threshold`) → a `Calibration`, its `report` and its `rules`.
`limits` degrades goldens to place the limits of live alerts. What the product reads of all this is in
`evenkeel.release.calibration`.
"""
