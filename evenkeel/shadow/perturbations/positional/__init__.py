"""Positional perturbations: whole parts of a prompt move, and no word changes.

`layout` cuts a prompt into units and knows what binds them, `listing` has a model say it, and `moves` holds
the perturbations.
"""
