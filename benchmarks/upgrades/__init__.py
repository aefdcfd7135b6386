"""How soon a change of the model is found that nobody announced, by evenkeel and by other tools.

`recordings` reads recorded answers of real versions, `noise` says how reruns differ, `scenes` plays them as
two weeks of a route's traffic in which the version changes or nothing does, `detectors` says what a detector
is, `watches` are evenkeel's own, `simple` is what anybody writes in an afternoon, `rivals` drives other
tools, and `outcomes` counts what became of each.
"""
