"""`evenkeel calibrate`: what scores mean, measured on goldens that are degraded by known amounts.

`candidates` (goldens, degraded) → scores (`scoring` by metrics, `judge`) → a `score_table` → `calibrate`
(`sensitivity`, `threshold`) → a `Calibration` and its `report`.
The limits of live alerts are placed by quiet traffic, in `evenkeel.release.calibration`.
"""
