"""The nouns that every plane shares, and how figures are written. Imports nothing of ours."""
