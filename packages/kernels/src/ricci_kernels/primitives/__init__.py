"""The primitives of kernels: masked and atomic accesses, copies, semaphores, random bits."""
