"""A custom operation in C++ and CUDA, and functions that the tests of ``jax.ffi`` call."""
