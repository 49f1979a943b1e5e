"""Generators of random keys: defining them, and making keys for one given as such."""

from ricci_ir import guard_public as _guard_public
from ricci_lax.authoring import threefry2x32_p as threefry2x32_p
from ricci_random.generators import define_prng_impl as define_prng_impl
from ricci_random.generators import random_seed as random_seed
from ricci_random.generators import rbg_prng_impl as rbg_prng_impl
from ricci_random.generators import seed_with_impl as seed_with_impl
from ricci_random.generators import threefry_2x32 as threefry_2x32
from ricci_random.generators import threefry_prng_impl as threefry_prng_impl
from ricci_random.generators import unsafe_rbg_prng_impl as unsafe_rbg_prng_impl

_guard_public(globals())
