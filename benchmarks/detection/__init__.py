"""How rarely the detectors alarm without cause, and how soon with one, compared with alternatives.

`passages` runs many detectors at once, `alerts` measures the alert on a cell, `drift` that of a rate against
what it was.
"""
