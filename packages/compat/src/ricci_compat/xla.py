"""Evaluation of primitives, and conversion of values to arrays: ``jax.interpreters.xla``."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_ir import Primitive, backend, canonicalize_dtype


def _canonical(x: Any) -> np.ndarray:
    return np.asarray(x, canonicalize_dtype(x.dtype))


class ArrayConversions(dict[type, Callable[[Any], Any]]):
    """By class, the function that converts its instances to arrays of canonical dtypes.

    A class that is added gets the method ``__jax_array__``, so that all functions accept its
    instances. Subclasses of ``np.ndarray`` need no entry: they are converted like it.
    """

    __slots__ = ()

    def __setitem__(self, kind: type, convert: Callable[[Any], Any]) -> None:
        super().__setitem__(kind, convert)
        if not (hasattr(kind, "__jax_array__") or issubclass(kind, np.ndarray)):
            kind.__jax_array__ = lambda x: convert(x)  # pyright: ignore[reportAttributeAccessIssue]


canonicalize_dtype_handlers: dict[type, Callable[[Any], Any]] = ArrayConversions(
    {np.ndarray: _canonical}
)


def apply_primitive(prim: Primitive, *args: object, **params: object) -> Any:
    """Evaluate one primitive on arrays, with the current backend.

    Args:
      prim: the primitive.
      args: arrays.
      params: the primitive's parameters.

    Returns:
      An array, or a list of them.

    Raises:
      TypeError: if one of the arguments is not an array.

    Example:
      >>> from ricci import lax
      >>> from ricci.interpreters.xla import apply_primitive
      >>> float(apply_primitive(lax.neg_p, 2.0))
      -2.0
    """
    return backend().evaluate(prim, args, params)
