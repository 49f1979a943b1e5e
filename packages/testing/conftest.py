"""The oracle's server runs only in the oracle's interpreter: it imports JAX."""

collect_ignore = ["src/ricci_testing/oracle/_server.py"]
