"""Trained networks beside their mean field, and what is counted of tokens in any dimension."""
