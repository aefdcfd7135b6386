"""How close two answers are in what they say and how they say it: one metric a file."""
