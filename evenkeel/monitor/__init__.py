"""Monitoring: folds the verdict log into estimates, detects what changed, and notifies people."""
