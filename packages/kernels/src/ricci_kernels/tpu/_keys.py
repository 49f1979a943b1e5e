"""Keys of ``random`` for kernels on TPUs, and random blocks that do not depend on their size."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_kernels.blocks._programs import program_id
from ricci_kernels.primitives._tpu_random import threefry
from ricci_random import bits, fold_in, wrap_key_data
from ricci_random.generators import define_prng_impl, register_generator
from ricci_random.keys import KeyType

__all__: list[str] = []


def _split(words: ir.Array, shape: Sequence[int]) -> ir.Array:
    raise NotImplementedError(
        "Cannot split a Pallas key. Use fold_in instead to generate new keys."
    )


def _bits(words: ir.Array, bit_width: int, shape: Sequence[int]) -> ir.Array:
    if bit_width > 32:
        raise NotImplementedError(
            f"a Pallas key has random bits of up to 32, not {bit_width}. Ask for two arrays of "
            "32 bits, with two keys of fold_in."
        )
    shape = tuple(shape)
    places = lax.reshape(lax.iota(np.uint32, prod(shape)), shape)
    random = threefry(words[0], jnp.zeros(shape, np.uint32), places)[0]
    dtype = np.dtype(f"uint{bit_width}")
    return lax.convert_element_type(random >> np.uint32(32 - bit_width), dtype)


def folded_words(words: Sequence[ir.Array], number: ir.Array) -> tuple[ir.Array, ir.Array]:
    """The words of a key that a number is folded into: a round of Threefry, as on a TPU."""
    second = words[1] + number
    first = words[0] + second
    rotated = (second << np.uint32(13)) | (second >> np.uint32(19))
    return first, first ^ rotated


def _fold_in(words: ir.Array, number: ir.Array) -> ir.Array:
    word = lax.convert_element_type(number, np.uint32)
    return jnp.stack(folded_words([words[0, 0], words[0, 1]], word))[None]


pallas_tpu = register_generator(
    define_prng_impl(
        key_shape=(1, 2),
        seed=lambda number: jnp.full((1, 2), lax.convert_element_type(number, np.uint32)),
        split=_split,
        random_bits=_bits,
        fold_in=_fold_in,
        name="pallas_tpu",
        tag="pl",
    )
)
key_dtype = KeyType(pallas_tpu)


def to_pallas_key(key: ir.Array) -> ir.Array:
    """Derive a key for samplers in kernels on TPUs, whose bits the device's generator makes.

    Interpreted, the bits are of Threefry. A kernel gets the key as an input in ``SMEM``, and reads
    it by ``key[...]``.

    Args:
      key: a key of ``random``, or an array of keys or of raw words.

    Returns:
      A key of ``random`` that is not split: ``fold_in`` makes others.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import random
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(key, out):
      ...     step = random.fold_in(key[...], pl.program_id(0))
      ...     out[...] = random.uniform(step, (8, 128))
      >>> sample = pl.pallas_call(
      ...     kernel,
      ...     ricci.ShapeDtypeStruct((32, 128), np.float32),
      ...     grid=4,
      ...     in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)],
      ...     out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
      ...     interpret=True,
      ... )
      >>> x = sample(pltpu.to_pallas_key(random.key(0)))
      >>> bool(((x >= 0) & (x < 1)).all()), len(np.unique(x)) > 4000
      (True, True)
    """
    if not ir.issubdtype(key.dtype, ir.prng_key):
        key = wrap_key_data(key)
    words: Callable[[ir.Array], ir.Array] = lambda key: bits(key, (1, 2), np.uint32)
    for _ in range(key.ndim):
        words = vmap(words)
    return wrap_key_data(words(key), impl="pallas_tpu")


def sample_block(
    sampler_fn: Callable[..., ir.Array],
    global_key: ir.Array,
    block_size: Sequence[int],
    tile_size: Sequence[int],
    total_size: Sequence[int],
    block_index: Sequence[ir.ArrayLike] | None = None,
    **kwargs: object,
) -> ir.Array:
    """Draw a block of a random array whose values do not depend on the size of blocks.

    The array consists of tiles. Each has a key of its own, into which the tile's number in
    row-major order is folded.

    Args:
      sampler_fn: a sampler of ``random``: ``sampler_fn(key, tile_size, **kwargs)``.
      global_key: the key of the whole array.
      block_size: the shape of the block, divisible by that of a tile.
      tile_size, total_size: the shapes of a tile and of the whole array.
      block_index: the index of the block along each dimension; by default the position in the grid.
      kwargs: further arguments of the sampler.

    Returns:
      An array of the block's shape.

    Raises:
      ValueError: if the block is not divisible.

    Example:
      >>> from ricci import random
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> key, sizes = random.key(0), ((8, 128), (32, 256))
      >>> large = pltpu.sample_block(random.uniform, key, (32, 256), *sizes, (0, 0))
      >>> small = pltpu.sample_block(random.uniform, key, (16, 128), *sizes, (1, 0))
      >>> bool((large[16:, :128] == small).all())
      True
    """
    if any(size % tile for size, tile in zip(block_size, tile_size, strict=True)):
        raise ValueError(
            f"sample_block: the block of shape {tuple(block_size)} does not consist of tiles of "
            f"shape {tuple(tile_size)}. Make each size a multiple of the tile's."
        )
    if block_index is None:
        block_index = [program_id(axis) for axis in range(len(total_size))]
    counts = [size // tile for size, tile in zip(block_size, tile_size, strict=True)]
    totals = [-(-size // tile) for size, tile in zip(total_size, tile_size, strict=True)]

    def sampled(axis: int, number: ir.ArrayLike) -> ir.Array:
        """The part of the block from an axis on, where the number counts the axes before it."""
        if axis == len(counts):
            return sampler_fn(fold_in(global_key, number), tuple(tile_size), **kwargs)
        first = block_index[axis] * counts[axis]
        parts = [sampled(axis + 1, number * totals[axis] + first + i) for i in range(counts[axis])]
        return lax.concatenate(parts, axis)

    return sampled(0, 0)
