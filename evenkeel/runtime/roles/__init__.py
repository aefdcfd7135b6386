"""The roles on a Redis: any number of proxies and workers, and monitors in pairs or by routes.

`worker` makes trials; `monitor` folds the verdict log, exports the gauges and serves the console; the proxy
is `evenkeel.runtime.standalone`. They meet in Redis only: workers learn from it which cells need trials (`needs`)
and which templates the routes have.
"""
