"""The padding rule of random bits, for ``bucketed``: which bits do not depend on padding.

In the partitionable layout an element is drawn from its position in the array, counted row by row.
An array that is longer along its first dimension has the same elements in front.
"""

from typing import Any

from ricci_ir import Array, is_symbolic_dim, threefry_partitionable
from ricci_lax.authoring import PaddedSite

from ._key_type import CIPHERS


def bits_by_position(site: PaddedSite, keys: Array) -> Any:
    """The ``padding`` rule of primitives that draw an array of ``shape`` with each key."""
    shape = site.params["shape"]
    padded = [i for i, size in enumerate(shape) if is_symbolic_dim(size)]
    name = site.ins[0].dtype._impl.name
    positional = name in CIPHERS and (name != "threefry2x32" or threefry_partitionable.value)
    if padded and not positional:
        site.refuse(
            "with this generator every number depends on the number of draws",
            "use threefry2x32 keys with jax_threefry_partitionable, or draw outside",
        )
    if any(i > 0 for i in padded):
        site.refuse(
            f"in an array of shape {shape}, the second row depends on the length of the first one",
            "draw with the padded dimension first and transpose, or vmap over keys",
        )
    return site.bind(keys)
