"""Closeness in meaning, by a model: sentence embeddings of an endpoint, BERTScore of tokens.

The local sentence encoder is `evenkeel.metrics.similarity.embeddings`; `vectors` holds what it shares with
the endpoint. Import the modules themselves: each brings its own library.
"""
