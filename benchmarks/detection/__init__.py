"""Benchmarks of detection: how often alarms have no cause, and how soon a change is found.

`traffic` folds generated logs into the monitor, `references` measures the test by reference prompts, `causes`
checks the causes that reports name for planted changes, and `days` plays recorded changes behind a worker and
a monitor.
"""
