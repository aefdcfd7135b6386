"""`evenkeel judge-audit`: how far a judge can be believed, against people and against a false hint.

`ratings` are what people said; `questions` are put to the judge, and `judgements` are its answers.
`measures` compares them, with the `attack` that claims the opposite rating; `run` does it all, and `report`
writes the outcome as a document and as JSON.
"""
