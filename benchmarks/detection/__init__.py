"""How rarely the detectors alarm without cause, and how soon with one, compared with alternatives.

`passages` runs many detectors at once, `rates` compares them with the optimum and with what is used
elsewhere, `tables` makes the tables.
"""
