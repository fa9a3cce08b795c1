"""Tokens in places: rows of densities, one for each position, and what they know of each other."""
