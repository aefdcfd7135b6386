"""The roles behind the proxy: `worker` makes trials, `monitor` folds the verdict log and shows it.

On a Redis there may be any number of workers, and monitors in pairs or by routes. They meet in Redis only:
workers learn from it which cells need trials (`needs`) and which templates the routes have.
"""
