"""How seldom the detectors alarm without cause, and how soon with one, against what else there is.

`streams` draws what is observed, `passages` runs many detectors at once, `cusum` is the optimum that
knows everything, `windows` and `batches` are what is used elsewhere. `measures` makes the tables,
`family` and `drift` those of many cells and of estimated baselines, `plot` the picture.
"""
