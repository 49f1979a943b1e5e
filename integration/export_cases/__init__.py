"""Functions that are exported by Ricci and by JAX, and called by both."""
