"""How rarely the detectors alarm without cause, and how soon with one.

`traffic` folds generated logs by the monitor, `references` measures the test by reference prompts, `causes`
the causes that are named for planted changes, and `days` plays recorded changes behind worker and monitor.
"""
