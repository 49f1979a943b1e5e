"""Random number generators: Threefry, XLA's, other ciphers, and user-defined ones."""

from ricci_random.keys._key_type import GeneratorSpec as GeneratorSpec
from ricci_random.keys._key_type import find_generator as find_generator
from ricci_random.keys._key_type import register_generator as register_generator

from . import _cipher_generators as _cipher_generators
from ._custom_generators import define_prng_impl as define_prng_impl
from ._custom_generators import random_seed as random_seed
from ._custom_generators import seed_with_impl as seed_with_impl
from ._custom_generators import threefry_2x32 as threefry_2x32
from ._rbg_generators import rbg as rbg_prng_impl
from ._rbg_generators import unsafe_rbg as unsafe_rbg_prng_impl
from ._threefry_generator import threefry as threefry_prng_impl

__all__ = ["define_prng_impl", "random_seed", "rbg_prng_impl", "seed_with_impl", "threefry_2x32"]
__all__ += ["threefry_prng_impl", "unsafe_rbg_prng_impl"]
