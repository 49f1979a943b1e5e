"""The operators and methods of BCOO and BCSR arrays, and ``vmap`` over them.

Operators and methods are functions of arrays on sparse values. The axis that ``vmap`` maps is one
of the batch dimensions.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ricci_numpy as jnp
from ricci_batching import register_vmappable
from ricci_ir import Array, DTypeLike, api_boundary, as_method

from ._base import JAXSparse
from .bcoo import BCOO
from .bcsr import BCSR
from .transform import sparsify


def _swapped(fun: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: fun(y, x)


def _method(name: str, fun: Callable[..., Any]) -> Callable[..., Any]:
    """The method that applies a function to sparse values."""
    applied = sparsify(fun)

    def method(self: JAXSparse, *args: Any, **kwargs: Any) -> Any:
        return applied(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"See ``numpy.{getattr(fun, '__name__', name)}``."
    return api_boundary(method)


def _item(self: JAXSparse, idx: Any) -> Any:
    """A part of the array."""
    return sparsify(lambda x: x[idx])(self)


def _elements(self: JAXSparse) -> Iterator[Any]:
    """The parts along the first dimension."""
    if not self.shape:
        raise TypeError("iteration over a 0-d sparse array")
    return iter([self[i] for i in range(self.shape[0])])  # pyright: ignore


def _astype(x: Array, dtype: DTypeLike | None, copy: bool = False, device: object = None) -> Array:
    """The array with elements of another dtype."""
    return jnp.astype(x, dtype, copy=copy, device=device)


def _reshape(x: Array, *shape: int | Sequence[int], order: str = "C") -> Array:
    """The array in another shape, with the elements in the same order."""
    return x.reshape(*shape, order=order)


def _sum(x: Any, *args: Any, **kwargs: Any) -> Any:
    return jnp.sum(x, *args, **kwargs)


def _static(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a function whose other arguments are static."""

    def method(self: JAXSparse, *args: Any, **kwargs: Any) -> Any:
        return sparsify(lambda x: fun(x, *args, **kwargs))(self)

    method.__doc__ = fun.__doc__
    return api_boundary(method)


_COMMON_METHODS: dict[str, Callable[..., Any]] = {
    "__matmul__": _method("__matmul__", jnp.matmul),
    "__rmatmul__": _method("__rmatmul__", _swapped(jnp.matmul)),
    "__getitem__": api_boundary(_item),
}
_BCOO_METHODS: dict[str, Callable[..., Any]] = {
    "__abs__": _method("__abs__", jnp.abs),
    "__neg__": _method("__neg__", jnp.negative),
    "__pos__": _method("__pos__", jnp.positive),
    "__add__": _method("__add__", jnp.add),
    "__radd__": _method("__radd__", _swapped(jnp.add)),
    "__sub__": _method("__sub__", jnp.subtract),
    "__rsub__": _method("__rsub__", _swapped(jnp.subtract)),
    "__mul__": _method("__mul__", jnp.multiply),
    "__rmul__": _method("__rmul__", _swapped(jnp.multiply)),
    "__truediv__": _method("__truediv__", jnp.divide),
    "__rtruediv__": _method("__rtruediv__", _swapped(jnp.divide)),
    "__rpow__": _method("__rpow__", _swapped(jnp.power)),
    # Comparisons raise, as their result would be dense; by default Python compares identities.
    "__eq__": _method("__eq__", jnp.equal),
    "__ne__": _method("__ne__", jnp.not_equal),
    "__lt__": _method("__lt__", jnp.less),
    "__le__": _method("__le__", jnp.less_equal),
    "__gt__": _method("__gt__", jnp.greater),
    "__ge__": _method("__ge__", jnp.greater_equal),
    "__iter__": api_boundary(_elements),
    "astype": _static(_astype),
    "reshape": _static(_reshape),
    "sum": _static(_sum),
}


def _pow(self: JAXSparse, other: Any) -> Any:
    """A power with a number as its exponent."""
    if isinstance(other, JAXSparse):
        raise TypeError("power requires ndarray or scalar arguments, got a sparse exponent.")
    return sparsify(lambda x: x**other)(self)


_BCOO_METHODS["__pow__"] = api_boundary(_pow)

# Set here, since ``sparsify`` and its rules import the classes.
for _class, _methods in ((BCOO, _COMMON_METHODS | _BCOO_METHODS), (BCSR, _COMMON_METHODS)):
    for _name, _function in _methods.items():
        setattr(_class, _name, as_method(_function, _name, _class))


def _example(cont: Callable[..., Any], index: Any, batch: BCOO | BCSR, axis: int | None) -> Any:
    """Take one example of a batch of sparse arrays.

    Raises:
      ValueError: if the mapped axis is not a batch dimension.
    """
    if axis is None:
        return batch
    name = type(batch).__name__
    if not isinstance(axis, int) or not 0 <= axis < batch.n_batch:
        raise ValueError(
            f"vmap: cannot map over axis {axis!r} of a {name} array with {batch.n_batch} batch "
            "dimensions: the mapped axis must be one of these. See update_layout."
        )
    parts, aux = batch.tree_flatten()
    shape = batch.shape[:axis] + batch.shape[axis + 1 :]
    # A part of size 1 belongs to every example.
    examples = [
        part.squeeze(axis) if part.shape[axis] == 1 != batch.shape[axis] else cont(part, axis)
        for part in parts
    ]
    return type(batch).tree_unflatten(aux | {"shape": shape}, examples)


def _batch(cont: Callable[..., Any], axis_size: Any, element: BCOO | BCSR, axis: int | None) -> Any:
    """Batch a sparse array that a mapped function has returned.

    Raises:
      ValueError: if the new axis would not be a batch dimension.
    """
    if axis is None:
        return element
    name = type(element).__name__
    if not isinstance(axis, int) or not 0 <= axis <= element.n_batch:
        raise ValueError(
            f"vmap: cannot put the mapped axis at {axis!r} of a {name} array with "
            f"{element.n_batch} batch dimensions: it must stand among these."
        )
    parts, aux = element.tree_flatten()
    shape = (*element.shape[:axis], axis_size, *element.shape[axis:])
    batched = [cont(axis_size, part, axis) for part in parts]
    return type(element).tree_unflatten(aux | {"shape": shape}, batched)


for _class in (BCOO, BCSR):
    register_vmappable(_class, int, int, _example, _batch, None)
