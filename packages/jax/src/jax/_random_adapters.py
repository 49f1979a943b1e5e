"""Functions of generators under JAX's names: ``jax._src.random.prng`` and ``threefry2x32``."""

from ricci.extend.random import threefry_prng_impl
from ricci_lax.authoring import threefry2x32
from ricci_random.generators import GeneratorSpec, find_generator, register_generator

_threefry2x32_lowering = threefry2x32
threefry_seed = threefry_prng_impl.seed
threefry_split = threefry_prng_impl.split
threefry_fold_in = threefry_prng_impl.fold_in
threefry_random_bits = threefry_prng_impl.bits


def register_prng(impl: GeneratorSpec) -> None:
    """Register a generator, so that its name selects it."""
    register_generator(find_generator(impl))
