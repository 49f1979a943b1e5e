"""Checks of kernels: blocks, indices, first reads, semaphores."""
