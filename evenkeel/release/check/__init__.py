"""The check of a prompt without a proxy: how far do rewordings of it move a model's answers?

In each round the model answers the prompt twice as it is, and once for each category of rewordings that is
not settled yet (`rounds`). `figures` says how often an answer moved, how often an identical resend moved, and
whether the difference is within the limit. Contrast trials (`contrasts`) change the question so that a right
answer must move. `run` makes rounds until every category is settled or the budget is used up; `report` writes
the outcome for a terminal, as one HTML page, as JSON and as JUnit.
"""
