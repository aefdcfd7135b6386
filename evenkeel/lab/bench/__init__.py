"""`evenkeel bench`: how robust some models are, measured offline on a set of IT issues.

`items` says what an issue holds and loads them; `data` has the sixty that come along. `prompts` puts an issue
to a model in four ways, each with its variants. `models` are asked, never twice for the same; `trials` has
all answers compared by the `services`. `costs` says what a `run` will take; `scores` makes figures with
intervals and tables of them, which `report` writes as a document and JSON.
"""
