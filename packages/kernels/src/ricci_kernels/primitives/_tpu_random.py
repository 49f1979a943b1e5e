"""Random numbers of kernels for TPUs, whose state is a buffer of the kernel.

Interpreted, the bits are those of Threefry-2x32 with 20 rounds (Salmon et al., 'Parallel random
numbers: as easy as 1, 2, 3', SC 2011), of a key from the seeds and of a counter. JAX's simulator
answers zeros, and so do ``InterpretParams``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.blocks._memory_spaces import TPUMemorySpace
from ricci_kernels.blocks._tpu_parameters import InterpretParams

from ._accesses import Reference

__all__ = [
    "prng_random_bits",
    "prng_seed",
    "stateful_bernoulli",
    "stateful_bits",
    "stateful_normal",
    "stateful_uniform",
]

# Two words of the key, and the counter.
state_ref: ir.AbstractRef = ir.AbstractRef(
    ir.ShapedArray((3,), np.dtype("uint32")), TPUMemorySpace.SMEM
)


_compiled = ir.unsupported(
    "a kernel that is compiled has the random numbers of its device, and no derivative: pass "
    "interpret=True, or give the kernel a custom_vjp"
)
_rules: dict[str, Any] = {
    "effects": lambda params: frozenset({ir.read_effect, ir.write_effect}),
    "jvp": _compiled,
    "transpose": _compiled,
    "batch": _compiled,
    "lower": _compiled,
    "discharge": _compiled,
    "sharding": ir.by_program,
}
# In kernels that are compiled: the operands are the seeds, words of 32 bits.
prng_seed_p: ir.Primitive = ir.define(
    "prng_seed", abstract_eval=lambda *_: [], multiple_results=True, **_rules
)
prng_random_bits_p: ir.Primitive = ir.define(
    "prng_random_bits",
    abstract_eval=lambda *, shape: ir.ShapedArray(shape, np.dtype("int32")),
    **_rules,
)


class StateNeededError(Exception):
    """Raised where a kernel that is traced without a state of random numbers reads it."""


class RandomState(ir.TupleRecord):
    """The random numbers of the kernel that is being traced.

    Attributes:
      ref: the reference to the state, or ``None`` if the kernel is traced without.
      mode: the interpretation of the kernel; false if it is compiled.
    """

    ref: Any
    mode: object


_random_state: ir.State = ir.State("kernel_random_state", None, None)


class _RandomScope(ir.TupleRecord):
    """The kind of random bits as the name of an axis in scope, which keys caches of functions."""

    kind: str


def _current(name: str) -> RandomState:
    state = _random_state.value
    if state is None:
        raise NotImplementedError(
            f"{name} is called outside of a kernel. Call it in the function that pallas_call runs, "
            "or take numbers from jax.random."
        )
    if state.mode and state.ref is None:
        raise StateNeededError(name)
    return state


def prng_seed(*seeds: int | ir.Array) -> None:
    """Set the state of the random numbers of a kernel.

    Args:
      seeds: integers, or traced ones.

    Raises:
      NotImplementedError: outside of a kernel.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(out):
      ...     pltpu.prng_seed(7, pl.program_id(0))
      ...     out[...] = pltpu.prng_random_bits((8, 128))
      >>> shape = ricci.ShapeDtypeStruct((8, 128), np.int32)
      >>> bits = pl.pallas_call(kernel, shape, grid=1, interpret=True)()
      >>> bool((bits == bits[0, 0]).all())
      False
    """
    state = _current("prng_seed")
    numbers = [np.uint32(x % 2**32) if isinstance(x, int) else jnp.asarray(x) for x in seeds]
    words = [lax.convert_element_type(x, np.uint32) for x in numbers]
    if not state.mode:
        prng_seed_p.bind(*words)
        return
    key = jnp.zeros(2, np.uint32)
    for word in words:
        # A chain of encryptions: each seed is encrypted by the key of those before it, so that
        # their order and their number matter.
        key = jnp.stack(threefry(key, word, jnp.uint32(0)))
    state.ref[...] = jnp.concatenate([key, jnp.zeros(1, np.uint32)])


def prng_random_bits(shape: Sequence[int]) -> ir.Array:
    """Random bits, which change the state of the kernel's random numbers.

    Args:
      shape: the shape.

    Returns:
      An int32 array; zeros with ``interpret=InterpretParams()``, as in JAX.

    Raises:
      NotImplementedError: outside of a kernel.

    Example:
      See ``prng_seed``.

      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.prng_random_bits.__name__
      'prng_random_bits'
    """
    if isinstance(_current("prng_random_bits").mode, InterpretParams):
        return jnp.zeros(shape, np.int32)
    return lax.bitcast_convert_type(_bits("prng_random_bits", shape), np.int32)


def _bits(name: str, shape: Sequence[int]) -> ir.Array:
    """The next 32-bit words."""
    current, shape = _current(name), tuple(shape)
    if not current.mode:
        return lax.bitcast_convert_type(prng_random_bits_p.bind(shape=shape), np.uint32)
    ref = current.ref
    state = ref[...]
    places = lax.reshape(lax.iota(np.uint32, int(np.prod(shape))), shape)
    ref[2] = lax.add(state[2], np.uint32(1))
    # A block of the cipher is the number of the call and the position in its result: no two of a
    # key are the same.
    return threefry(state[:2], jnp.broadcast_to(state[2], shape), places)[0]


def threefry(key: ir.Array, first: ir.Array, second: ir.Array) -> tuple[ir.Array, ir.Array]:
    """The block cipher Threefry-2x32 of two words with 20 rounds."""
    words = key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)
    x, y = first + words[0], second + words[1]
    for block in range(5):
        for distance in ((13, 15, 26, 6), (17, 29, 16, 24))[block % 2]:
            x = x + y
            y = x ^ (y << np.uint32(distance) | y >> np.uint32(32 - distance))
        x = x + words[(block + 1) % 3]
        y = y + words[(block + 2) % 3] + np.uint32(block + 1)
    return x, y


def stateful_bits(shape: Sequence[int] = (), dtype: ir.DTypeLike = np.uint32) -> ir.Array:
    """Random bits as unsigned integers; see ``random.bits``.

    Args:
      shape: the shape.
      dtype: an unsigned integer type of at most 32 bits.

    Returns:
      An array.

    Raises:
      NotImplementedError: outside of a kernel.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(out):
      ...     pltpu.prng_seed(7)
      ...     out[...] = pltpu.stateful_bits((8, 128))
      >>> shape = ricci.ShapeDtypeStruct((8, 128), np.uint32)
      >>> pl.pallas_call(kernel, shape, interpret=True)().dtype
      dtype('uint32')
    """
    return lax.convert_element_type(_bits("stateful_bits", shape), dtype)


def stateful_uniform(
    shape: Sequence[int] = (),
    dtype: ir.DTypeLike = np.float32,
    minval: ir.ArrayLike = 0.0,
    maxval: ir.ArrayLike = 1.0,
) -> ir.Array:
    """Uniformly distributed floats; see ``random.uniform``.

    Args:
      shape: the shape.
      dtype: the dtype.
      minval, maxval: the first value, and the end of the range.

    Returns:
      An array.

    Raises:
      NotImplementedError: outside of a kernel.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(out):
      ...     pltpu.prng_seed(7)
      ...     out[...] = pltpu.stateful_uniform((8, 128), minval=2.0, maxval=3.0)
      >>> shape = ricci.ShapeDtypeStruct((8, 128), np.float32)
      >>> values = pl.pallas_call(kernel, shape, interpret=True)()
      >>> bool((values >= 2).all() and (values < 3).all())
      True
    """
    unit = _unit("stateful_uniform", shape)
    low, high = (jnp.asarray(x, np.float32) for x in (minval, maxval))
    # Rounding of the affine map must not lead below the first value.
    return lax.convert_element_type(jnp.maximum(low, unit * (high - low) + low), dtype)


def _unit(name: str, shape: Sequence[int]) -> ir.Array:
    """Floats in [0, 1): multiples of 2**-23."""
    # 23 bits: float32 has each of these multiples exactly, and 1 is not among them.
    mantissa = lax.convert_element_type(_bits(name, shape) >> np.uint32(9), np.float32)
    return mantissa * np.float32(2**-23)


def stateful_normal(shape: Sequence[int] = (), dtype: ir.DTypeLike = np.float32) -> ir.Array:
    """Normally distributed floats; see ``random.normal``.

    Args:
      shape: the shape.
      dtype: the dtype.

    Returns:
      An array.

    Raises:
      NotImplementedError: outside of a kernel.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(out):
      ...     pltpu.prng_seed(7)
      ...     out[...] = pltpu.stateful_normal((8, 128))
      >>> shape = ricci.ShapeDtypeStruct((8, 128), np.float32)
      >>> bool(abs(pl.pallas_call(kernel, shape, interpret=True)().mean()) < 0.1)
      True
    """
    # The centres of 2**23 intervals of (-1, 1).
    centred = _unit("stateful_normal", shape) * 2 - np.float32(1 - 2**-23)
    return lax.convert_element_type(lax.erf_inv(centred) * np.float32(np.sqrt(2)), dtype)


def stateful_bernoulli(p: ir.ArrayLike = 0.5, shape: Sequence[int] | None = None) -> ir.Array:
    """Bools that are true with a probability; see ``random.bernoulli``.

    Args:
      p: the probability.
      shape: the shape; by default that of ``p``.

    Returns:
      An array of bools.

    Raises:
      NotImplementedError: outside of a kernel.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(x, out):
      ...     pltpu.prng_seed(7)
      ...     out[...] = x[...] * pltpu.stateful_bernoulli(1.0, (8, 128))
      >>> shape = ricci.ShapeDtypeStruct((8, 128), np.float32)
      >>> bool(pl.pallas_call(kernel, shape, interpret=True)(np.ones((8, 128), np.float32)).all())
      True
    """
    return _unit("stateful_bernoulli", np.shape(p) if shape is None else shape) < p


def with_state[T](mode: object, refs: Sequence[Reference], run: Callable[[], T]) -> T:
    """Run a kernel's function with the state in a reference, if there is one.

    Args:
      mode: the interpretation of the kernel.
      refs: no reference, or that to the state.
      run: the function.
    """
    axes: list[Any] = []
    if refs or not mode:
        kind = "zeros" if isinstance(mode, InterpretParams) else "state" if mode else "device"
        axes = [(_RandomScope(kind), 1)]
    with _random_state(RandomState(refs[0] if refs else None, mode)), ir.extend_axes(axes):
        return run()
