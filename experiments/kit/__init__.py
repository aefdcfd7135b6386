"""What all experiments share: asking, resuming, cost, progress and rendering."""
