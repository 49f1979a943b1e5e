"""Programs that are compiled for GPUs, and run on one, beside JAX."""
