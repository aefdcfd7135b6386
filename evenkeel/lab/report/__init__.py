"""`evenkeel report`: the paper's tables from live traffic between two dates, or around a change.

`period` says from when to when and finds its place in the verdict log, `counts` adds up what is read,
`tables` makes tables of that and `sides` compares the two sides of a change. `findings` is all of it;
`sentences` says the first page in words, `document` writes everything, for people and for machines.
"""
