"""Formulas for CPUs, in place of functions that XLA calls by element, and the table of them.

``ricci_lax.elementwise._cpu_formulas`` looks a primitive's formula up with its first large array.
"""
