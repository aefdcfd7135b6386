"""`evenkeel goldens`: approve, look up, move and retire goldens, while `up` runs or not.

`choosing` (which exchanges can be approved) ← `command`; `page` prints.
"""
