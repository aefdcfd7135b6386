"""Challenger: may another model, or another prompt, take over on the team's own traffic?"""
