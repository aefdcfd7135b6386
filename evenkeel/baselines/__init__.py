"""`evenkeel baseline`: approves what the drift detectors compare with, as entries of the verdict log."""
