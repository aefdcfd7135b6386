"""Experiments that a person starts: goldens, gate, calibration, bench, judge audit, reports."""
