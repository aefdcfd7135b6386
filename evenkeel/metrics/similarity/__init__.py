"""Similarity of two answers in content and wording: one metric a file."""
