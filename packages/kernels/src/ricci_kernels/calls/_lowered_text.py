"""The StableHLO text of functions that call kernels, for a device that is not there."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from ricci_stablehlo import lower_module

__all__ = ["lower_as_mlir"]


def lower_as_mlir(
    f: Callable[..., Any],
    *args: object,
    dynamic_shapes: bool = False,
    device: object = None,
    static_argnames: str | Sequence[str] = (),
    platforms: Sequence[str] | None = None,
    **kwargs: object,
) -> str:
    """Return the StableHLO module of a function as text, in which kernels are custom calls.

    Args:
      f: the function.
      args, kwargs: its arguments: arrays, ``ShapeDtypeStruct``, and static values.
      dynamic_shapes: not supported.
      device: the device that the module is for, which blocks are checked against.
      static_argnames: the keyword arguments that are not traced.
      platforms: a list of one platform: ``"tpu"``, which is the default, ``"cuda"`` or ``"cpu"``.

    Returns:
      The text, with the lines of the user's code.

    Raises:
      NotImplementedError: for dynamic shapes or several platforms.
      ValueError: if a kernel does not fit the device.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> x = ricci.ShapeDtypeStruct((8, 128), np.float32)
      >>> def double(x, out):
      ...     out[...] = x[...] * 2
      >>> text = pl.lower_as_mlir(pl.pallas_call(double, x), x)
      >>> 'call_target_name = "tpu_custom_call"' in text
      True
    """
    if dynamic_shapes:
        raise NotImplementedError(
            "lower_as_mlir: kernels of dynamic shapes are not compiled. Lower the function for "
            "each shape."
        )
    names = ["tpu"] if platforms is None else list(platforms)
    if len(names) != 1:
        raise NotImplementedError(
            f"lower_as_mlir: platforms={names!r}. Lower the function for one platform at a time."
        )
    static_names = (static_argnames,) if isinstance(static_argnames, str) else static_argnames
    static = {name: kwargs[name] for name in static_names if name in kwargs}
    traced = {name: x for name, x in kwargs.items() if name not in static}
    leaves, tree = tree_flatten((args, traced))
    paths: list[str] = []

    def flat(*xs: object) -> list[object]:
        inner_args, inner_kwargs = tree_unflatten(tree, xs)
        results = tree_flatten_with_path(f(*inner_args, **inner_kwargs, **static))[0]
        paths[:] = [f"result{keystr(path)}" for path, _ in results]
        return [x for _, x in results]

    name = getattr(f, "__name__", type(f).__name__)
    jaxpr = ir.trace_to_jaxpr(flat, list(map(ir.argument_aval, leaves)), ir.DebugInfo("jit", name))
    module = lower_module(
        jaxpr,
        name,
        platform=names[0],
        result_info=paths,
        locations="sources",
        devices=() if device is None else (device,),
    )
    return module.text()
