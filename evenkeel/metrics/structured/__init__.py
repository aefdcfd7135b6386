"""Answers that have a structure: read into one tree, aligned, compared by their values.

`reading` finds the structure (alone, fenced, or with talk around it) and has it read as `json`, `yaml`,
`xml` or `html` (Markdown by way of it), strictly or with repairs; `alignment` pairs the values of two
`tree`s. What compares the values is in `lab/metrics`.
"""
