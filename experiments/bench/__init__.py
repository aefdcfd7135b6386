"""`evenkeel bench`: how robust some models are, measured offline on a set of IT issues.

`items` says what an issue holds, `reading` loads them, `data` has the sixty that come along. `prompts` puts
one to a model in four ways; `variants` perturbs those prompts. `asking` asks models, never twice for the
same, `rounds` has all answers to one prompt compared by the `services` that are named, `protocol` goes
through the issues. `stages` has that done for the first `batches` of them and then, with what these cost,
for the rest; `estimate` says what is to be expected, `journal` keeps what was found out, `stopping` says why
a run ends early. `shares` makes figures with intervals of the outcomes and `tables` the tables of them, which
`terminal` (by `layout`), `document` and `page` (with `heat`) write. `generate` has a model write more issues.
"""
