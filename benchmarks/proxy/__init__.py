"""What a proxy costs: evenkeel beside nginx, LiteLLM and Portkey's gateway, in one run.

    python -m benchmarks.proxy

A *contender* is a program to be measured; it has one or more *doors*, the addresses at which it
takes requests. A *measure* puts one kind of load on a door and yields *figures*. Rounds go over
all doors in turn, so that a machine that slows down slows all of them. The proxy has one core to
itself; the load (`wrk`, or `load` where times of single events matter) and the model behind
the proxies (`upstream`) have the others.
"""
