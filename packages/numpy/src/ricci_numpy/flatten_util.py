"""Pytrees as vectors: the API of ``jax.flatten_util``."""

from .rearranging._raveling import ravel_pytree as ravel_pytree

__all__ = ["ravel_pytree"]
