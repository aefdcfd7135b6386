"""What is done about changes (`evenkeel.monitor.changes` says what they are).

`fingerprint` names the settings that matter. `responder` sees that a route has changed, starts a `burst` of
sampling and has its goldens asked again (`replaying`); it also asks them every so many hours as canaries. The
answers go into the `store`. `book` makes reports of all that, for the console, the command line (`command`)
and Prometheus (`exporter`).
"""
