"""The random bits that the compiler makes."""

import numpy as np

from .case import Table

# fmt: off
TABLE = Table()
each = TABLE.each
KEY = np.array([1, 2, 3, 4], np.uint32)

each("rng_bit_generator", "lax.rng_bit_generator(k, (2, 3))", k=KEY, probes="value vmap")
for dtype in ("uint8", "uint16", "uint64", "uint32"):
    each("rng_bit_generator", f"lax.rng_bit_generator(k, (5,), np.{dtype})", k=KEY, probes="value",
         x64=True)
for algorithm in ("RNG_DEFAULT", "RNG_THREE_FRY", "RNG_PHILOX"):
    each("rng_bit_generator", "lax.rng_bit_generator(k, (3,), algorithm="
         f"lax.RandomAlgorithm.{algorithm})", k=KEY, probes="value")
each("rng_bit_generator", "lax.rng_bit_generator(k, (0,))", k=KEY, probes="value")
each("rng_uniform", "lax.rng_uniform(a, b, (2, 3))", dtypes="f32 i32", a="@[] in 0 1",
     b="@[] in 2 3", probes="value", exact=False)
each("rng_uniform", "lax.rng_uniform(0.0, 1.0, ())", probes="value", exact=False)
