"""`evenkeel bench`: how robust some models are, measured offline on a set of IT issues.

`items` says what an issue holds, `reading` loads them, `data` has the sixty that come along. `prompts` puts
one to a model in four ways; `variants` perturbs those prompts. `asking` asks models, never twice for the
same, `rounds` has all answers to one prompt compared, `protocol` goes through everything. `shares` makes
figures with intervals of the outcomes and `tables` the tables of them, which `terminal`, `document` and
`page` write. `estimate` says beforehand what that costs. `generate` has a model write more issues.
"""
