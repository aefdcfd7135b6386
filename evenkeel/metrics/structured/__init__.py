"""Answers that have a structure: read into one tree.

`reading` finds the structure (alone, fenced, or with talk around it) and has it read as `json`, `yaml`,
`xml` or `html` (Markdown by way of it), strictly or with repairs. What aligns two `tree`s and compares their
values is in `lab/metrics`.
"""
