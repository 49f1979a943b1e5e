"""Supported options, the observers of their effects, and the effect of each."""
