"""Flattening a pytree of arrays to one vector, and back."""

import warnings
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import common_dtype, convert
from ricci_numpy.shapes._joining import concatenate
from ricci_numpy.shapes._reshaping import ravel
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten


class Unravel(ir.Record):
    """The function that turns a vector made by ``ravel_pytree`` back into a pytree.

    Two of them are equal if they give the same structure, shapes and dtypes, so that either may be
    given as a static argument.
    """

    structure: PyTreeDef
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype, ...]
    dtype: np.dtype

    def __call__(self, flat: ir.ArrayLike) -> ir.PyTree:
        """The pytree whose leaves are the parts of ``flat``, in order.

        Args:
          flat: a vector of the length of the raveled one; of its dtype, unless all leaves have it.

        Raises:
          TypeError: if ``flat`` is not an array, or has another dtype.
          ValueError: if it has another shape.
        """
        if not self.shapes:
            return tree_unflatten(self.structure, [])
        flat_aval = ir.get_aval(flat)
        # Leaves of one dtype are parts of a vector of any dtype, such as of cotangents or of wider
        # floats.
        is_uniform = all(dtype == self.dtype for dtype in self.dtypes)
        if not is_uniform and flat_aval.dtype != self.dtype:
            raise TypeError(
                f"unravel: the vector must have dtype {self.dtype}, to which the leaves' dtypes "
                f"were promoted, got {flat_aval.dtype}. Convert it with astype."
            )
        size = sum(map(prod, self.shapes))
        if flat_aval.shape != (size,):
            raise ValueError(
                f"unravel: the vector must have shape ({size},), as many elements as the leaves, "
                f"got {flat_aval.shape}."
            )
        dtypes = None if is_uniform else self.dtypes
        with warnings.catch_warnings():
            # Real leaves drop the imaginary parts of a complex vector; that deserves no warning.
            warnings.simplefilter("ignore")
            leaves = _cut(flat, shapes=self.shapes, dtypes=dtypes)
        return tree_unflatten(self.structure, list(leaves))


@ir.inlined("unravel")
def _cut(
    flat: ir.ArrayLike, *, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[np.dtype, ...] | None
) -> tuple[ir.Array, ...]:
    parts = lax.split(flat, tuple(map(prod, shapes)))
    leaves = [lax.reshape(x, shape) for x, shape in zip(parts, shapes, strict=True)]
    if dtypes is None:
        return tuple(leaves)
    return tuple([convert(x, dtype) for x, dtype in zip(leaves, dtypes, strict=True)])


@ir.inlined("ravel")
def _joined(*leaves: ir.ArrayLike, dtype: ir.DTypeLike) -> ir.Array:
    avals: list[Any] = [ir.get_aval(x) for x in leaves]
    return concatenate(
        [
            ravel(x if a.dtype == dtype else convert(x, dtype))
            for x, a in zip(leaves, avals, strict=True)
        ]
    )


def ravel_pytree(pytree: ir.PyTree) -> tuple[ir.Array, Callable[[ir.ArrayLike], ir.PyTree]]:
    """A pytree's arrays one after the other in a vector, and the function that undoes this.

    Args:
      pytree: a pytree of arrays and scalars.

    Returns:
      A vector, of the dtype that the leaves' dtypes promote to (of float32 and size 0 if there are
      none), and a function from such a vector to a pytree of the structure, shapes and dtypes of
      ``pytree``. That raises ``ValueError`` for another size and ``TypeError`` for another dtype;
      where all leaves have the vector's dtype, so that none has to be restored, any dtype will do.

    Raises:
      TypeError: if a leaf is neither an array nor a scalar.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.flatten_util import ravel_pytree
      >>> flat, unravel = ravel_pytree({"w": jnp.ones((2, 2)), "b": jnp.zeros(2)})
      >>> flat.tolist()
      [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
      >>> unravel(2 * flat)["w"].tolist()
      [[2.0, 2.0], [2.0, 2.0]]
    """
    leaves, structure = tree_flatten(pytree)
    if not leaves:
        return lax.full((0,), np.float32(0)), Unravel(structure, (), (), np.dtype(np.float32))
    dtype, _ = common_dtype(*leaves)
    avals: list[Any] = [ir.get_aval(x) for x in leaves]
    shapes = tuple([aval.shape for aval in avals])
    unravel = Unravel(structure, shapes, tuple([aval.dtype for aval in avals]), dtype)
    return _joined(*leaves, dtype=dtype), unravel
