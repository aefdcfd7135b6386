"""How far the judge and people agree: `agreement`, and as gauges `exporter`. Labels are in `evenkeel.stores.labels`."""
