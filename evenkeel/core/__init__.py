"""Nouns that every plane shares, and the formatting of figures. Imports nothing of ours."""
