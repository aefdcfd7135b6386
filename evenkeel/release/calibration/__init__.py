"""Limits of the live alerts, placed by a route's own quiet traffic.

`limits` is the file `limits.json`; `quiet` places limits where quiet traffic stays below them.
"""
