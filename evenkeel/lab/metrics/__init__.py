"""Metrics that studies need and live monitoring does not: those of the papers, and encoders.

They reach `evenkeel.metrics.registry` as those of every other package do, by the entry points in
`pyproject.toml`.
"""
