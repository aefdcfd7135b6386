"""May it ship? Goldens, calibrated thresholds, and the gate."""
