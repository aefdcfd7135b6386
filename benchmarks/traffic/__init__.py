"""Traffic as it comes, with planted truth, through `evenkeel backtest`: do the monitor's claims hold on it?

`answers` draws what a trial is like, `streams` puts trials together as real traffic does, `measures` counts
on them how intervals cover, how often alerts are false and how late they are, `rivals` does the latter with
other detectors, and `tables` writes it all down.
"""
