"""`evenkeel report`: the paper's tables from live traffic between two dates, or around a change.

`period` says from when to when, `reading` finds its place in the verdict log, `folding` counts what it reads,
`tables` makes tables of that, `sides` holds the two sides of a change against each other. `outcome` is
all of it; `sentences`, `page`, `pdf`, `markdown` and `document` write it down.
"""
