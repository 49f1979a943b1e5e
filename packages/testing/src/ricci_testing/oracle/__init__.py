"""The oracle: expressions evaluated by real JAX in another process, and compared."""
