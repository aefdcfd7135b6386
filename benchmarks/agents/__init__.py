"""Agents as traffic: recorded or made-up runs, and scripted models that play them."""
