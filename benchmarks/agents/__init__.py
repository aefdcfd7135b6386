"""Agents as traffic: recorded or made-up runs, scripted models that play them, and what is found."""
