"""Cost of a proxy: evenkeel compared with nginx, LiteLLM and Portkey's gateway, in one run.

    python -m benchmarks.proxy

A *contender* is a program to be measured; it takes requests at one or more *addresses*. A *load test* puts
one kind of load on an address and yields *figures*. Each round tests all addresses in turn, so that a machine
that slows down slows all of them. The proxy has one core to itself. The other cores have the load (`wrk`, or
`load` if times of single events matter) and the model behind the proxies (`upstream`).
"""
