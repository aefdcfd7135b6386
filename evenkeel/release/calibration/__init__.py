"""The calibration as the product reads it: thresholds of metrics for the gate, limits for the live alerts.

`calibration` is the file `calibration.yaml` that `evenkeel calibrate` writes, `forms` tells which answers it
is about, `columns` and `judge` give the scores that it is held against. `limits` is the file `limits.json`;
`quiet` places limits by a route's own traffic, and `proposals` offers them while a monitor runs. Goldens are
degraded and measured in `evenkeel.lab.calibrate`.
"""
