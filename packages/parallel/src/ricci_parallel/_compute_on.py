"""``compute_on``: run a function's operations on another part of the device, or on its host."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from ricci_ir import Jaxpr, Primitive, PyTree, looks_like, operation_metadata
from ricci_lax import annotated_call, call_annotated
from ricci_pytree import flatten_axes, tree_flatten, tree_unflatten
from ricci_stablehlo import Lowering, Metadata, Value, merged_metadata
from ricci_xla import MemorySpace

from ._device_put import device_put

__all__ = ["compute_on", "compute_on_p"]

_KIND = "_xla_compute_type"
_kinds: Mapping[str, Metadata] = {
    "device_host": ((_KIND, "host"),),
    "device": ((_KIND, "dense"),),
    "tpu_sparsecore": ((_KIND, "sparseoffload"),),
}
_stream = r"gpu_stream:(.+)"


def _metadata(compute_type: str) -> Metadata:
    """Return the attributes that XLA gets with each operation.

    Raises:
      ValueError: if the compute type is unknown.
    """
    if compute_type in _kinds:
        return _kinds[compute_type]
    stream = re.fullmatch(_stream, compute_type)
    if stream is None:
        raise ValueError(
            f"compute_on: compute_type={compute_type!r} is not one of 'device_host', 'device', "
            "'tpu_sparsecore' and 'gpu_stream:' followed by a number"
        )
    return (("_xla_stream_annotation", stream[1]), ("inlineable", "false"))


def _lower(
    ctx: Lowering,
    *operands: Value,
    jaxpr: Jaxpr,
    compute_type: str,
    compiler_options_json: str | None,
) -> list[Value]:
    metadata = _metadata(compute_type)
    options = (("backend_config", compiler_options_json),) if compiler_options_json else ()
    # Operations with attributes and without them are written as two functions.
    with operation_metadata(merged_metadata(operation_metadata.value, metadata)):
        return ctx.call(jaxpr, "compute_on", operands, merged_metadata(metadata, options))


compute_on_p: Primitive = annotated_call("compute_on", _lower)


def compute_on(
    f: Callable[..., Any] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: PyTree,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """Return a function whose operations run elsewhere than on the device's main cores.

    On a CPU there is no other place, and the function is computed as usual.

    Args:
      f: a function of pytrees of arrays; without it, a decorator is returned.
      compute_type: ``"device_host"`` (the host of the device), ``"tpu_sparsecore"``,
        ``"gpu_stream:1"`` (a stream by its number) or ``"device"``.
      out_memory_spaces: in which memory the results are: a ``MemorySpace``, or a pytree of them
        that is a prefix of the result.
      compiler_options: options of the compiler for these operations.

    Returns:
      A function of the same arguments and results, or a decorator.

    Raises:
      ValueError: if the type is unknown, it is called inside of a function of another type, or
        the pytree of memory spaces does not fit the result.
      TypeError: if a memory space is not a ``MemorySpace``.

    Example:
      >>> from ricci.experimental.compute_on import compute_on
      >>> from ricci.memory import Space
      >>> f = compute_on(
      ...     lambda x: x * 2, compute_type="device_host", out_memory_spaces=Space.Device
      ... )
      >>> float(f(3.0))
      6.0
    """
    metadata = _metadata(compute_type)
    if f is None:
        return lambda f: compute_on(
            f,
            compute_type=compute_type,
            out_memory_spaces=out_memory_spaces,
            compiler_options=compiler_options,
        )
    options = None
    if compiler_options is not None:
        import json  # noqa: PLC0415 - lazy: few programs need it

        options = json.dumps(dict(compiler_options))
    call = call_annotated(compute_on_p, f, compute_type=compute_type, compiler_options_json=options)

    @looks_like(f)
    def computed(*args: object, **kwargs: object) -> Any:
        enclosing = operation_metadata.value
        kind, outer = dict(metadata).get(_KIND), dict(enclosing).get(_KIND)
        if outer is not None and kind != outer:
            raise ValueError(
                f"compute_on: compute_type={compute_type!r} inside of a function that is computed "
                f"on {outer!r}. Functions of different types cannot be inside of each other."
            )
        with operation_metadata(merged_metadata(enclosing, metadata)):
            out = call(*args, **kwargs)
        leaves, tree = tree_flatten(out)
        spaces = flatten_axes("compute_on out_memory_spaces", tree, out_memory_spaces)
        for space in spaces:
            if not isinstance(space, MemorySpace):
                raise TypeError(
                    f"compute_on: out_memory_spaces: expected a MemorySpace, got {space!r} of type "
                    f"{type(space).__name__}"
                )
        return tree_unflatten(
            tree, [device_put(x, space) for x, space in zip(leaves, spaces, strict=True)]
        )

    return computed
